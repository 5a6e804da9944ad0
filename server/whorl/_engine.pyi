"""The compiled engine; `whorl.Engine` is the class to use."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, Unpack, final

from whorl.engine import EngineOptions
from whorl.terms import Triple

__all__ = ["Engine", "MergeEngine", "PartitionEngine", "ScaledQuery", "__version__", "map_rows"]

__version__: str

# accepted, late, ahead, events, triples, and refused: index, code, message, line, column
_Ingested: TypeAlias = dict[str, Any]
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
    tuple[int, int, int] | None,
]

@final
class Engine:
    def __new__(cls, **options: Unpack[EngineOptions]) -> Engine: ...
    def snapshot(self) -> bytes: ...
    @staticmethod
    def restore(data: bytes, **options: Unpack[EngineOptions]) -> Engine: ...
    def queries(self) -> list[tuple[int, str]]: ...
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
        keep_answer: bool = False,
        keep_windows: bool = False,
        allow_cartesian: bool = False,
    ) -> int: ...
    def validate(
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
        keep_answer: bool = False,
        keep_windows: bool = False,
        allow_cartesian: bool = False,
    ) -> str: ...
    def unregister(self, query: int) -> None: ...
    def push(
        self,
        stream: str,
        at: int | None,
        body: bytes,
        format: str,
        *,
        latest: int | None = None,
        atomic: bool = True,
    ) -> _Ingested: ...
    def push_bodies(
        self, stream: str, bodies: list[tuple[bytes, str]], *, latest: int | None = None
    ) -> dict[str, Any]: ...
    def push_triples(
        self, stream: str, at: int, triples: list[Triple], *, latest: int | None = None, atomic: bool = True
    ) -> _Ingested: ...
    def push_arrow(
        self, stream: str, at: int | None, data: object, *, latest: int | None = None, atomic: bool = True
    ) -> _Ingested: ...
    def set_mapping(self, stream: str, construct: str | None, *, time_column: str = "t") -> None: ...
    def mapping(self, stream: str) -> str | None: ...
    def advance_to(self, at: int, stream: str | None = None) -> None: ...
    def mark_idle(self, stream: str) -> None: ...
    def close_stream(self, stream: str) -> None: ...
    def close(self) -> None: ...
    def load(self, graph: str | None, rdf: bytes, format: str) -> int: ...
    def replace_graph(self, graph: str | None, rdf: bytes, format: str) -> _Updated: ...
    def drop_graph(self, graph: str | None) -> _Updated: ...
    def update(
        self,
        text: str,
        base_iri: str | None = None,
        *,
        default_graphs: list[str] | None = None,
        named_graphs: list[str] | None = None,
    ) -> _Updated: ...
    def watermark(self, stream: str) -> int | None: ...
    def waiting(self) -> list[int]: ...
    def drop_stream(self, stream: str) -> None: ...
    def graphs(self) -> list[tuple[str | None, int]]: ...
    def graph(self, graph: str | None, terms: str) -> list[tuple[Any, Any, Any]]: ...
    def graph_text(self, graph: str | None, format: str) -> bytes: ...
    def drain(self, query: int, terms: str) -> list[_RawResult]: ...
    def drain_json(self, query: int, name: str | None = None) -> list[bytes]: ...
    def drain_arrow(self, query: int, typed: bool) -> Any: ...
    def drain_envelopes(self, query: int, name: str, incarnation: str) -> list[tuple[int, int, bytes]]: ...
    def answer(self, query: int, format: str) -> bytes: ...
    def ask(
        self,
        text: str,
        format: str,
        *,
        base_iri: str | None = None,
        default_graphs: list[str] | None = None,
        named_graphs: list[str] | None = None,
    ) -> bytes: ...
    @staticmethod
    def query_form(text: str, base_iri: str | None = None) -> Literal["select", "ask", "construct", "describe"]: ...
    def explain(self, query: int) -> str: ...
    def explain_json(self, query: int) -> str: ...
    def describe(self, query: int) -> str: ...
    def stats(self) -> dict[str, Any]: ...
    def evaluation_seconds(self) -> dict[int, float]: ...
    def state_size(self) -> int: ...

def map_rows(construct: str, data: object, *, time_column: str = "t", at: int | None = None) -> bytes: ...

# A query spread over partitions. Chunks, snapshots and answers are bytes; answers are Arrow IPC streams.
@final
class ScaledQuery:
    def __new__(
        cls,
        text: str,
        *,
        partitions: int,
        # By IRI: lateness_ms, idle_timeout_ms, timestamp_predicate; streams and settings left out have their defaults.
        streams: Mapping[str, Mapping[str, Any]] | None = None,
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
    ) -> ScaledQuery: ...
    # Hexadecimal; equal for equal text, options, streams and number of partitions.
    @property
    def fingerprint(self) -> str: ...
    # How many partitions are used: the number asked for, or 1.
    @property
    def partitions(self) -> int: ...
    @property
    def streams(self) -> list[str]: ...
    # Of the final answer; CONSTRUCT has subject, predicate and object, ASK has boolean.
    @property
    def variables(self) -> list[str]: ...
    def explain(self) -> str: ...
    # For every partition one chunk, empty or not. `order` is the place of the first row in its source.
    def route(
        self,
        stream: str,
        data: object,
        *,
        at: int | None = None,
        mapping: str | None = None,
        time_column: str = "t",
        order: int = 0,
    ) -> list[tuple[int, bytes]]: ...
    # The same for a body in turtle, ntriples, nquads, trig, jsonld, ndjson or arrow (IPC).
    def route_rdf(
        self, stream: str, at: int | None, body: bytes, format: str, *, order: int = 0
    ) -> list[tuple[int, bytes]]: ...

@final
class PartitionEngine:
    # graphs: (IRI or None for the default graph, document, format)
    def __new__(
        cls, query: ScaledQuery, partition: int, graphs: list[tuple[str | None, bytes, str]] | None = None
    ) -> PartitionEngine: ...
    @staticmethod
    def restore(query: ScaledQuery, partition: int, snapshot: bytes) -> PartitionEngine: ...
    # All chunks of one batch for this partition: {"events", "triples", "late", "watermark": {iri: int | None}}
    def absorb(self, chunks: list[bytes]) -> dict[str, Any]: ...
    def close(self) -> None: ...
    # Columns at, open, close: int64; windows: utf8 (JSON); sign: int8; then utf8 per variable, in N-Triples syntax.
    def drain(self) -> bytes: ...
    def snapshot(self) -> bytes: ...
    @property
    def watermarks(self) -> dict[str, int | None]: ...
    def state_size(self) -> int: ...

@final
class MergeEngine:
    def __new__(cls, query: ScaledQuery) -> MergeEngine: ...
    @staticmethod
    def restore(query: ScaledQuery, snapshot: bytes) -> MergeEngine: ...
    # What the partitions drained after one batch, in any order; answers have the same columns, with seq (int64) first.
    def merge(self, partials: list[bytes]) -> bytes: ...
    def snapshot(self) -> bytes: ...
    def state_size(self) -> int: ...
