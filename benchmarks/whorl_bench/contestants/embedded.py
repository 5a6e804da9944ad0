"""The engine in this process, used as a program would use it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyoxigraph as ox
from whorl import Engine, Query, UnsupportedQueryError
from whorl_workloads.data import Event, ntriples
from whorl_workloads.snapshot import term

from whorl_bench.case import AbsentError, Case
from whorl_bench.contestants import Answers
from whorl_bench.figures import Delays, Figures, Stopwatch, resident_bytes

_STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
_LONG = "^^<http://www.w3.org/2001/XMLSchema#long>"
# pyoxigraph's store returns `xsd:int` as `xsd:integer`; the engine keeps it.
_INT_AS_INTEGER = ("XMLSchema#int>", "XMLSchema#integer>")


class Embedded:
    """`whorl.Engine`, with the options of a workload."""

    def __init__(self, engine: dict[str, Any] | None = None, register: dict[str, Any] | None = None) -> None:
        self._engine_options = engine or {}
        self._register_options = register or {}

    def run(self, case: Case, limit_s: float) -> Figures:
        """Set up, fill the windows, measure."""
        warming, measured = list(bodies(case, case.warming)), list(bodies(case, case.measured))
        before, began = resident_bytes(), time.perf_counter_ns()
        engine, queries = self._started(case)
        setup_ns = time.perf_counter_ns() - began
        for body in warming:
            body.push(engine)
            taken(queries)
        watch, delays, visited = Stopwatch(limit_s), Delays(), engine._engine.n_visits()
        done = _measure(engine, queries, measured, watch, delays, case.take)
        counted = list(islice(measured, done.bodies))
        return Figures(
            events=sum(body.events for body in counted),
            triples=sum(body.triples for body in counted),
            cpu_ns=watch.cpu_ns,
            wall_ns=watch.wall_ns,
            setup_ns=setup_ns,
            rss_bytes=resident_bytes() - before,
            results=done.results,
            visits=engine._engine.n_visits() - visited,
            mappings=engine.state_size(),
            delays=delays.summary(),
        )

    def answers(self, case: Case) -> Answers:
        """All new solutions, event by event."""
        engine, queries = self._started(case)
        found: Answers = Counter()
        for event in case.events:
            engine.push(event.stream, event.t, ntriples(event.triples), "ntriples")
            _count(queries, found)
        engine.advance_to(case.events[-1].t + 1)
        _count(queries, found)
        return found

    def _started(self, case: Case) -> tuple[Engine, list[Query]]:
        engine = Engine(**self._engine_options)
        for graph, triples in case.static.items():
            engine.load(graph, triples, "ntriples")
        options = {**case.options, **self._register_options}
        try:
            return engine, [engine.register(one.text, dialect=one.dialect.value, **options) for one in case.queries]
        except UnsupportedQueryError as error:
            raise AbsentError(f"the query is refused: {error}") from None


class _Done:
    def __init__(self) -> None:
        self.bodies = self.results = 0


def _measure(
    engine: Engine, queries: Sequence[Query], measured: Sequence[Body], watch: Stopwatch, delays: Delays, take: int
) -> _Done:
    done, since = _Done(), 0
    watch.start()
    for body in measured:
        began = time.perf_counter_ns()
        body.push(engine)
        since += body.events
        if since >= take:
            done.results += taken(queries)
            since = 0
        delays.found.append((time.perf_counter_ns() - began) // body.events)
        done.bodies += 1
        if watch.is_over():
            break
    done.results += taken(queries)
    watch.stop()
    return done


def taken(queries: Iterable[Query]) -> int:
    """Drain the results as JSON; returns their number."""
    return sum(len(query.results()) for query in queries)


def _count(queries: Iterable[Query], found: Answers) -> None:
    for query in queries:
        for answer in query.answers("pyoxigraph"):
            for row in answer.inserted:
                terms = row.values() if isinstance(row, dict) else row
                texts = (None if term is None else str(term).replace(*_INT_AS_INTEGER) for term in terms)
                found[answer.at, tuple(texts)] += 1


class Body:
    """Events in the form in which they are pushed, prepared before the clock starts."""

    def __init__(self, events: int, triples: int, push: Callable[[Engine], object]) -> None:
        self.events = events
        self.triples = triples
        self.push = push


def bodies(case: Case, events: Sequence[Event]) -> Iterator[Body]:
    """The events as bodies: one each, or batches of one stream."""
    make = {"ntriples": _lines, "nquads": _quads, "arrow": _columns}[case.feed]
    for run in _runs(events, 1 if case.feed == "ntriples" else case.batch):
        yield Body(len(run), sum(len(event.triples) for event in run), make(run))


def _runs(events: Sequence[Event], most: int) -> Iterator[list[Event]]:
    """Consecutive events on one stream, up to a maximum number."""
    run: list[Event] = []
    for event in events:
        if run and (len(run) >= most or run[0].stream != event.stream):
            yield run
            run = []
        run.append(event)
    if run:
        yield run


def _lines(run: Sequence[Event]) -> Callable[[Engine], object]:
    (event,) = run
    body = ntriples(event.triples)
    return lambda engine: engine.push(event.stream, event.t, body, "ntriples")


def _quads(run: Sequence[Event]) -> Callable[[Engine], object]:
    lines: list[str] = []
    for number, event in enumerate(run):
        graph = f"<urn:event:{number}>"
        lines.append(f'{graph} {_STAMP} "{event.t}"{_LONG} .\n')
        lines += [f"{s} {p} {o} {graph} .\n" for s, p, o in event.triples]
    stream, body = run[0].stream, "".join(lines).encode()
    return lambda engine: engine.push(stream, None, body, "nquads")


def _columns(run: Sequence[Event]) -> Callable[[Engine], object]:
    import pyarrow as pa

    rows = [(str(number), event.t, triple) for number, event in enumerate(run) for triple in event.triples]
    objects = [_object(triple[2]) for _, _, triple in rows]
    table = pa.table(
        {
            "event": [number for number, _, _ in rows],
            "t": pa.array([t for _, t, _ in rows], pa.int64()),
            "s": [triple[0].strip("<>") for _, _, triple in rows],
            "p": [triple[1].strip("<>") for _, _, triple in rows],
            "o": [value for value, _, _ in objects],
            "datatype": pa.array([datatype for _, datatype, _ in objects], pa.string()),
            "lang": pa.array([language for _, _, language in objects], pa.string()),
        }
    )
    stream = run[0].stream
    return lambda engine: engine.push(stream, None, table)


def _object(text: str) -> tuple[str, str | None, str | None]:
    """Text, datatype and language of an object; an IRI has neither of the latter."""
    found = term(text)
    if isinstance(found, ox.NamedNode):
        return found.value, None, None
    return found.value, None if found.language else found.datatype.value, found.language
