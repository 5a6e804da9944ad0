"""The engine as Python users see it.

A query is registered once; events are pushed; answers are read from the query whenever it suits. Times are integers
in milliseconds since the Unix epoch, or aware datetimes. All methods may be called from any thread; while the engine
works, other threads run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, overload

from whorl import _engine
from whorl.errors import TimestampError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import pandas as pd
    import pyarrow as pa

    from whorl.terms import Triple

Time: TypeAlias = int | datetime
Duration: TypeAlias = int | timedelta
Terms: TypeAlias = Literal["python", "rdflib", "pyoxigraph"]
Format: TypeAlias = Literal["turtle", "ntriples", "nquads", "trig"]
Row: TypeAlias = dict[str, Any]
# As `_engine.Engine.drain` gives it: seq, at, windows, kind, variables, inserted, deleted, boolean.
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

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class ArrowStream(Protocol):
    """A table, a reader, a data frame: anything that hands out Arrow batches."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """By the Arrow PyCapsule interface."""


class ArrowArray(Protocol):
    """A single Arrow batch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        """By the Arrow PyCapsule interface."""


ArrowData: TypeAlias = ArrowStream | ArrowArray


class Limits(TypedDict, total=False):
    """What one query may cost; None, or a name left out, is no limit."""

    work: int | None
    result_rows: int | None
    state_rows: int | None
    literal_bytes: int | None
    concat_bytes: int | None
    windows: int | None
    window_width_ms: int | None
    triple_patterns: int | None
    refuse_costly: bool


GUARDED_LIMITS: Limits = {
    "work": 10_000_000,
    "result_rows": 100_000,
    "state_rows": 1_000_000,
    "literal_bytes": 1 << 20,
    "concat_bytes": 8 << 20,
    "windows": 16,
    "window_width_ms": 24 * 60 * 60 * 1000,
    "triple_patterns": 64,
    "refuse_costly": True,
}
"""For queries of people one does not know."""


class IngestReport(NamedTuple):
    """What became of pushed events."""

    accepted: int
    late: int


class UpdateReport(NamedTuple):
    """How many triples of static data came and went."""

    inserted: int
    deleted: int


class WindowBounds(NamedTuple):
    """The part of a stream an answer was computed over; a side without a bound is None."""

    name: str
    open: int | None
    close: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """One answer of a query: the solutions (or triples) that came and those that went.

    RSTREAM and ISTREAM fill `inserted`, DSTREAM fills `deleted`, CHANGES both. An ASK query has `boolean`.
    """

    seq: int
    at: int
    windows: tuple[WindowBounds, ...]
    kind: Literal["bindings", "graph", "boolean"]
    variables: tuple[str, ...]
    inserted: tuple[Any, ...]
    deleted: tuple[Any, ...]
    boolean: bool | None = None

    @property
    def time(self) -> datetime:
        """`at` as a datetime in UTC."""
        return _EPOCH + timedelta(milliseconds=self.at)


class Query:
    """A registered query. Reading answers takes them out of its queue: each is handed out once."""

    def __init__(self, engine: Engine, number: int, name: str | None, text: str) -> None:
        self._engine = engine._engine
        self.number = number
        self.name = name
        self.text = text

    def __repr__(self) -> str:
        """Number and name."""
        return f"<whorl.Query {self.number}{'' if self.name is None else f' {self.name!r}'}>"

    def __iter__(self) -> Iterator[Result]:
        """The waiting answers, with Python terms."""
        return iter(self.answers())

    def results(self) -> list[bytes]:
        """The waiting answers as JSON envelopes around SPARQL 1.1 results."""
        return self._engine.drain_json(self.number, self.name)

    def answers(self, terms: Terms = "python") -> list[Result]:
        """The waiting answers as objects."""
        return [_result(raw) for raw in self._engine.drain(self.number, terms)]

    def rows(self, terms: Terms = "python") -> list[Row]:
        """The solutions of all waiting answers that came (for DSTREAM: that went), one dict each, without times."""
        return [row for answer in self.answers(terms) for row in (answer.inserted or answer.deleted)]

    def to_arrow(self, columns: Literal["auto", "text"] = "auto") -> pa.Table:
        """The waiting answers as an Arrow table: `seq`, `t`, `sign` (1 came, -1 went), then a column per variable.

        With `auto` a column is typed after the values it holds; with `text` it always holds strings.
        """
        import pyarrow as pa

        return pa.table(self._engine.drain_arrow(self.number, columns == "auto"))

    def to_pandas(self, columns: Literal["auto", "text"] = "auto") -> pd.DataFrame:
        """`to_arrow` as a data frame."""
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    @overload
    def explain(self, format: Literal["text"] = "text") -> str: ...
    @overload
    def explain(self, format: Literal["json"]) -> dict[str, Any]: ...
    def explain(self, format: Literal["text", "json"] = "text") -> str | dict[str, Any]:  # noqa: A002
        """How the query is evaluated, operator by operator, with what each has in hand.

        As text for people, or with `"json"` as a dict for programs:

        >>> query = Engine().register(
        ...     "PREFIX : <http://example.org/> SELECT ?room FROM NAMED WINDOW :w ON :sensors [RANGE 10s STEP 5s]"
        ...     " WHERE { WINDOW :w { ?room :temperature ?t } }"
        ... )
        >>> print(query.explain(), end="")
        RSP-QL SELECT ?room · RSTREAM · report close · tick time · set · incremental
        window :w on :sensors [RANGE 10s STEP 5s] at 1:45
        leaf ?room :temperature ?t in :w · incremental · keeps 0 · retraction probe
          0: triples · 0 matched · 0 live · index on ?room ?t (0 keys)
        >>> query.explain("json")["root"]["variables"]
        ['?room', '?t']
        """
        if format == "text":
            return self._engine.explain(self.number)
        if format == "json":
            plan: dict[str, Any] = json.loads(self._engine.explain_json(self.number))
            return plan
        raise ValueError(f"a plan is 'text' or 'json', not {format!r}")

    def unregister(self) -> None:
        """Stop the query and forget its state and its waiting answers."""
        self._engine.unregister(self.number)


