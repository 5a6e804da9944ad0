"""The engine as Python users see it.

Register a query once, push events, and read results from the query at any time. Times are integers in milliseconds
since the Unix epoch, or aware datetimes. All methods may be called from any thread; other threads run while the engine
works.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict, Unpack, overload

from whorl import _engine
from whorl.display import PlanText, query_html
from whorl.errors import TimestampError
from whorl.results import Envelope, IngestReport, Result, ResultOf, Row, Statement, UpdateReport, report_of, result_of
from whorl.times import duration_ms, time_ms

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import pandas as pd
    import pyarrow as pa

    from whorl.documents import EngineStats, Plan, QueryFacts, QueryWarning, Validation
    from whorl.options import QueryOptions, Time
    from whorl.terms import OxigraphTerm, OxigraphTriple, RdflibTerm, Triple
    from whorl.times import Duration

Terms: TypeAlias = Literal["python", "rdflib", "pyoxigraph"]
Format: TypeAlias = Literal["turtle", "ntriples", "nquads", "trig", "jsonld"]
BodyFormat: TypeAlias = Literal["turtle", "ntriples", "nquads", "trig", "jsonld", "ndjson", "arrow"]
AnswerFormat: TypeAlias = Literal["json", "xml", "csv", "tsv", "turtle", "ntriples", "nquads", "trig", "jsonld"]
QueryForm: TypeAlias = Literal["select", "ask", "construct", "describe"]


class ArrowStream(Protocol):
    """A table, a reader, a data frame: anything that exports Arrow batches."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """By the Arrow PyCapsule interface."""


class ArrowArray(Protocol):
    """A single Arrow batch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        """By the Arrow PyCapsule interface."""


ArrowData: TypeAlias = ArrowStream | ArrowArray


class Limits(TypedDict, total=False):
    """Limits on the cost of one query; None, or a missing name, is no limit."""

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
    """Options of an engine. None of them changes a result, except that a query can fail by `limits`.

    `result_rows_max` limits the unread rows of a query; beyond it the oldest results are dropped, which shows as a gap
    in `seq`. `limits` limits the cost of each query. With `evaluation="reevaluate"`, a query is re-evaluated at each
    instant, as a baseline to compare with; it accepts queries over sets only. `pruning=False` keeps triples that no
    pattern can match.
    """

    hash_seed: int | None
    probing_order: int | None
    retraction: Literal["auto", "tree", "probe"] | None
    evaluation: Literal["incremental", "reevaluate"] | None
    sharing: bool
    pruning: bool
    result_rows_max: int | None
    limits: Limits | None
    thresholds: dict[str, int | bool] | None
    """When structures grow and shrink; for tests."""


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


