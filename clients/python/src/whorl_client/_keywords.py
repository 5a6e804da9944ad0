"""Options that both shells take by keyword, written once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._models import Progress, Time
    from ._subscription import OnGap


class QueryKeywords(TypedDict, total=False):
    """Options of `register` and `validate`; what is left out is as the text says, or as the server does it."""

    dialect: Literal["rspql", "csparql", "cqels"] | None
    report: str | list[str] | None
    tick: Literal["time", "tuple"] | None
    t0: Time | None
    bounds: Literal["[)", "(]"] | None
    partial: bool | None
    semantics: Literal["set", "bag"] | None
    r2s: Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"] | None
    base_iri: str | None
    default_graph: str | None
    allow_cartesian: bool | None
    keep_answer: bool | None
    keep_windows: bool | None


class SubscribeKeywords(TypedDict, total=False):
    """Options of `subscribe`."""

    snapshot: bool
    limit: int | None
    until: Time | None
    timeout_s: float | None
    on_gap: OnGap
    on_progress: Callable[[Progress], None] | None
    raw: bool
    credit: int
    overflow: Literal["disconnect", "drop-oldest", "latest"] | None
