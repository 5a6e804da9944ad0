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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack, overload

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
Format: TypeAlias = Literal["turtle", "ntriples", "nquads", "trig", "jsonld"]
BodyFormat: TypeAlias = Literal["turtle", "ntriples", "nquads", "trig", "jsonld", "ndjson", "arrow"]
AnswerFormat: TypeAlias = Literal["json", "xml", "csv", "tsv", "turtle", "ntriples", "nquads", "trig", "jsonld"]
QueryForm: TypeAlias = Literal["select", "ask", "construct", "describe"]
Row: TypeAlias = dict[str, Any]
# As `_engine.Engine.drain` gives it: seq, at, windows, kind, variables, inserted, deleted, boolean, skipped.
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


@dataclass(frozen=True, slots=True)
class Refusal:
    """A part of a body that was not taken: which event, if it belongs to one, why, and where it stands."""

    index: int | None
    code: str
    message: str
    line: int | None = None
    column: int | None = None


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


class EngineOptions(TypedDict, total=False):
    """How an engine works; none of these changes a result, but for `limits`, by which a query can fail.

    `result_rows_max` bounds the rows that wait in a query to be read; beyond it the oldest results are dropped, which
    shows as a gap in `seq`. `limits` says what one query may cost: what is left out is not limited.
    """

    hash_seed: int | None
    probing_order: int | None
    retraction: Literal["auto", "tree", "probe"] | None
    sharing: bool
    result_rows_max: int | None
    limits: Limits | None
    thresholds: dict[str, int | bool] | None
    """When structures grow and tidy up; for tests."""


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
"""Recommended limits for untrusted queries."""


class IngestReport(NamedTuple):
    """What became of pushed events: taken, too late, after `latest`.

    `events` are all of the body, `triples` those of the events taken; `refused` is empty unless `atomic` was false.
    """

    accepted: int
    late: int
    ahead: int = 0
    events: int = 0
    triples: int = 0
    refused: tuple[Refusal, ...] = ()

    def __repr__(self) -> str:
        """What was taken, and what else there is to know."""
        rest = {"ahead": self.ahead, "refused": self.refused}
        more = "".join(f", {name}={value!r}" for name, value in rest.items() if value)
        return f"IngestReport(accepted={self.accepted}, late={self.late}{more})"


class UpdateReport(NamedTuple):
    """How many triples of static data came and went."""

    inserted: int
    deleted: int


class WindowBounds(NamedTuple):
    """The part of a stream an answer was computed over; a side without a bound is None."""

    name: str
    open: int | None
    close: int | None


class Skipped(NamedTuple):
    """Answers that were the same and were not given one by one: the instants of the first and the last of them.

    `windows` is how many windows, or periods, ended at them.
    """

    start: int
    end: int
    windows: int


@dataclass(frozen=True, slots=True)
class Result:
    """One answer of a query: the solutions (or triples) that came and those that went.

    RSTREAM and ISTREAM fill `inserted`, DSTREAM fills `deleted`, CHANGES both. An ASK query has `boolean`. An answer
    that stands for a long stretch without change says which in `skipped`.
    """

    seq: int
    at: int
    windows: tuple[WindowBounds, ...]
    kind: Literal["bindings", "graph", "boolean"]
    variables: tuple[str, ...]
    inserted: tuple[Any, ...]
    deleted: tuple[Any, ...]
    boolean: bool | None = None
    skipped: Skipped | None = None

    @property
    def time(self) -> datetime:
        """`at` as a datetime in UTC."""
        return _EPOCH + timedelta(milliseconds=self.at)


