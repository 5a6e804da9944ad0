"""Types of the documents that the engine returns: facts about a query, its plan, and counters.

At run time they are plain dictionaries; `docs/reference/queries.md` describes their members.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

QueryKind = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
Relation = Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"]
# The watermark of a closed stream, which is not shown as an instant.
_END_OF_TIME = 2**63 - 1
# Between these numbers a time is most likely in seconds: 1985 to 2286. As milliseconds, they are days in 1970.
EPOCH_SECONDS = range(500_000_000, 10_000_000_000)


def shown_instant(t: int | None) -> int | None:
    """A watermark as documents and messages show it: None before the first event and after the end."""
    return None if t == _END_OF_TIME else t


class WindowFacts(TypedDict):
    """A window of a query; `Engine.ask` can read its content under the name `graph`."""

    name: str
    # As the text of the query writes it; the number of a window without a name: `#2`.
    short: str
    stream: str
    kind: str
    text: str
    range_ms: int | None
    step_ms: int | None
    graph: str | None
    line: int
    column: int


class QueryWarning(TypedDict):
    """A likely mistake in a valid query."""

    code: str
    message: str
    hint: str
    line: NotRequired[int]
    column: NotRequired[int]


class QueryOutline(TypedDict):
    """What a query is, and how and when it reports."""

    dialect: str
    form: QueryKind
    variables: list[str]
    r2s: Relation
    report: list[str]
    tick: str
    semantics: str


class QueryFacts(QueryOutline):
    """A query with its windows, its streams and warnings."""

    bounds: str
    windows: list[WindowFacts]
    streams: list[str]
    output: str | None
    warnings: list[QueryWarning]


class PlanIndex(TypedDict):
    """An index of a buffer: its variables, its number of keys, and its bytes."""

    on: list[str]
    keys: int
    bytes: int


class PlanBuffer(TypedDict):
    """The state of one side of a join: the matches of a pattern in a window, or the rows of another operator."""

    role: int
    pattern: NotRequired[str]
    condition: NotRequired[str]
    window: NotRequired[str]
    matched: NotRequired[int]
    merged: NotRequired[int]
    input: NotRequired[int]
    live: int
    bytes: int
    indexes: list[PlanIndex]
    ordered_on: NotRequired[str]


class PlanOrder(TypedDict):
    """An order in which buffers were probed, and how often."""

    order: list[int]
    taken: int


class PlanTrees(TypedDict):
    """The results that a join keeps as trees: how many, and in how many bytes."""

    live: int
    bytes: int


class PlanNode(TypedDict):
    """An operator with its inputs; `reason` says why it is re-evaluated."""

    operator: str
    detail: str
    mode: str
    reason: NotRequired[str]
    variables: list[str]
    keys: NotRequired[list[str]]
    keeps: int
    bytes: NotRequired[int]
    emitted: int
    retraction: NotRequired[str]
    trees: NotRequired[PlanTrees]
    buffers: NotRequired[list[PlanBuffer]]
    early_stops: NotRequired[int]
    orders: NotRequired[list[PlanOrder]]
    inputs: list[PlanNode]


class PlannedQuery(QueryOutline):
    """The query of a plan; its variables are written with `?`."""

    output: NotRequired[str]


class PlannedWindow(TypedDict):
    """A window of a plan, and where the text of the query declares it."""

    name: str
    short: str
    stream: str
    kind: str
    text: str
    line: int
    column: int
    # Copies that it has merged; only for set windows.
    merged: NotRequired[int]


class Plan(TypedDict):
    """How a query is evaluated, operator by operator."""

    query: PlannedQuery
    windows: list[PlannedWindow]
    incremental: bool
    warnings: list[QueryWarning]
    root: PlanNode


class PlanOutline(TypedDict):
    """The plan of a query that is not registered."""

    incremental: bool
    text: str
    root: PlanNode


class Validation(QueryFacts):
    """Facts about a query that is not registered, its plan, and warnings."""

    plan: PlanOutline


class StreamStats(TypedDict):
    """Counters of one stream."""

    stream: str
    watermark: int | None
    events: int
    triples: int
    late: int


class QueryStats(TypedDict):
    """Counters of one query; `windows` has the number of elements in each window."""

    query: int
    evaluations: int
    state_size: int
    dropped_results: int
    windows: dict[str, int]
    clock: int | None
    reevaluates: bool
    unreadable_times: int


class EngineStats(TypedDict):
    """Counters of streams, queries and state."""

    events: int
    stream_terms: int
    pinned_terms: int
    static_triples: int
    state_size: int
    streams: list[StreamStats]
    queries: list[QueryStats]