class Engine:
    """Streams, static data and continuous queries over them, in this process."""

    def __init__(
        self,
        *,
        hash_seed: int | None = None,
        probing_order: int | None = None,
        retraction: Literal["auto", "tree", "probe"] | None = None,
        sharing: bool = True,
        result_rows_max: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Options choose how answers are computed, never what they are.

        `result_rows_max` bounds the rows that wait in a query to be read; beyond it the oldest answers are dropped,
        which shows as a gap in `seq`. `limits` says what one query may cost: what is left out is not limited, and
        `GUARDED_LIMITS` are for queries of people one does not know.
        """
        self._engine = _engine.Engine(
            hash_seed=hash_seed,
            probing_order=probing_order,
            retraction=retraction,
            sharing=sharing,
            result_rows_max=result_rows_max,
            limits=None if limits is None else dict[str, Any](limits),
        )

    def __enter__(self) -> Self:
        """For `with`: the streams are closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the streams, unless an exception is on its way."""
        if kind is None:
            self.close()

    def declare_stream(
        self,
        stream: str,
        *,
        lateness: Duration = 0,
        idle_timeout: Duration | None = None,
        timestamp_predicate: str | None = None,
    ) -> None:
        """Make a stream known before a query reads it, with how much disorder it may have."""
        self._engine.declare_stream(
            stream,
            lateness_ms=_duration_ms(lateness),
            idle_timeout_ms=None if idle_timeout is None else _duration_ms(idle_timeout),
            timestamp_predicate=timestamp_predicate,
        )

    def register(
        self,
        text: str,
        name: str | None = None,
        *,
        dialect: Literal["rspql", "csparql", "cqels"] | None = None,
        report: str | Iterable[str] | None = None,
        tick: Literal["time", "tuple"] | None = None,
        t0: Time | None = None,
        bounds: Literal["[)", "(]"] | None = None,
        partial: bool | None = None,
        semantics: Literal["set", "bag"] | None = None,
        r2s: Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"] | None = None,
        base_iri: str | None = None,
        default_graph: str | None = None,
        allow_cartesian: bool = False,
    ) -> Query:
        """Start a query. Options win over what the text and its dialect say.

        `report` is a list of `close`, `change`, `nonempty` and `periodic(500)` (milliseconds), all of which must hold.
        `default_graph` is a stream and a window, such as `<http://example.org/s> [RANGE 10s STEP 5s]`: what stands
        outside WINDOW and GRAPH reads it, and no static data. `allow_cartesian` lets products and open closures pass
        where the engine's limits refuse them.
        """
        parts = report.split(",") if isinstance(report, str) else report
        number = self._engine.register(
            text,
            dialect=dialect,
            report=None if parts is None else [part.strip() for part in parts],
            tick=tick,
            t0=None if t0 is None else _time_ms(t0),
            bounds=bounds,
            partial=partial,
            semantics=semantics,
            r2s=r2s,
            base_iri=base_iri,
            default_graph=default_graph,
            allow_cartesian=allow_cartesian,
        )
        return Query(self, number, name, text)

    def push(
        self,
        stream: str,
        t: Time | None,
        rdf: bytes | str | Iterable[Triple] | ArrowData,
        format: Format = "turtle",  # noqa: A002
    ) -> IngestReport:
        """Offer one event: RDF text, triples, or anything Arrow.

        Triples are tuples of terms (see `whorl.terms`). Arrow data has the columns `s`, `p`, `o` and may have
        `datatype` and `lang`; with a column `t` (and `t=None`) every row is an event of its own, unless a column
        `event` says which rows belong together.
        """
        at = None if t is None else _time_ms(t)
        if isinstance(rdf, str):
            rdf = rdf.encode()
        if isinstance(rdf, bytes | bytearray | memoryview):
            return IngestReport(*self._engine.push(stream, at, bytes(rdf), format))
        if hasattr(rdf, "__arrow_c_stream__") or hasattr(rdf, "__arrow_c_array__"):
            return IngestReport(*self._engine.push_arrow(stream, at, rdf))
        if at is None:
            raise TimestampError("triples need a time", code="timestamp.missing")
        if not isinstance(rdf, Iterable):
            raise TypeError(f"an event is RDF text, triples or Arrow data, not {type(rdf).__name__}")
        return IngestReport(*self._engine.push_triples(stream, at, list(rdf)))

    def advance_to(self, t: Time, stream: str | None = None) -> None:
        """Say that no event before `t` is to come: on one stream, or on all."""
        self._engine.advance_to(_time_ms(t), stream)

    def mark_idle(self, stream: str) -> None:
        """Say that a stream is silent and shall not hold the others back until its next event."""
        self._engine.mark_idle(stream)

    def close(self) -> None:
        """Say that no event is to come at all; what is still open is reported."""
        self._engine.close()

    def load(self, graph: str | None, rdf: bytes | str, format: Format = "turtle") -> int:  # noqa: A002
        """Add static data to a named graph, or to the default graph when `graph` is None; how many triples."""
        return self._engine.load(graph, _body(rdf), format)

    def replace_graph(
        self,
        graph: str | None,
        rdf: bytes | str,
        format: Format = "turtle",  # noqa: A002
    ) -> UpdateReport:
        """Make a static graph hold exactly this document; None is the default graph.

        >>> engine = Engine()
        >>> engine.replace_graph("http://ex/rooms", "<http://ex/a> <http://ex/limit> 20, 21 .")
        UpdateReport(inserted=2, deleted=0)
        >>> engine.replace_graph("http://ex/rooms", "<http://ex/a> <http://ex/limit> 21, 22 .")
        UpdateReport(inserted=1, deleted=1)
        """
        return UpdateReport(*self._engine.replace_graph(graph, _body(rdf), format))

    def drop_graph(self, graph: str | None) -> UpdateReport:
        """Take a static graph away; the default graph (None) is emptied.

        A named graph that does not exist is a `GraphError`.
        """
        return UpdateReport(*self._engine.drop_graph(graph))

    def update(self, text: str, *, base_iri: str | None = None) -> UpdateReport:
        """Change the static graphs by SPARQL 1.1 Update: as a whole, or not at all.

        Running queries follow at their next evaluation. Streams and windows cannot be changed.

        >>> engine = Engine()
        >>> engine.update("INSERT DATA { <http://ex/a> <http://ex/limit> 20 }")
        UpdateReport(inserted=1, deleted=0)
        >>> engine.update('''
        ...     DELETE { ?room <http://ex/limit> ?old } INSERT { ?room <http://ex/limit> ?new }
        ...     WHERE { ?room <http://ex/limit> ?old BIND(?old + 5 AS ?new) }''')
        UpdateReport(inserted=1, deleted=1)
        >>> engine.graph(None)
        [(Iri('http://ex/a'), Iri('http://ex/limit'), 25)]
        """
        return UpdateReport(*self._engine.update(text, base_iri))

    def graphs(self) -> dict[str | None, int]:
        """The static graphs and how many triples each has: the default graph (None) first, the others by name.

        >>> engine = Engine()
        >>> _ = engine.load("http://ex/rooms", "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.graphs()
        {None: 0, 'http://ex/rooms': 1}
        """
        return dict(self._engine.graphs())

    def graph(self, graph: str | None, terms: Terms = "python") -> list[tuple[Any, Any, Any]]:
        """The triples of a static graph, in the order of their terms; None is the default graph.

        A named graph that does not exist is a `GraphError`.

        >>> engine = Engine()
        >>> _ = engine.load(None, "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.graph(None)
        [(Iri('http://ex/a'), Iri('http://ex/limit'), 20)]
        """
        return self._engine.graph(graph, terms)

    def stats(self) -> dict[str, Any]:
        """Counts of streams, queries and state."""
        return self._engine.stats()

    def state_size(self) -> int:
        """How many mappings are kept; zero when all windows are empty."""
        return self._engine.state_size()


def _result(raw: _RawResult) -> Result:
    seq, at, windows, kind, variables, inserted, deleted, boolean = raw
    bounds = tuple(WindowBounds(*window) for window in windows)
    return Result(seq, at, bounds, kind, tuple(variables), tuple(inserted), tuple(deleted), boolean)


def _body(rdf: bytes | str) -> bytes:
    return rdf.encode() if isinstance(rdf, str) else bytes(rdf)


def _time_ms(t: Time) -> int:
    if isinstance(t, datetime):
        if t.tzinfo is None:
            raise TimestampError(
                "a datetime without a time zone is not an instant",
                code="timestamp.naive",
                hint="add tzinfo=timezone.utc",
            )
        return (t - _EPOCH) // _MILLISECOND
    return int(t)


def _duration_ms(duration: Duration) -> int:
    return duration // _MILLISECOND if isinstance(duration, timedelta) else int(duration)