class Envelope(NamedTuple):
    """One answer as bytes, ready to be sent."""

    seq: int
    at: int
    json: bytes


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

    def envelopes(self, incarnation: str) -> list[Envelope]:
        """The waiting answers as JSON envelopes that also have `incarnation`, and `token`: `incarnation:seq`.

        `incarnation` tells this query from others that have had its name before.
        """
        name = str(self.number) if self.name is None else self.name
        return [Envelope(*raw) for raw in self._engine.drain_envelopes(self.number, name, incarnation)]

    def answer(self, format: AnswerFormat | None = None) -> bytes:  # noqa: A002
        r"""The whole answer at the last instant that was read, as a document; nothing is taken from the queue.

        RSTREAM and ASK queries have it, others when they were registered with `keep_answer=True`. The format is one of
        `json` (the default), `xml`, `csv`, `tsv` for SELECT and ASK; `turtle` (the default), `ntriples`, `nquads`,
        `trig`, `jsonld` for CONSTRUCT and DESCRIBE.

        >>> engine = Engine()
        >>> query = engine.register(
        ...     "PREFIX : <http://ex/> SELECT ?t FROM NAMED WINDOW :w ON :s [RANGE 10s]"
        ...     " WHERE { WINDOW :w { :a :t ?t } }",
        ...     r2s="ISTREAM", keep_answer=True,
        ... )
        >>> _ = engine.push("http://ex/s", 1_000, "<http://ex/a> <http://ex/t> 20 .")
        >>> engine.advance_to(10_000)
        >>> query.answer("csv")
        b't\r\n20\r\n'
        """
        if format is None:
            format = "turtle" if self.describe()["form"] in ("CONSTRUCT", "DESCRIBE") else "json"  # noqa: A001
        return self._engine.answer(self.number, format)

    def describe(self) -> dict[str, Any]:
        """What the query is: dialect, form, variables, windows, streams, and how and when it reports."""
        facts: dict[str, Any] = json.loads(self._engine.describe(self.number))
        return facts

    def answers(self, terms: Terms = "python") -> list[Result]:
        """The waiting answers as objects."""
        return [_result(raw) for raw in self._engine.drain(self.number, terms)]

    def rows(self, terms: Terms = "python") -> list[Row]:
        """The solutions of all waiting answers that came (for DSTREAM: that went), one dict each, without times."""
        return [row for answer in self.answers(terms) for row in (answer.inserted or answer.deleted)]

    def to_arrow(self, columns: Literal["auto", "text"] = "auto") -> pa.Table:
        """The waiting answers as an Arrow table: `@seq`, `@t`, `@sign` (1 came, -1 went), then a column per variable.

        No variable has `@` in its name, so these columns never clash with one.

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

    def __init__(self, **options: Unpack[EngineOptions]) -> None:
        """Options choose how results are computed, never what they are; see `EngineOptions`."""
        self._engine = _engine.Engine(**options)

    def snapshot(self) -> bytes:
        """Everything the engine knows: streams, windows, static data, queries and the answers that wait in them.

        What `restore` makes of it goes on as this engine would, to the byte.
        """
        return self._engine.snapshot()

    @classmethod
    def restore(cls, data: bytes, **options: Unpack[EngineOptions]) -> Self:
        """The engine that a snapshot was taken of; `queries` has its queries. Options are as for a new engine.

        >>> engine = Engine()
        >>> engine.load(None, "<http://ex/a> <http://ex/limit> 20 .")
        1
        >>> Engine.restore(engine.snapshot()).graphs()
        {None: 1}
        """
        engine = cls.__new__(cls)
        engine._engine = _engine.Engine.restore(data, **options)
        return engine

    def queries(self) -> list[Query]:
        """The registered queries, in the order of their registration; their names are not known here."""
        return [Query(self, number, None, text) for number, text in self._engine.queries()]

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
        keep_answer: bool = False,
        keep_windows: bool = False,
        allow_cartesian: bool = False,
    ) -> Query:
        """Start a query. Options win over what the text and its dialect say.

        `report` is a list of `close`, `change`, `nonempty` and `periodic(500)` (milliseconds), all of which must hold.
        `default_graph` is a stream and a window, such as `<http://example.org/s> [RANGE 10s STEP 5s]`: what stands
        outside WINDOW and GRAPH reads it, and no static data. `keep_answer` keeps the whole answer for `Query.answer`,
        `keep_windows` keeps the triples in its windows for `Engine.ask`. `allow_cartesian` lets
        products and open closures pass where the engine's limits refuse them.
        """
        number = self._engine.register(
            text,
            dialect=dialect,
            report=_report_words(report),
            tick=tick,
            t0=None if t0 is None else _time_ms(t0),
            bounds=bounds,
            partial=partial,
            semantics=semantics,
            r2s=r2s,
            base_iri=base_iri,
            default_graph=default_graph,
            keep_answer=keep_answer,
            keep_windows=keep_windows,
            allow_cartesian=allow_cartesian,
        )
        return Query(self, number, name, text)

    def validate(
        self,
        text: str,
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
        keep_answer: bool = False,
        keep_windows: bool = False,
        allow_cartesian: bool = False,
    ) -> dict[str, Any]:
        """What a query would be, its plan, and warnings; nothing is registered and the engine is left as it was.

        The options and the errors are those of `register`.

        >>> facts = Engine().validate(
        ...     "PREFIX : <http://ex/> SELECT ?t FROM NAMED WINDOW :w ON :s [RANGE 10s]"
        ...     " WHERE { WINDOW :w { :a :t ?t } }"
        ... )
        >>> facts["streams"], [warning["code"] for warning in facts["warnings"]]
        (['http://ex/s'], ['stream.undeclared'])
        """
        facts: dict[str, Any] = json.loads(
            self._engine.validate(
                text,
                dialect=dialect,
                report=_report_words(report),
                tick=tick,
                t0=None if t0 is None else _time_ms(t0),
                bounds=bounds,
                partial=partial,
                semantics=semantics,
                r2s=r2s,
                base_iri=base_iri,
                default_graph=default_graph,
                keep_answer=keep_answer,
                keep_windows=keep_windows,
                allow_cartesian=allow_cartesian,
            )
        )
        return facts

    def ask(
        self,
        text: str,
        format: AnswerFormat | None = None,  # noqa: A002
        *,
        base_iri: str | None = None,
        default_graphs: Iterable[str] | None = None,
        named_graphs: Iterable[str] | None = None,
    ) -> bytes:
        r"""Answer a SPARQL query once, over the static graphs and what is in windows now.

        A window of a query that was registered with `keep_windows=True` is a graph under its name. With
        `default_graphs` or `named_graphs` the dataset is exactly what they name, whatever FROM says. Formats as for
        `Query.answer`.

        >>> engine = Engine()
        >>> _ = engine.load(None, "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.ask("SELECT ?limit { ?room <http://ex/limit> ?limit }", "csv")
        b'limit\r\n20\r\n'
        """
        if format is None:
            form = self.query_form(text, base_iri=base_iri)
            format = "turtle" if form in ("construct", "describe") else "json"  # noqa: A001
        return self._engine.ask(
            text,
            format,
            base_iri=base_iri,
            default_graphs=None if default_graphs is None else list(default_graphs),
            named_graphs=None if named_graphs is None else list(named_graphs),
        )

    @staticmethod
    def query_form(text: str, *, base_iri: str | None = None) -> QueryForm:
        """The form of a query for `ask`, so that a format can be chosen before it is answered.

        >>> Engine.query_form("DESCRIBE <http://ex/a>")
        'describe'
        """
        return _engine.Engine.query_form(text, base_iri)

    def push(
        self,
        stream: str,
        t: Time | None,
        rdf: bytes | str | Iterable[Triple] | ArrowData,
        format: BodyFormat = "turtle",  # noqa: A002
        *,
        latest: Time | None = None,
        atomic: bool = True,
    ) -> IngestReport:
        """Offer events: RDF text, lines of JSON, triples, or anything Arrow.

        Triples are tuples of terms (see `whorl.terms`). Arrow data has the columns `s`, `p`, `o` and may have
        `datatype` and `lang`; with a column `t` (and `t=None`) every row is an event of its own, unless a column
        `event` says which rows belong together. On a stream with a mapping (`set_mapping`), other columns are rows
        of it. A body of bytes with the format `arrow` is an Arrow IPC stream.

        Nothing is taken when a part is wrong, unless `atomic` is false: then the rest is taken, and the report says
        what was refused. Events after `latest` are not taken and counted as `ahead`.

        >>> engine = Engine()
        >>> engine.declare_stream("http://ex/s")
        >>> lines = [b'{"t": 1000, "data": "<http://ex/a> <http://ex/p> 1 ."}', b'{"t": "soon", "data": ""}']
        >>> report = engine.push("http://ex/s", None, bytes([10]).join(lines), "ndjson", atomic=False)
        >>> report.accepted, [(refusal.index, refusal.code) for refusal in report.refused]
        (1, [(1, 'timestamp.invalid')])
        """
        at = None if t is None else _time_ms(t)
        latest_ms = None if latest is None else _time_ms(latest)
        if isinstance(rdf, str):
            rdf = rdf.encode()
        if isinstance(rdf, bytes | bytearray | memoryview):
            return _report(self._engine.push(stream, at, bytes(rdf), format, latest=latest_ms, atomic=atomic))
        if hasattr(rdf, "__arrow_c_stream__") or hasattr(rdf, "__arrow_c_array__"):
            return _report(self._engine.push_arrow(stream, at, rdf, latest=latest_ms, atomic=atomic))
        if at is None:
            raise TimestampError("triples need a time", code="timestamp.missing")
        if not isinstance(rdf, Iterable):
            raise TypeError(f"an event is RDF text, triples or Arrow data, not {type(rdf).__name__}")
        return _report(self._engine.push_triples(stream, at, list(rdf), latest=latest_ms, atomic=atomic))

    def set_mapping(self, stream: str, construct: str | None, *, time_column: str = "t") -> None:
        """Say how rows of Arrow data become triples on this stream: a CONSTRUCT whose variables are column names.

        WHERE may have BIND, FILTER and VALUES over the columns of one row. Each row is an event, timed by
        `time_column`. None takes the mapping away.

        >>> engine = Engine()
        >>> engine.declare_stream("http://ex/s")
        >>> engine.set_mapping(
        ...     "http://ex/s",
        ...     "CONSTRUCT { ?room <http://ex/temperature> ?celsius }"
        ...     ' WHERE { BIND(IRI(CONCAT("http://ex/room/", ?name)) AS ?room) }',
        ... )
        """
        self._engine.set_mapping(stream, construct, time_column=time_column)

    def mapping(self, stream: str) -> str | None:
        """The text of the stream's mapping, if it has one."""
        return self._engine.mapping(stream)

    def advance_to(self, t: Time, stream: str | None = None) -> None:
        """Say that no event before `t` is to come: on one stream, or on all."""
        self._engine.advance_to(_time_ms(t), stream)

    def mark_idle(self, stream: str) -> None:
        """Say that a stream is silent and shall not hold the others back until its next event."""
        self._engine.mark_idle(stream)

    def close_stream(self, stream: str) -> None:
        """Say that no event is to come on this stream; what still comes on it is late."""
        self._engine.close_stream(stream)

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

    def graph_text(self, graph: str | None, format: Format = "turtle") -> bytes:  # noqa: A002
        r"""The triples of a static graph as a document; None is the default graph. N-Quads and TriG name the graph.

        >>> engine = Engine()
        >>> _ = engine.load("http://ex/rooms", "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.graph_text("http://ex/rooms")
        b'<http://ex/a> <http://ex/limit> 20 .\n'
        """
        return self._engine.graph_text(graph, format)

    def stats(self) -> dict[str, Any]:
        """Counts of streams, queries and state."""
        return self._engine.stats()

    def evaluation_seconds(self) -> dict[int, float]:
        """How long each query has been evaluated in this process, by its number in `stats`.

        Measured by a clock, so no two runs agree; `stats` has what they agree on.
        """
        return self._engine.evaluation_seconds()

    def state_size(self) -> int:
        """How many mappings are kept; zero when all windows are empty."""
        return self._engine.state_size()


def map_rows(construct: str, data: ArrowData | bytes, *, time_column: str = "t", t: Time | None = None) -> bytes:
    """Map rows to triples without a stream: the events as N-Quads, each a named graph with its time.

    `data` is anything Arrow, or the bytes of an Arrow IPC stream; `t` is the time of rows where `time_column` is
    missing.
    """
    at = None if t is None else _time_ms(t)
    return _engine.map_rows(construct, data, time_column=time_column, at=at)


def _report(raw: dict[str, Any]) -> IngestReport:
    refused = tuple(Refusal(**refusal) for refusal in raw.pop("refused"))
    return IngestReport(**raw, refused=refused)


def _report_words(report: str | Iterable[str] | None) -> list[str] | None:
    parts = report.split(",") if isinstance(report, str) else report
    return None if parts is None else [part.strip() for part in parts]


def _result(raw: _RawResult) -> Result:
    seq, at, windows, kind, variables, inserted, deleted, boolean, passed = raw
    bounds = tuple(WindowBounds(*window) for window in windows)
    skipped = None if passed is None else Skipped(*passed)
    return Result(seq, at, bounds, kind, tuple(variables), tuple(inserted), tuple(deleted), boolean, skipped)


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
