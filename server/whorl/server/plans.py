"""The documents of a plan, as the engine writes them: `docs/reference/queries.md` explains their members.

They describe the responses of `GET /queries/{name}/plan` and `POST /queries/validate`, and validate nothing.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Written(BaseModel):
    """A document with the engine's own names."""

    model_config = ConfigDict(extra="forbid")


class PlanIndex(_Written):
    """An index of a buffer."""

    on: list[str] = Field(description="its variables")
    keys: int
    bytes: int


class PlanBuffer(_Written):
    """The state of one side of a join: the matches of a pattern in a window, or the rows of an input."""

    role: int
    pattern: str | None = None
    condition: str | None = None
    window: str | None = None
    matched: int | None = None
    merged: int | None = None
    input: int | None = None
    live: int
    bytes: int = Field(description="of its mappings, without its indexes")
    indexes: list[PlanIndex]
    ordered_on: str | None = None


class PlanOrder(_Written):
    """An order in which buffers were probed."""

    order: list[int]
    taken: int


class PlanTrees(_Written):
    """Results that a join keeps as trees."""

    live: int
    bytes: int


class PlanNode(_Written):
    """An operator with its inputs."""

    operator: str
    detail: str
    mode: str
    reason: str | None = None
    variables: list[str]
    keys: list[str] | None = None
    keeps: int
    bytes: int | None = Field(default=None, description="of what it keeps; joins have theirs in buffers and trees")
    emitted: int = Field(description="rows emitted since the query, or the server, was started")
    retraction: str | None = None
    buffers: list[PlanBuffer] | None = None
    early_stops: int | None = None
    trees: PlanTrees | None = None
    orders: list[PlanOrder] | None = None
    inputs: list[PlanNode]


class PlanQuery(_Written):
    """The facts about a query: its form, and when it reports."""

    dialect: str
    form: str
    variables: list[str]
    r2s: str
    report: list[str]
    tick: str
    semantics: str
    output: str | None = None


class PlanWindow(_Written):
    """A window, and where the text declares it."""

    name: str
    short: str = Field(description="the name as the query writes it, or the number of a window without one: `#2`")
    stream: str
    kind: str
    text: str
    line: int
    column: int
    # Copies of triples that a set window has merged, over all patterns.
    merged: int | None = None


class PlanWarning(_Written):
    """A likely mistake."""

    code: str
    message: str
    hint: str
    line: int | None = None
    column: int | None = None


class PlanDocument(_Written):
    """How a query is evaluated, operator by operator, with its counters."""

    query: PlanQuery
    windows: list[PlanWindow]
    incremental: bool
    root: PlanNode
    warnings: list[PlanWarning]


class PlanOutline(_Written):
    """The plan that a query would have."""

    incremental: bool
    text: str
    root: PlanNode


class ValidatedWindow(BaseModel):
    """A window of a query that is not registered."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    name: str
    short: str
    stream: str
    kind: str
    text: str
    range_ms: int | None = None
    step_ms: int | None = None
    graph: str | None = None
    line: int
    column: int


class ValidationDocument(_Written):
    """The description of a query that is not registered."""

    dialect: str
    form: str
    variables: list[str]
    r2s: str
    report: list[str]
    tick: str
    semantics: str
    bounds: str
    windows: list[ValidatedWindow]
    streams: list[str]
    output: str | None = None
    warnings: list[PlanWarning]
    plan: PlanOutline
