"""Several queries over several streams, with all that happens to them; what is expected, and what the engine says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whorl import Engine

from whorl_oracle.algebra import Algebra
from whorl_oracle.bags import TooBigError
from whorl_oracle.bodies import SINGLE, ntriples, send
from whorl_oracle.compare import orderly
from whorl_oracle.model import Advance, Close, Graphs, Push, R2s, Static, changed
from whorl_oracle.query import Form, variable_of
from whorl_oracle.run import INFINITY, Answer, Oracle, Row
from whorl_oracle.subject import change_static, on_change, register
from whorl_oracle.tuning import PLAIN, Way
from whorl_oracle.values import XSD, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl import Query as Running

    from whorl_oracle.query import Query

# More rows than this, over all reports, take long to compare.
ROWS_MAX = 20_000


@dataclass(frozen=True)
class Follow:
    """A query that is registered before the step `begin`, and taken away before the step `end`."""

    query: Query
    begin: int = 0
    end: int | None = None


@dataclass(frozen=True)
class Feed:
    """Events of one stream, offered in one body, or one by one."""

    events: tuple[Push, ...]
    form: str = "ntriples"


@dataclass(frozen=True)
class Restore:
    """A snapshot is taken, and an engine that works in another way goes on from it."""

    way: Way


Happening = Feed | Advance | Close | Static | Restore


@dataclass(frozen=True)
class Scenario:
    seed: int
    follows: tuple[Follow, ...]
    steps: tuple[Happening, ...]
    static: tuple[tuple[str, str, str], ...] = ()
    lateness: int = 0
    way: Way = PLAIN

    def graphs(self) -> Graphs:
        return {None: frozenset(self.static)} if self.static else {}

    def streams(self) -> list[str]:
        read = {window.stream for follow in self.follows for window in follow.query.windows}
        return sorted(read | {one.stream for step in self.steps if isinstance(step, Feed) for one in step.events})

    def plain(self) -> Scenario:
        """The same in the plainest way of working: one event at a time, no snapshots, queries apart."""
        steps = (Feed(()) if isinstance(step, Restore) else step for step in self.steps)
        singly = tuple(replace(step, form=SINGLE[0]) if isinstance(step, Feed) else step for step in steps)
        return replace(self, steps=singly, way=PLAIN)


@dataclass
class Outcome:
    """The answers of each query, and how many events were too late, where one query tells."""

    answers: list[list[Answer]]
    late: int | None = None


# The oracle's side.


def expected(scenario: Scenario) -> Outcome:
    return Expected(scenario).outcome()


class Expected:
    """Follows the steps with an oracle for each query that is registered."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.marks: dict[str, int | None] = dict.fromkeys(scenario.streams())
        self.static: Graphs = scenario.graphs()
        self.running: dict[int, tuple[Oracle, Algebra]] = {}
        self.found: list[list[Answer]] = [[] for _ in scenario.follows]
        self.rows = 0

    def outcome(self) -> Outcome:
        for number, step in enumerate(self.scenario.steps):
            self.come_and_go(number)
            for action in actions_of(step):
                self.act(action)
        self.come_and_go(len(self.scenario.steps))
        late = [oracle.late for oracle, _ in self.running.values()]
        return Outcome(self.found, late[0] if is_alone(self.scenario) else None)

    def come_and_go(self, number: int) -> None:
        for index, follow in enumerate(self.scenario.follows):
            if follow.begin == number:
                self.running[index] = self.started(follow.query)
            if follow.end == number and number != follow.begin:
                self.running.pop(index, None)

    def started(self, query: Query) -> tuple[Oracle, Algebra]:
        options = replace(query.options, lateness=self.scenario.lateness)
        if query.form is Form.ASK:
            options = replace(options, r2s=R2s.RSTREAM)
        algebra = Algebra(query, self.static)
        return Oracle(query.windows, options, algebra, self.marks), algebra

    def act(self, action: Push | Advance | Close | Static) -> None:
        if isinstance(action, Static):
            self.static = changed(self.static, action)
        for index, (oracle, algebra) in self.running.items():
            if isinstance(action, Static):
                algebra.change(action)
                continue
            new = oracle.act(action)
            self.rows += sum(len(one.inserted) + len(one.deleted) for one in new)
            if self.rows > ROWS_MAX:
                raise TooBigError
            self.found[index] += self.worth_saying(self.scenario.follows[index].query, index, new)
        self.move_marks(action)

    def worth_saying(self, query: Query, index: int, new: list[Answer]) -> list[Answer]:
        if query.form is Form.ASK:
            last = self.found[index][-1:]
            return on_change([[*last, *new]])[0][len(last) :]
        silent = query.options.r2s is not R2s.RSTREAM
        return [one for one in new if one.inserted or one.deleted or not silent]

    def move_marks(self, action: Push | Advance | Close | Static) -> None:
        match action:
            case Push(stream, at):
                self.mark(stream, at - self.scenario.lateness)
            case Advance(at, None):
                for stream in self.marks:
                    self.mark(stream, at)
            case Advance(at, str() as stream):
                self.mark(stream, at)
            case Close():
                for stream in self.marks:
                    self.mark(stream, INFINITY)

    def mark(self, stream: str, at: int) -> None:
        before = self.marks[stream]
        self.marks[stream] = at if before is None else max(before, at)


