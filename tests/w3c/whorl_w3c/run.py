"""One test through the engine: registered, fed in every mode, and its answers compared with the expected one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urljoin

from whorl import Engine, QuerySyntaxError, WhorlError

from whorl_w3c.answers import (
    Answer,
    RetractionError,
    accumulated,
    difference,
    expected_answer,
    from_envelope,
    from_result,
)
from whorl_w3c.compare import Rules, why_not_same
from whorl_w3c.cut import Mode, cut
from whorl_w3c.exclusions import REFUSED
from whorl_w3c.suite import BASE, Kind
from whorl_w3c.text import computed_by, dataset_of, is_ordered, makes_blank_nodes, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyoxigraph import Triple
    from whorl import Query

    from whorl_w3c.suite import Entry, Suite

STREAM = "http://whorl.test/stream"
WINDOW = "<http://whorl.test/window>"
OUTPUTS: tuple[Literal["RSTREAM", "CHANGES", "ISTREAM", "DSTREAM"], ...] = ("RSTREAM", "CHANGES", "ISTREAM", "DSTREAM")
# Options choose how answers are computed, never what they are.
OPTIONS: dict[Mode, dict[str, Any]] = {
    Mode.TRIPLE_BY_TRIPLE: {"retraction": "tree"},
    Mode.RANDOM_CUT: {"retraction": "probe"},
    Mode.EVERYTHING_TWICE: {"sharing": False},
}


# In these modes the stream brings what FROM names; in the others it is static.
STREAMED = {Mode.TRIPLE_BY_TRIPLE, Mode.RANDOM_CUT}

Graphs: TypeAlias = dict[str, "tuple[Triple, ...]"]
# Where a fault shows: mode, output, and whether the pattern is inside WINDOW.
Place: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a test."""

    entry: Entry
    faults: tuple[str, ...] = ()
    # Whether no part of the plan is computed anew at each instant; None for tests of syntax.
    incremental: bool | None = None
    excluded: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A test with its files read."""

    entry: Entry
    text: str
    data: tuple[Triple, ...]
    graphs: Graphs
    # What FROM alone names: the default graph is the union of these and the window.
    merged: Graphs
    expected: Answer

    def rules(self) -> Rules:
        """How the answer is compared."""
        triples = [*self.data, *_union(self.graphs), *_union(self.merged)]
        terms = frozenset(term for triple in triples for term in (triple.subject, triple.predicate, triple.object))
        return Rules(computed_by(self.text), terms, is_ordered(self.text), self.entry.lax)


def judge(suite: Suite, entry: Entry) -> Verdict:
    """Run a test of any kind."""
    if entry.id in REFUSED:
        reason, code = REFUSED[entry.id]
        fault = refusal_fault(suite, entry, code)
        return Verdict(entry, (fault,) if fault else (), excluded=reason)
    if entry.kind is Kind.EVALUATION:
        return evaluated(read_task(suite, entry))
    fault = syntax_fault(suite, entry)
    return Verdict(entry, (fault,) if fault else ())


def accept(suite: Suite, entry: Entry) -> None:
    """Register the query of a test, and no more."""
    text = suite.content(entry.query).decode()
    Engine().register(text, default_graph=f"<{STREAM}> [ALL]", base_iri=BASE + entry.query)


def refusal_fault(suite: Suite, entry: Entry, code: str) -> str | None:
    """Why an exclusion is wrong; None when the engine refuses the query as the list says."""
    try:
        accept(suite, entry)
    except WhorlError as error:
        return None if error.code == code else f"refused with {error.code}, not {code}"
    return "listed as refused, and accepted"


def syntax_fault(suite: Suite, entry: Entry) -> str | None:
    """What is wrong with how the engine reads a query; None when it takes the good and refuses the bad as such."""
    try:
        accept(suite, entry)
    except WhorlError as error:
        well_refused = isinstance(error, QuerySyntaxError) and not error.code.startswith("unsupported.")
        return None if entry.kind is Kind.NEGATIVE and well_refused else f"{error.code}: {error}"
    return "accepted" if entry.kind is Kind.NEGATIVE else None


def read_task(suite: Suite, entry: Entry) -> Task:
    """The files of a test."""
    text = suite.content(entry.query).decode()
    merged, named = ({_path(entry, name) for name in names} for names in dataset_of(text))
    named.update(entry.graphs)
    return Task(
        entry,
        text,
        tuple(triple for path in entry.data for triple in suite.triples(path)),
        {BASE + path: tuple(suite.triples(path)) for path in sorted(named)},
        {BASE + path: tuple(suite.triples(path)) for path in sorted(merged - named)},
        expected_answer(suite, entry.result),
    )


def _path(entry: Entry, name: str) -> str:
    return urljoin(BASE + entry.query, name).removeprefix(BASE)


def evaluated(task: Task) -> Verdict:
    """Run an evaluation test in every mode; a fault that shows in several places is reported once."""
    places: dict[str, list[Place]] = {}
    incremental = True
    for mode in Mode:
        try:
            run = Run(task, mode)
            faults = dict(run.faults())
            incremental = incremental and run.is_incremental()
        except WhorlError as error:
            faults = {(mode.value, "any output", ""): f"{type(error).__name__}: {error}"}
        for place, fault in faults.items():
            places.setdefault(fault, []).append(place)
    return Verdict(task.entry, tuple(f"{_places(where)}: {fault}" for fault, where in places.items()), incremental)


def _places(where: list[Place]) -> str:
    """Modes, outputs and ways, told as briefly as they allow."""
    parts = [list(dict.fromkeys(place[part] for place in where)) for part in range(3)]
    if math.prod(map(len, parts)) != len(where):
        return ", ".join(" ".join(place).rstrip() for place in where)
    ways = [] if parts[2] == [""] else [way or "plain" for way in parts[2]]
    return "; ".join(", ".join(part) for part in (*parts[:2], ways) if part)


class Run:
    """A test in one mode: the query under every output, as it is and with its pattern inside WINDOW."""

    def __init__(self, task: Task, mode: Mode) -> None:
        self._task = task
        self._mode = mode
        static, streamed = (task.graphs, _union(task.merged)) if mode in STREAMED else (task.graphs | task.merged, [])
        self._stream = cut(mode, [*task.data, *streamed], _union(static), task.entry.id)
        self._engine = Engine(**OPTIONS.get(mode, {}))
        for name, triples in static.items():
            self._engine.load(name, ntriples(triples), "ntriples")
        self._plain = self._registered(task.text, default_graph=f"<{STREAM}> {self._stream.window}")
        declaration = f"FROM NAMED WINDOW {WINDOW} ON <{STREAM}> {self._stream.window}"
        text = wrapped(task.text, declaration, WINDOW)
        self._wrapped = {} if text is None else self._registered(text)
        self._feed()

    def is_incremental(self) -> bool:
        """Whether no operator of the plans is re-evaluated."""
        plans = [query.explain() for query in self._plain.values()]
        return not any("re-evaluated" in plan for plan in plans)

    def faults(self) -> Iterator[tuple[Place, str]]:
        """Where something is wrong, and what."""
        for way, queries in (("", self._plain), ("inside WINDOW", self._wrapped)):
            readings = self._readings(queries) if queries else {}
            for output, reading in readings.items():
                fault = self._fault(output, reading)
                if fault is not None:
                    yield (self._mode.value, output, way), fault

    def _registered(self, text: str, default_graph: str | None = None) -> dict[str, Query]:
        base = BASE + self._task.entry.query
        return {
            output: self._engine.register(
                text, r2s=output, report=self._stream.report, base_iri=base, default_graph=default_graph
            )
            for output in OUTPUTS
        }

    def _feed(self) -> None:
        if self._stream.has_blank_nodes():
            self._engine.push(STREAM, None, self._stream.document(), "nquads")
        else:
            for at, body in self._stream.messages():
                self._engine.push(STREAM, at, body, "ntriples")
        if self._stream.advance_to is None:
            self._engine.close()
        else:
            self._engine.advance_to(self._stream.advance_to)

    def _readings(self, queries: dict[str, Query]) -> dict[str, Callable[[], Answer | None]]:
        """The ways to read the final answer from what the queries said."""
        readings: dict[str, Callable[[], Answer | None]] = {
            "RSTREAM": lambda: self._last_of(queries["RSTREAM"]),
            "CHANGES": lambda: accumulated(queries["CHANGES"].answers("pyoxigraph")),
        }
        # Two queries that make blank nodes make different ones.
        if not makes_blank_nodes(self._task.text):
            came, went = (queries[output].answers("pyoxigraph") for output in ("ISTREAM", "DSTREAM"))
            readings["ISTREAM − DSTREAM"] = lambda: difference(came, went)
        return readings

    def _last_of(self, query: Query) -> Answer | None:
        """The last answer of RSTREAM; in one mode read from the JSON envelope, in the others as objects."""
        if self._mode is Mode.ONE_EVENT:
            envelopes = query.results()
            return from_envelope(envelopes[-1]) if envelopes else None
        results = query.answers("pyoxigraph")
        return from_result(results[-1]) if results else None

    def _fault(self, output: str, reading: Callable[[], Answer | None]) -> str | None:
        expected = self._task.expected
        try:
            found = reading()
        except RetractionError as error:
            return str(error)
        if found is None and (output == "RSTREAM" or expected.kind == "boolean"):
            return "no answer"
        # Without changes the answer is what it was before the first: empty.
        found = found or replace(expected, rows=())
        rules = self._task.rules()
        return why_not_same(expected, found, rules if output == "RSTREAM" else replace(rules, ordered=False))


def _union(graphs: Graphs) -> list[Triple]:
    return [triple for graph in graphs.values() for triple in graph]


def ntriples(triples: tuple[Triple, ...]) -> str:
    """Triples as text."""
    return "".join(f"{triple} .\n" for triple in triples)
