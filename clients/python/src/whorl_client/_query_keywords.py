"""The options of queries.

Generated from `server/whorl/options.py` by `clients/python/generate_sync.py`: edit that and run `make client-sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ._models import Time


class QueryKeywords(TypedDict, total=False):
    """Options of `register` and `validate`; those left out are as the query text or the server says."""

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
    keep_answer: bool | None
    keep_windows: bool | None
    allow_cartesian: bool | None