class Query:
    """A registered query. Reading results removes them from its queue: each is returned once."""

    def __init__(self, engine: Engine, number: int, name: str | None, text: str) -> None:
        self._engine = engine._engine
        self.number = number
        self.name = name
        self.text = text

    def __repr__(self) -> str:
        """Number and name."""
        return f"<whorl.Query {self.number}{'' if self.name is None else f' {self.name!r}'}>"

    def _repr_html_(self) -> str:
        return query_html(self.name or f"query {self.number}", self.text, self._engine.explain(self.number))

    def __iter__(self) -> Iterator[Result]:
        """The waiting results, with Python terms."""
        return iter(self.answers())

    def results(self) -> list[bytes]:
        """The waiting results as JSON envelopes around SPARQL 1.1 results."""
        return self._engine.drain_json(self.number, self.name)

    def envelopes(self, incarnation: str) -> list[Envelope]:
        """The waiting results as JSON envelopes that also have `incarnation`, and `token`: `incarnation:seq`.

        `incarnation` distinguishes this query from earlier ones of the same name.
        """
        name = str(self.number) if self.name is None else self.name
        return [Envelope(*raw) for raw in self._engine.drain_envelopes(self.number, name, incarnation)]

    def answer(self, format: AnswerFormat | None = None) -> bytes:
        r"""The full result at the last evaluated instant, as a document; the queue stays as it is.

        RSTREAM and ASK queries have it, others if they were registered with `keep_answer=True`. The format is one of
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
            format = "turtle" if self.describe()["form"] in ("CONSTRUCT", "DESCRIBE") else "json"
        return self._engine.answer(self.number, format)

    def describe(self) -> QueryFacts:
        """Facts about the query: dialect, form, variables, windows, streams, and how and when it reports."""
        facts: QueryFacts = json.loads(self._engine.describe(self.number))
        return facts

    @property
    def warnings(self) -> list[QueryWarning]:
        """Likely mistakes: `code`, `message`, `hint`, and `line` and `column` if known.

        >>> query = Engine().register(
        ...     "PREFIX : <http://ex/> SELECT (AVG(?t) AS ?mean) FROM NAMED WINDOW :w ON :s [RANGE 10s]"
        ...     " WHERE { WINDOW :w { ?room :temperature ?t } }"
        ... )
        >>> [(warning["code"], warning["line"], warning["column"]) for warning in query.warnings]
        [('aggregate.merges', 1, 31)]
        """
        return self.describe()["warnings"]

    @overload
    def answers(self, terms: Literal["python"] = "python") -> list[Result]: ...
    @overload
    def answers(self, terms: Literal["rdflib"]) -> list[ResultOf[RdflibTerm]]: ...
    @overload
    def answers(self, terms: Literal["pyoxigraph"]) -> list[ResultOf[OxigraphTerm]]: ...
    def answers(self, terms: Terms = "python") -> object:
        """The waiting results as objects."""
        return self._drained(terms)

    @overload
    def rows(self, terms: Literal["python"] = "python") -> list[Row]: ...
    @overload
    def rows(self, terms: Literal["rdflib"]) -> list[dict[str, RdflibTerm | None]]: ...
    @overload
    def rows(self, terms: Literal["pyoxigraph"]) -> list[dict[str, OxigraphTerm | None]]: ...
    def rows(self, terms: Terms = "python") -> object:
        """The inserted solutions of all waiting results (for DSTREAM: the deleted ones), one dict each, without times.

        For a CONSTRUCT query these are its triples; `Result.triples` has them with their type.
        """
        return [row for result in self._drained(terms) for row in (result.inserted or result.deleted)]

    def _drained(self, terms: Terms) -> list[Result]:
        return [result_of(raw) for raw in self._engine.drain(self.number, terms)]

    def to_arrow(self, columns: Literal["auto", "text"] = "auto") -> pa.Table:
        """The waiting results as an Arrow table: `@seq`, `@t`, `@sign` (1 or -1), then a column per variable.

        No variable has `@` in its name, so these columns never clash with one.

        With `auto` the values of a column determine its type; with `text` it always holds strings.
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
    def explain(self, format: Literal["json"]) -> Plan: ...
    def explain(self, format: Literal["text", "json"] = "text") -> str | Plan:
        """How the query is evaluated, operator by operator, with the state of each.

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
            return PlanText(self._engine.explain(self.number))
        if format == "json":
            plan: Plan = json.loads(self._engine.explain_json(self.number))
            return plan
        raise ValueError(f"a plan is 'text' or 'json', not {format!r}")

    def unregister(self) -> None:
        """Stop the query and discard its state and its waiting results."""
        self._engine.unregister(self.number)


class Engine:
    """Streams, static data and continuous queries over them, in this process."""

    def __init__(self, **options: Unpack[EngineOptions]) -> None:
        """Options affect how results are computed, never what they are; see `EngineOptions`."""
        self._engine = _engine.Engine(**options)

    def snapshot(self) -> bytes:
        """The whole state of the engine: streams, windows, static data, queries and their waiting results.

        An engine restored from it continues exactly as this one would, to the byte.
        """
        return self._engine.snapshot()

    @classmethod
    def restore(cls, data: bytes, **options: Unpack[EngineOptions]) -> Self:
        """Restore an engine from a snapshot; `queries` has its queries. Options are as for a new engine.

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
        """The registered queries, in the order of registration."""
        return [Query(self, number, name, text) for number, name, text in self._engine.queries()]

    def __enter__(self) -> Self:
        """For `with`: the streams are closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the streams, unless there is an exception."""
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
        """Declare a stream before a query reads it. Durations are milliseconds, timedeltas, or text such as `"10s"`."""
        self._engine.declare_stream(
            stream,
            lateness_ms=duration_ms(lateness),
            idle_timeout_ms=None if idle_timeout is None else duration_ms(idle_timeout),
            timestamp_predicate=timestamp_predicate,
        )

    def register(self, text: str, name: str | None = None, **options: Unpack[QueryOptions]) -> Query:
        """Start a query. Options override the text and its dialect.

        `report` is a list of `close`, `change`, `nonempty` and `periodic(10s)`, all of which must hold.
        `default_graph` is a stream and a window, such as `<http://example.org/s> [RANGE 10s STEP 5s]`: patterns outside
        WINDOW and GRAPH read it instead of static data. `keep_answer` keeps the full result for `Query.answer`,
        `keep_windows` keeps the triples in the windows for `Engine.ask`. `allow_cartesian` accepts cross products and
        unbounded closures that the engine's limits would refuse.
        """
        number = self._engine.register(text, **_written(options))
        if name is not None:
            self._engine.name_query(number, name)
        return Query(self, number, name, text)

    def validate(self, text: str, **options: Unpack[QueryOptions]) -> Validation:
        """Facts about a query, its plan, and warnings, without registering it; the engine does not change.

        The options and the errors are those of `register`.

        >>> facts = Engine().validate(
        ...     "PREFIX : <http://ex/> SELECT ?t FROM NAMED WINDOW :w ON :s [RANGE 10s]"
        ...     " WHERE { WINDOW :w { :a :t ?t } }"
        ... )
        >>> facts["streams"], [warning["code"] for warning in facts["warnings"]]
        (['http://ex/s'], ['stream.undeclared'])
        """
        facts: Validation = json.loads(self._engine.validate(text, **_written(options)))
        return facts

    def ask(
        self,
        text: str,
        format: AnswerFormat | None = None,
        *,
        base_iri: str | None = None,
        default_graphs: Iterable[str] | None = None,
        named_graphs: Iterable[str] | None = None,
    ) -> bytes:
        r"""Run an ad-hoc SPARQL query over the static graphs and the current windows.

        A window of a query registered with `keep_windows=True` is a graph under its name. With
        `default_graphs` or `named_graphs` the dataset is exactly what they name, whatever FROM says. Formats as for
        `Query.answer`.

        >>> engine = Engine()
        >>> _ = engine.load(None, "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.ask("SELECT ?limit { ?room <http://ex/limit> ?limit }", "csv")
        b'limit\r\n20\r\n'
        """
        if format is None:
            form = self.query_form(text, base_iri=base_iri)
            format = "turtle" if form in ("construct", "describe") else "json"
        return self._engine.ask(
            text,
            format,
            base_iri=base_iri,
            default_graphs=None if default_graphs is None else list(default_graphs),
            named_graphs=None if named_graphs is None else list(named_graphs),
        )

    @staticmethod
    def query_form(text: str, *, base_iri: str | None = None) -> QueryForm:
        """The form of a query for `ask`, so that a format can be chosen before it runs.

        >>> Engine.query_form("DESCRIBE <http://ex/a>")
        'describe'
        """
        return _engine.Engine.query_form(text, base_iri)

    def push(
        self,
        stream: str,
        t: Time | None,
        rdf: bytes | str | Iterable[Triple] | ArrowData,
        format: BodyFormat = "turtle",
        *,
        latest: Time | None = None,
        atomic: bool = True,
    ) -> IngestReport:
        """Push events: RDF text, lines of JSON, triples, or Arrow data.

        Triples are tuples of terms (see `whorl.terms`). Arrow data has the columns `s`, `p`, `o` and may have
        `datatype` and `lang`; with a column `t` (and `t=None`) every row is an event of its own, unless a column
        `event` says which rows belong together. On a stream with a mapping (`set_mapping`), other columns are rows
        of it. A body of bytes with the format `arrow` is an Arrow IPC stream.

        If a part is invalid, nothing is accepted, unless `atomic` is false: then the rest is accepted, and the report
        lists what was refused. Events after `latest` are not accepted, but counted as `ahead`.

        >>> engine = Engine()
        >>> engine.declare_stream("http://ex/s")
        >>> lines = [b'{"t": 1000, "data": "<http://ex/a> <http://ex/p> 1 ."}', b'{"t": "soon", "data": ""}']
        >>> report = engine.push("http://ex/s", None, bytes([10]).join(lines), "ndjson", atomic=False)
        >>> report.accepted, [(refusal.index, refusal.code) for refusal in report.refused]
        (1, [(1, 'timestamp.invalid')])
        """
        at = None if t is None else time_ms(t)
        latest_ms = None if latest is None else time_ms(latest)
        if isinstance(rdf, str):
            rdf = rdf.encode()
        if isinstance(rdf, bytes | bytearray | memoryview):
            return report_of(self._engine.push(stream, at, bytes(rdf), format, latest=latest_ms, atomic=atomic))
        if hasattr(rdf, "__arrow_c_stream__") or hasattr(rdf, "__arrow_c_array__"):
            return report_of(self._engine.push_arrow(stream, at, rdf, latest=latest_ms, atomic=atomic))
        if at is None:
            raise TimestampError("triples need a time", code="timestamp.missing")
        if not isinstance(rdf, Iterable):
            raise TypeError(f"an event must be RDF text, triples or Arrow data, not {type(rdf).__name__}")
        return report_of(self._engine.push_triples(stream, at, list(rdf), latest=latest_ms, atomic=atomic))

    def set_mapping(self, stream: str, construct: str | None, *, time_column: str = "t") -> None:
        """Set the mapping from Arrow rows to triples of this stream: a CONSTRUCT whose variables are column names.

        WHERE may have BIND, FILTER and VALUES over the columns of one row. Each row is an event, timed by
        `time_column`. None removes the mapping.

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
        """Advance the watermark of one stream, or of all: no event before `t` will follow."""
        self._engine.advance_to(time_ms(t), stream)

    def mark_idle(self, stream: str) -> None:
        """Mark a stream idle: it does not hold the others back until its next event."""
        self._engine.mark_idle(stream)

    def close_stream(self, stream: str) -> None:
        """Close a stream: events that still arrive on it are late."""
        self._engine.close_stream(stream)

    def close(self) -> None:
        """Close all streams: open windows report."""
        self._engine.close()

    def load(self, graph: str | None, rdf: bytes | str, format: Format = "turtle") -> int:
        """Add static data to a named graph, or to the default graph if `graph` is None; returns their number."""
        return self._engine.load(graph, _body(rdf), format)

    def replace_graph(
        self,
        graph: str | None,
        rdf: bytes | str,
        format: Format = "turtle",
    ) -> UpdateReport:
        """Replace the content of a static graph by a document; None is the default graph.

        >>> engine = Engine()
        >>> engine.replace_graph("http://ex/rooms", "<http://ex/a> <http://ex/limit> 20, 21 .")
        UpdateReport(inserted=2, deleted=0)
        >>> engine.replace_graph("http://ex/rooms", "<http://ex/a> <http://ex/limit> 21, 22 .")
        UpdateReport(inserted=1, deleted=1)
        """
        return UpdateReport(*self._engine.replace_graph(graph, _body(rdf), format))

    def drop_graph(self, graph: str | None) -> UpdateReport:
        """Delete a static graph; the default graph (None) is emptied.

        A named graph that does not exist is a `GraphError`.
        """
        return UpdateReport(*self._engine.drop_graph(graph))

    def update(self, text: str, *, base_iri: str | None = None) -> UpdateReport:
        """Change the static graphs by SPARQL 1.1 Update, atomically.

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
        """The static graphs with their numbers of triples: the default graph (None) first, the others by name.

        >>> engine = Engine()
        >>> _ = engine.load("http://ex/rooms", "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.graphs()
        {None: 0, 'http://ex/rooms': 1}
        """
        return dict(self._engine.graphs())

    @overload
    def graph(self, graph: str | None, terms: Literal["python"] = "python") -> list[Statement]: ...
    @overload
    def graph(self, graph: str | None, terms: Literal["rdflib"]) -> list[tuple[RdflibTerm, RdflibTerm, RdflibTerm]]: ...
    @overload
    def graph(self, graph: str | None, terms: Literal["pyoxigraph"]) -> list[OxigraphTriple]: ...
    def graph(self, graph: str | None, terms: Terms = "python") -> object:
        """The triples of a static graph, in term order; None is the default graph.

        A named graph that does not exist is a `GraphError`.

        >>> engine = Engine()
        >>> _ = engine.load(None, "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.graph(None)
        [(Iri('http://ex/a'), Iri('http://ex/limit'), 20)]
        """
        return self._engine.graph(graph, terms)

    def graph_text(self, graph: str | None, format: Format = "turtle") -> bytes:
        r"""The triples of a static graph as a document; None is the default graph. N-Quads and TriG name the graph.

        >>> engine = Engine()
        >>> _ = engine.load("http://ex/rooms", "<http://ex/a> <http://ex/limit> 20 .")
        >>> engine.graph_text("http://ex/rooms")
        b'<http://ex/a> <http://ex/limit> 20 .\n'
        """
        return self._engine.graph_text(graph, format)

    def stats(self) -> EngineStats:
        """Counters of streams, queries and state."""
        return self._engine.stats()

    def evaluation_seconds(self) -> dict[int, float]:
        """The evaluation time of each query in this process, by its number in `stats`.

        Measured with a clock, so runs differ; the counters in `stats` do not.
        """
        return self._engine.evaluation_seconds()

    def state_size(self) -> int:
        """The number of mappings in the state; zero if all windows are empty."""
        return self._engine.state_size()


def map_rows(construct: str, data: ArrowData | bytes, *, time_column: str = "t", t: Time | None = None) -> bytes:
    """Map rows to triples without a stream: the events as N-Quads, each a named graph with its time.

    `data` is Arrow data, or the bytes of an Arrow IPC stream; `t` is the time of rows without `time_column`.
    """
    at = None if t is None else time_ms(t)
    return _engine.map_rows(construct, data, time_column=time_column, at=at)


def _written(options: QueryOptions) -> QueryOptions:
    """Options in the form of the compiled engine: instants in milliseconds, words in a list."""
    if isinstance(t0 := options.get("t0"), datetime):
        options["t0"] = time_ms(t0)
    report = options.get("report")
    if report is not None and not isinstance(report, str):
        options["report"] = list(report)
    return options


def _body(rdf: bytes | str) -> bytes:
    return rdf.encode() if isinstance(rdf, str) else bytes(rdf)
