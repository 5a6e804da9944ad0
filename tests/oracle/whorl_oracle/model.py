"""Events, windows and options, as plain values. Times are integers, in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

# A term is its N-Triples text; a triple is three of them.
Term = str
Triple = tuple[Term, Term, Term]


@dataclass(frozen=True)
class Event:
    """One accepted event; `number` is its place in the order of acceptance."""

    stream: str
    at: int
    triples: tuple[Triple, ...]
    number: int
    # The instant at which it takes part: its own time, or the watermark it came behind.
    arrived_at: int
    # The name of the graph it came in, without brackets.
    graph: str | None = None


@dataclass(frozen=True)
class Step:
    """`[RANGE width STEP slide]`: windows `[t0 + k·slide, t0 + k·slide + width)`."""

    width: int
    slide: int


@dataclass(frozen=True)
class Sliding:
    """CQELS `[RANGE width]`: events with `t − width < t' ≤ t`."""

    width: int


@dataclass(frozen=True)
class Elements:
    """`[ELEMENTS size STEP step]`: the last events, looked at after every `step`-th one."""

    size: int
    step: int = 1


@dataclass(frozen=True)
class Triples:
    """`[TRIPLES size]`: the last triples."""

    size: int


@dataclass(frozen=True)
class Now:
    """`[NOW]`: events at exactly t."""


@dataclass(frozen=True)
class AllSoFar:
    """`[ALL]`: everything so far."""


@dataclass(frozen=True)
class Past:
    """`[FROM NOW-since TO NOW-until STEP slide]`: events with `t − since ≤ t' < t − until`."""

    since: int
    until: int
    slide: int


Kind = Step | Sliding | Elements | Triples | Now | AllSoFar | Past


@dataclass(frozen=True)
class Window:
    """A named window on a stream. Name and stream are IRIs without brackets."""

    name: str
    stream: str
    kind: Kind


class Dialect(Enum):
    """The query language an example is written in."""

    RSPQL = "rspql"
    CSPARQL = "csparql"
    CQELS = "cqels"


class Tick(Enum):
    """Whether the events of one instant are evaluated together or one by one."""

    TIME = "time"
    TUPLE = "tuple"


class R2s(Enum):
    """Relation to stream: which part of the answer is reported."""

    RSTREAM = "RSTREAM"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    CHANGES = "CHANGES"


@dataclass(frozen=True)
class Report:
    """When an evaluation is reported; the parts are AND-ed."""

    close: bool = True
    change: bool = False
    nonempty: bool = False
    periodic: int | None = None

    def text(self) -> str:
        """The spelling of the option `report`."""
        parts = [word for word in ("close", "change", "nonempty") if getattr(self, word)]
        if self.periodic is not None:
            parts.append(f"periodic({self.periodic})")
        return ",".join(parts)


@dataclass(frozen=True)
class Options:
    """How one query is evaluated, and the lateness of its streams."""

    report: Report = field(default_factory=Report)
    tick: Tick = Tick.TIME
    r2s: R2s = R2s.RSTREAM
    bag: bool = False
    t0: int = 0
    closed_right: bool = False
    partial: bool = False
    lateness: int = 0


@dataclass(frozen=True)
class Push:
    """An event is offered to a stream, in a named graph or in none."""

    stream: str
    at: int
    triples: tuple[Triple, ...]
    graph: str | None = None


@dataclass(frozen=True)
class Advance:
    """An explicit watermark: for one stream, or for all when `stream` is None."""

    at: int
    stream: str | None = None


@dataclass(frozen=True)
class Close:
    """The watermark of every stream goes to infinity."""


class Change(Enum):
    """What is done to a static graph."""

    LOAD = "load"
    REPLACE = "replace"
    DROP = "drop"
    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True)
class Static:
    """A static graph (None: the default graph) is changed while the query runs."""

    change: Change
    graph: str | None
    triples: tuple[Triple, ...] = ()


Action = Push | Advance | Close | Static
# Static data by graph.
Graphs = dict[str | None, frozenset[Triple]]


def changed(graphs: Graphs, action: Static) -> Graphs:
    """The static data after a change; a graph that is dropped is no longer there, an emptied one is."""
    before, these = graphs.get(action.graph, frozenset()), frozenset(action.triples)
    after = {
        Change.LOAD: before | these,
        Change.REPLACE: these,
        Change.DROP: frozenset(),
        Change.INSERT: before | these,
        Change.DELETE: before - these,
    }[action.change]
    found = {**graphs, action.graph: after}
    if action.change is Change.DROP or (action.change is Change.DELETE and action.graph not in graphs):
        del found[action.graph]
    return found
