"""The engine against the outside oracle on one query and one slice of a benchmark, at every evaluation.

A query is registered twice: as it stands, and with the whole answer of every evaluation (RSTREAM). Expected is the
whole answer from the oracle; what the query reports as it stands follows from it by bag difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import pytest
from whorl import Engine, Query, ResultOf
from whorl.terms import OxigraphTerm
from whorl_oracle.compare import same_rows
from whorl_oracle.model import Advance, Close, Dialect, Options, Push, R2s, Report, Tick
from whorl_oracle.run import Answer, Oracle, Row

from whorl_workloads.data import XSD, DataMissingError, Event, Static, ntriples
from whorl_workloads.plain import Plain, translate
from whorl_workloads.snapshot import Snapshots

Wanted = ParamSpec("Wanted")
Loaded = TypeVar("Loaded")

EXAMPLES = Path(__file__).parents[3] / "examples"
INT_AS_INTEGER = (f"^^<{XSD}int>", f"^^<{XSD}integer>")
BY_SUFFIX = {".rspql": Dialect.RSPQL, ".csparql": Dialect.CSPARQL, ".cqels": Dialect.CQELS}


@dataclass(frozen=True)
class Settings:
    """Options of the registration; None leaves one to the dialect."""

    report: Report | None = None
    tick: Tick | None = None
    r2s: R2s | None = None
    semantics: Literal["set", "bag"] | None = None
    closed_right: bool = False
    t0: int = 0

    def oracle_options(self, dialect: Dialect) -> Options:
        is_cqels = dialect is Dialect.CQELS
        report = Report(close=False, change=True, nonempty=True) if is_cqels else Report()
        return Options(
            report=self.report or report,
            tick=self.tick or (Tick.TUPLE if is_cqels else Tick.TIME),
            r2s=R2s.RSTREAM,
            bag=self.semantics == "bag" or (is_cqels and self.semantics is None),
            t0=self.t0,
            closed_right=self.closed_right,
        )

    def engine_options(self) -> dict[str, Any]:
        chosen: dict[str, Any] = {"t0": self.t0, "bounds": "(]" if self.closed_right else "[)"}
        if self.report is not None:
            chosen["report"] = self.report.text()
        if self.tick is not None:
            chosen["tick"] = self.tick.value
        if self.r2s is not None:
            chosen["r2s"] = self.r2s.value
        if self.semantics is not None:
            chosen["semantics"] = self.semantics
        return chosen


@dataclass(frozen=True)
class Tally:
    """What a run had to say: evaluations, those with an answer, all rows together, and how many answers differ."""

    evaluations: int
    nonempty: int
    rows: int
    different: int

    def is_fruitful(self) -> bool:
        """A query that is always empty, or never changes its mind, proves nothing."""
        return self.nonempty >= 3 and self.different >= 2


def loaded(loader: Callable[Wanted, Loaded], *args: Wanted.args, **kwargs: Wanted.kwargs) -> Loaded:
    """What a loader gives; without the data the test is skipped."""
    try:
        return loader(*args, **kwargs)
    except DataMissingError as missing:
        pytest.skip(str(missing))


def query_text(benchmark: str, name: str) -> tuple[str, Dialect]:
    """A query of `examples/` and its dialect; `name` has the extension."""
    path = EXAMPLES / benchmark / name
    return path.read_text(encoding="utf-8"), BY_SUFFIX[path.suffix]


def check(
    text: str,
    dialect: Dialect,
    events: Sequence[Event],
    static: Static,
    settings: Settings | None = None,
    *,
    close: bool = False,
) -> Tally:
    """Compare; an assertion names the first evaluation that differs.

    With `close` the stream ends, which closes its last windows; otherwise time goes on to just behind the last event.
    """
    chosen = settings or Settings()
    run = _Run(text, dialect, static, chosen)
    streams = {window.stream for window in run.plain.windows}
    read = [event for event in events if event.stream in streams]
    assert {event.stream for event in read} == streams, "a stream of the query has no events"
    for event in read:
        run.act(Push(event.stream, event.t, event.triples))
    run.act(Close() if close else Advance(read[-1].t + 1))
    return run.tally()


class _Run:
    def __init__(self, text: str, dialect: Dialect, static: Static, settings: Settings) -> None:
        options = settings.oracle_options(dialect)
        self.plain: Plain = translate(text, dialect, bag=options.bag)
        self.own_r2s = settings.r2s or self.plain.r2s
        self.oracle = Oracle(self.plain.windows, options, Snapshots(self.plain, static, bag=options.bag))
        # What CONSTRUCT makes is a stream, and a stream has one writer: the second query needs an engine of its own.
        self.engines = [Engine() for _ in range(2 if self.plain.form == "CONSTRUCT" else 1)]
        for engine in self.engines:
            for graph in self.plain.static_graphs(static):
                engine.load(graph, static[graph], "ntriples")
        chosen = settings.engine_options()
        self.own = self.engines[0].register(text, dialect=dialect.value, **chosen)
        self.whole = self.engines[-1].register(text, dialect=dialect.value, **(chosen | {"r2s": R2s.RSTREAM.value}))
        self.expected: list[Answer] = []
        self.last: Counter[Row] = Counter()

    def act(self, action: Push | Advance | Close) -> None:
        answers = self.oracle.act(action)
        for engine in self.engines:
            _tell(engine, action)
        if self.plain.form == "ASK":
            self.compare_ask(answers)
        else:
            whole = [(one.at, one.inserted, ()) for one in answers]
            found = self.compare(self.whole, whole, ordered=self.plain.is_ordered)
            for one, result in zip(answers, found, strict=True):
                self.compare_windows(one, result)
            self.compare(self.own, [part for one in answers if (part := self.difference(one)) is not None])
        self.expected += answers

    def difference(self, answer: Answer) -> tuple[int, Sequence[Row], Sequence[Row]] | None:
        """What the query reports as it stands; None when there is nothing to report."""
        rows = Counter(answer.inserted)
        came, went = tuple((rows - self.last).elements()), tuple((self.last - rows).elements())
        self.last = rows
        match self.own_r2s:
            case R2s.RSTREAM:
                return answer.at, answer.inserted, ()
            case R2s.ISTREAM:
                return (answer.at, came, ()) if came else None
            case R2s.DSTREAM:
                return (answer.at, (), went) if went else None
            case R2s.CHANGES:
                return (answer.at, came, went) if came or went else None

    def compare(
        self, query: Query, expected: Sequence[tuple[int, Sequence[Row], Sequence[Row]]], *, ordered: bool = False
    ) -> list[ResultOf[OxigraphTerm]]:
        found = query.answers("pyoxigraph")
        times = [at for at, _, _ in expected]
        assert [one.at for one in found] == times, f"answers at {[one.at for one in found]}, expected at {times}"
        for (at, came, went), answer in zip(expected, found, strict=True):
            arrived, gone = _rows(answer.inserted), _rows(answer.deleted)
            assert same_rows(came, arrived, ordered=ordered), _story(at, "came", came, arrived)
            assert same_rows(went, gone), _story(at, "went", went, gone)
        return found

    def compare_windows(self, expected: Answer, found: ResultOf[OxigraphTerm]) -> None:
        """The bounds of windows that close. Only RSP-QL names them; the others are in the order of the text."""
        bounds = [(window.open, window.close) for window in found.windows]
        if self.plain.dialect is Dialect.RSPQL:
            named = {window.name: (window.open, window.close) for window in found.windows}
            bounds = [named[name] for name in expected.windows]
        for ours, theirs in zip(expected.windows.values(), bounds, strict=False):
            assert ours is None or ours == theirs, f"at {expected.at} windows {bounds}, expected {expected.windows}"

    def compare_ask(self, answers: Sequence[Answer]) -> None:
        """A boolean is reported when it differs from the last one."""
        expected = []
        for one in answers:
            rows = Counter(one.inserted)
            if rows != self.last:
                expected.append((one.at, one.inserted == (("true",),)))
            self.last = rows
        for query in (self.own, self.whole):
            found = [(one.at, one.boolean) for one in query.answers()]
            assert found == expected

    def tally(self) -> Tally:
        full = [one.inserted for one in self.expected if one.inserted and one.inserted != (("false",),)]
        return Tally(
            evaluations=len(self.expected),
            nonempty=len(full),
            rows=sum(len(rows) for rows in full),
            different=len({frozenset(Counter(one.inserted).items()) for one in self.expected}),
        )


def _tell(engine: Engine, action: Push | Advance | Close) -> None:
    match action:
        case Push(stream, at, triples):
            report = engine.push(stream, at, ntriples(triples), "ntriples")
            assert report[:2] == (1, 0), (action, report)
        case Advance(at, stream):
            engine.advance_to(at, stream)
        case Close():
            engine.close()


def _rows(found: Sequence[Any]) -> list[Row]:
    """Solutions in the order of the variables, or triples, as N-Triples terms.

    pyoxigraph's store knows no `xsd:int`, it gives back `xsd:integer`. The engine keeps it; a test of its own says so.
    """
    terms = [row.values() if isinstance(row, dict) else row for row in found]
    return [tuple(None if term is None else str(term).replace(*INT_AS_INTEGER) for term in row) for row in terms]


def _story(at: int, verb: str, expected: Sequence[Row], found: Sequence[Row]) -> str:
    ours, theirs = Counter(expected), Counter(found)
    missing, extra = list((ours - theirs).items())[:5], list((theirs - ours).items())[:5]
    return (
        f"at {at} other solutions {verb}: {len(expected)} expected, {len(found)} found; "
        f"missing {missing}; not expected {extra}"
    )
