"""The compiled engine; `whorl.Engine` is the class to use."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, final

from whorl.terms import Triple

__all__ = ["Engine", "__version__"]

__version__: str

# (accepted, late)
_Ingested: TypeAlias = tuple[int, int]
# (inserted, deleted)
_Updated: TypeAlias = tuple[int, int]
# (seq, at, windows, kind, variables, inserted, deleted, boolean)
_RawResult: TypeAlias = tuple[
    int,
    int,
    list[tuple[str, int | None, int | None]],
    Literal["bindings", "graph", "boolean"],
    list[str],
    list[Any],
    list[Any],
    bool | None,
]

@final
class Engine:
    def __new__(
        cls,
        *,
        hash_seed: int | None = None,
        probing_order: int | None = None,
        retraction: str | None = None,
        sharing: bool = True,
        result_rows_max: int | None = None,
        limits: Mapping[str, int | bool | None] | None = None,
    ) -> Engine: ...
    def declare_stream(
        self,
        iri: str,
        *,
        lateness_ms: int = 0,
        idle_timeout_ms: int | None = None,
        timestamp_predicate: str | None = None,
    ) -> None: ...
    def register(
        self,
        text: str,
        *,
        dialect: str | None = None,
        report: list[str] | None = None,
        tick: str | None = None,
        t0: int | None = None,
        bounds: str | None = None,
        partial: bool | None = None,
        semantics: str | None = None,
        r2s: str | None = None,
        base_iri: str | None = None,
        default_graph: str | None = None,
        allow_cartesian: bool = False,
    ) -> int: ...
    def unregister(self, query: int) -> None: ...
    def push(self, stream: str, at: int | None, rdf: bytes, format: str) -> _Ingested: ...
    def push_triples(self, stream: str, at: int, triples: list[Triple]) -> _Ingested: ...
    def push_arrow(self, stream: str, at: int | None, data: object) -> _Ingested: ...
    def advance_to(self, at: int, stream: str | None = None) -> None: ...
    def mark_idle(self, stream: str) -> None: ...
    def close(self) -> None: ...
    def load(self, graph: str | None, rdf: bytes, format: str) -> int: ...
    def replace_graph(self, graph: str | None, rdf: bytes, format: str) -> _Updated: ...
    def drop_graph(self, graph: str | None) -> _Updated: ...
    def update(self, text: str, base_iri: str | None = None) -> _Updated: ...
    def graphs(self) -> list[tuple[str | None, int]]: ...
    def graph(self, graph: str | None, terms: str) -> list[tuple[Any, Any, Any]]: ...
    def drain(self, query: int, terms: str) -> list[_RawResult]: ...
    def drain_json(self, query: int, name: str | None = None) -> list[bytes]: ...
    def drain_arrow(self, query: int, typed: bool) -> Any: ...
    def explain(self, query: int) -> str: ...
    def explain_json(self, query: int) -> str: ...
    def stats(self) -> dict[str, Any]: ...
    def state_size(self) -> int: ...