def is_alone(scenario: Scenario) -> bool:
    """Whether one query says what is late."""
    read = {window.stream for follow in scenario.follows for window in follow.query.windows}
    return (
        len(scenario.follows) == 1
        and scenario.follows[0] == Follow(scenario.follows[0].query)
        and read >= set(scenario.streams())
    )


def actions_of(step: Happening) -> Iterator[Push | Advance | Close | Static]:
    if isinstance(step, Feed):
        yield from step.events
    elif not isinstance(step, Restore):
        yield step


# The engine's side.


def found(scenario: Scenario) -> Outcome:
    return Found(scenario).outcome()


class Found:
    """Follows the steps with the engine."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.engine = Engine(**scenario.way.options())
        if scenario.static:
            self.engine.load(None, ntriples(scenario.static), "ntriples")
        for stream in scenario.streams():
            self.engine.declare_stream(stream, lateness=scenario.lateness)
        self.running: dict[int, Running] = {}
        self.found: list[list[Answer]] = [[] for _ in scenario.follows]
        self.late = 0

    def outcome(self) -> Outcome:
        for number, step in enumerate(self.scenario.steps):
            self.come_and_go(number)
            self.act(step)
        self.come_and_go(len(self.scenario.steps))
        for index in list(self.running):
            self.drain(index)
        return Outcome(self.found, self.late if is_alone(self.scenario) else None)

    def come_and_go(self, number: int) -> None:
        for index, follow in enumerate(self.scenario.follows):
            if follow.begin == number:
                self.running[index] = register(self.engine, follow.query, f":out{index}")
            if follow.end == number and number != follow.begin:
                self.drain(index)
                self.running.pop(index).unregister()

    def act(self, step: Happening) -> None:
        match step:
            case Feed(events, form):
                self.late += sum(report.late for report in send(self.engine, events, form))
            case Advance(at, stream):
                self.engine.advance_to(at, stream)
            case Close():
                self.engine.close()
            case Static():
                change_static(self.engine, step)
            case Restore(way):
                self.restore(way)

    def restore(self, way: Way) -> None:
        self.engine = Engine.restore(self.engine.snapshot(), **way.options())
        known = {query.number: query for query in self.engine.queries()}
        self.running = {index: known[query.number] for index, query in self.running.items()}

    def drain(self, index: int) -> None:
        query = self.scenario.follows[index].query
        self.found[index] += [answer(json.loads(text), query) for text in self.running[index].results()]


def answer(said: dict[str, Any], query: Query) -> Answer:
    """An envelope in the oracle's terms."""
    windows: dict[str, tuple[int, int] | None] = {}
    for one in said["windows"]:
        known = one.get("open") is not None and one.get("close") is not None
        windows[one["name"]] = (one["open"], one["close"]) if known else None
    match said["type"]:
        case "changes":
            return Answer(said["t"], windows, rows(said["insert"], query), rows(said["delete"], query))
        case "boolean":
            return Answer(said["t"], windows, (("true" if said["results"]["boolean"] else "false",),))
    these = rows(said["results"], query)
    if query.options.r2s is R2s.DSTREAM:
        return Answer(said["t"], windows, (), these)
    return Answer(said["t"], windows, these)


def rows(document: Any, query: Query) -> tuple[Row, ...]:
    if isinstance(document, str):
        return tuple(tuple(line[:-2].split(" ", 2)) for line in document.splitlines())
    names = [variable_of(item)[1:] for item in query.select.projection]
    bindings = document["results"]["bindings"]
    return tuple(orderly(tuple(term(one[name]) if name in one else None for name in names)) for one in bindings)


def term(said: dict[str, str]) -> str:
    if said["type"] == "uri":
        return f"<{said['value']}>"
    if said["type"] == "bnode":
        return f"_:{said['value']}"
    text = string(said["value"])
    if "xml:lang" in said:
        return f"{text}@{said['xml:lang']}"
    kind = said.get("datatype", XSD + "string")
    return text if kind == XSD + "string" else f"{text}^^<{kind}>"
