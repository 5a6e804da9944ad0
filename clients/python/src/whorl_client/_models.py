"""The server's responses as values: results with their rows, gaps, acknowledgements, plans, facts.

Results keep their JSON; rows are decoded when they are first read, so that a program that only looks at times pays for
nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar, cast

from . import _display, _tables
from ._exceptions import ProtocolError
from ._json import JsonObject, inner, member, objects, strings
from ._terms import Binding, Statement, Term, members_of, statements_of, term_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyoxigraph
    import rdflib
    from rdflib.term import IdentifiedNode
    from rdflib.term import Literal as RdflibLiteral

Time: TypeAlias = int | datetime
# SPARQL 1.1 Results JSON, or N-Quads.
Document: TypeAlias = JsonObject | str
V = TypeVar("V")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_ms(t: Time) -> int:
    """Milliseconds since the epoch.

    A datetime without a zone is refused: it could mean any of 38 instants. So is a float: `time.time()` is in seconds.

    >>> time_ms(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000
    """
    if isinstance(t, datetime):
        if t.tzinfo is None:
            raise ValueError(f"{t!r} has no time zone; write datetime(…, tzinfo=UTC)")
        return (t - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(t, float):
        raise TypeError(
            f"a time is an int, the milliseconds since 1970, not {t!r}; write int(time.time() * 1000) for now"
        )
    return t


def datetime_of(t: int) -> datetime:
    """Milliseconds since the epoch as a datetime in UTC.

    >>> datetime_of(1000)
    datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    return _EPOCH + timedelta(milliseconds=t)


def required(document: JsonObject, name: str, kind: type[V]) -> V:
    """A required member of a document."""
    value = member(document, name, kind)
    if value is None:
        raise ProtocolError(f"the server sent a document without {name!r}: {str(document)[:80]}")
    return value


class Row(dict[str, Term]):
    """One solution of a SELECT: a dict from variable names to Python values. Unbound variables are missing.

    >>> row = Row(room="lab", t=21)
    >>> row["room"], row.get("alarm")
    ('lab', None)
    """

    __slots__ = ()

    def value(self, name: str, kind: type[V]) -> V:
        """Return the value of a variable as the type you expect, which tells a type checker as well.

        Every number can be read as `float`. Raises `KeyError` if the variable is unbound, and `TypeError` if its value
        is of another type.

        >>> Row(t=21).value("t", int) + Row(t=21).value("t", float)
        42.0
        >>> Row(t="hot").value("t", int)
        Traceback (most recent call last):
        TypeError: ?t is 'hot', a str and not an int
        """
        value: object = self[name]
        if kind is float and isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            value = float(value)
        # True is an int to Python, and not to RDF.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"?{name} is {value!r}, {_with_article(type(value))} and not {_with_article(kind)}")
        return value


class Window(NamedTuple):
    """The part of a stream that a result covers, in milliseconds; a side without a bound is None."""

    name: str
    open: int | None
    close: int | None

    @property
    def open_time(self) -> datetime | None:
        """`open` as a datetime in UTC."""
        return None if self.open is None else datetime_of(self.open)

    @property
    def close_time(self) -> datetime | None:
        """`close` as a datetime in UTC."""
        return None if self.close is None else datetime_of(self.close)


class Skipped(NamedTuple):
    """Equal results that were not sent one by one: the instants of the first and the last of them.

    `windows` is the number of windows, or periods, that closed at them.
    """

    start: int
    end: int
    windows: int


class Answer:
    """The content of a result: `rows` (SELECT), `boolean` (ASK) or `triples()` (CONSTRUCT, DESCRIBE).

    `rows` are the solutions, or the inserted ones if the result is about changes; then `deleted` are the deleted ones.

    >>> answer = Answer({"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": "a"}}]}})
    >>> answer.rows
    [{'n': 'a'}]
    """

    def __init__(self, came: Document | None, went: Document | None = None, *, raw: bool = False) -> None:
        self._came = came
        self._went = went
        self._raw = raw

    @property
    def kind(self) -> Literal["bindings", "boolean", "graph"]:
        """`bindings`, `boolean` or `graph`."""
        document = self._came if self._came is not None else self._went
        if isinstance(document, str):
            return "graph"
        return "boolean" if document is not None and "boolean" in document else "bindings"

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables of a SELECT, in its order; for `SELECT *`, in the server's order."""
        return next((tuple(strings(inner(part, "head"), "vars")) for part in self._objects()), ())

    @property
    def boolean(self) -> bool | None:
        """The result of an ASK."""
        return next((bool(part["boolean"]) for part in self._objects() if "boolean" in part), None)

    @cached_property
    def inserted(self) -> list[Row]:
        """The inserted rows. As with `rows`, those of a CONSTRUCT are triples."""
        return _members(self._came, raw=self._raw)

    @cached_property
    def deleted(self) -> list[Row]:
        """The deleted rows. As with `rows`, those of a CONSTRUCT are triples."""
        return _members(self._went, raw=self._raw)

    @property
    def rows(self) -> list[Row]:
        """The inserted rows (for a DSTREAM: the deleted ones), each a dict without the unbound variables.

        Their type depends on the query: those of a CONSTRUCT are `Triple` and `Quad`, and with `raw` they are SPARQL
        JSON. A type checker cannot see that, so typed programs call `triples()` and `bindings()` for those.
        """
        return self.inserted if self._came is not None else self.deleted

    def triples(self, *, gone: bool = False) -> list[Statement]:
        """The inserted or deleted triples of a CONSTRUCT or DESCRIBE: `Triple`, in named graphs `Quad`.

        >>> Answer("<http://example.org/lab> <http://example.org/on> <http://example.org/floor1> .").triples()[0].object
        Iri('http://example.org/floor1')
        """
        return list(statements_of(self._graph(gone=gone)))

    def bindings(self, *, gone: bool = False) -> list[Binding]:
        """The rows in SPARQL JSON; triples have `subject`, `predicate`, `object` and perhaps `graph`."""
        return _bindings(self._went if gone else self._came)

    @property
    def text(self) -> str:
        """The inserted triples (for a DSTREAM: the deleted ones), as N-Quads."""
        return self._graph(gone=self._came is None)

    @property
    def has_changes(self) -> bool:
        """Whether it has both insertions and deletions."""
        return self._came is not None and self._went is not None

    def __iter__(self) -> Iterator[Row]:
        """The rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def __bool__(self) -> bool:
        """The result of an ASK; otherwise, whether it has any row."""
        return bool(self.inserted or self.deleted) if self.boolean is None else self.boolean

    def to_arrow(self, *, meta: bool = False) -> pa.Table:
        """A table with a column per variable, typed by its values; with `meta`, also `_seq`, `_t` and `_sign`.

        `_t` is a timestamp in UTC. `_sign` (1 inserted, -1 deleted) is always present if a result has both.
        """
        return _tables.arrow_of(self, meta=meta)

    def to_pandas(self, *, meta: bool = False) -> pd.DataFrame:
        """`to_arrow` as a pandas data frame."""
        frame: pd.DataFrame = self.to_arrow(meta=meta).to_pandas()
        return frame

    def to_polars(self, *, meta: bool = False) -> pl.DataFrame:
        """`to_arrow` as a polars data frame."""
        return _tables.polars_of(self.to_arrow(meta=meta))

    def to_rdflib(self) -> rdflib.Graph | list[dict[str, IdentifiedNode | RdflibLiteral]]:
        """An `rdflib.Graph` (CONSTRUCT; with named graphs a `Dataset`), or rows of rdflib terms (SELECT)."""
        return _tables.rdflib_of(self)

    def to_pyoxigraph(self) -> list[pyoxigraph.Quad] | list[dict[str, _tables.OxigraphTerm]]:
        """A list of `pyoxigraph.Quad` (CONSTRUCT), or rows of pyoxigraph terms (SELECT)."""
        return _tables.pyoxigraph_of(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """For any library that supports Arrow."""
        capsule: object = self.to_arrow().__arrow_c_stream__(requested_schema)
        return capsule

    def _repr_html_(self) -> str:
        return _display.answer_html(self)

    def _objects(self) -> list[JsonObject]:
        return [part for part in (self._came, self._went) if isinstance(part, dict)]

    def _graph(self, *, gone: bool = False) -> str:
        document = self._went if gone else self._came
        if self.kind != "graph":
            raise TypeError("only results of CONSTRUCT and DESCRIBE are RDF; read rows or boolean")
        return document if isinstance(document, str) else ""

    @property
    def meta(self) -> dict[str, int]:
        """Columns with the origin of a row."""
        return {}


class Result(Answer):
    """One result of a continuous query: an `Answer` with its sequence number and its time.

    `t` is its instant in milliseconds since the epoch, `time` the same as a datetime. Pass `token` to resume after this
    result.
    """

    def __init__(self, envelope: JsonObject, *, raw: bool = False) -> None:
        self.envelope = envelope
        self.query = required(envelope, "query", str)
        self.incarnation = required(envelope, "incarnation", str)
        self.seq = required(envelope, "seq", int)
        self.token = required(envelope, "token", str)
        self.t = required(envelope, "t", int)
        self.r2s = member(envelope, "r2s", str) or "RSTREAM"
        super().__init__(*_came_and_went(envelope, self.r2s), raw=raw)

    @property
    def time(self) -> datetime:
        """`t` as a datetime in UTC."""
        return datetime_of(self.t)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows that it covers."""
        return tuple(
            Window(required(w, "name", str), member(w, "open", int), member(w, "close", int))
            for w in objects(self.envelope, "windows")
        )

    @property
    def skipped(self) -> Skipped | None:
        """The equal results that it stands for, if there was a long stretch without change."""
        passed = inner(self.envelope, "skipped")
        if not passed:
            return None
        return Skipped(required(passed, "from", int), required(passed, "to", int), required(passed, "windows", int))

    @property
    def is_snapshot(self) -> bool:
        """Whether it is the full current result, as requested by `snapshot=True`."""
        return bool(self.envelope.get("snapshot"))

    @property
    def meta(self) -> dict[str, int]:
        """Sequence number and time."""
        return {"_seq": self.seq, "_t": self.t}

    def __repr__(self) -> str:
        """Its position and size."""
        holds = f"{self.boolean}" if self.kind == "boolean" else f"+{len(self.inserted)} -{len(self.deleted)}"
        return f"<Result {self.query!r} seq={self.seq} t={self.t} {holds}>"

    def __eq__(self, other: object) -> bool:
        """The same envelope."""
        return isinstance(other, Result) and other.envelope == self.envelope

    def __hash__(self) -> int:
        """By its sequence number."""
        return hash((self.incarnation, self.seq))


@dataclass(frozen=True, slots=True)
class Gap:
    """Lost results; None is an unknown end."""

    from_seq: int | None
    to_seq: int | None
    reason: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Every result with `t` before `watermark` has been delivered."""

    watermark: int | None
    seq: int

    @property
    def time(self) -> datetime | None:
        """`watermark` as a datetime in UTC."""
        return None if self.watermark is None else datetime_of(self.watermark)


@dataclass(frozen=True, slots=True)
class Ack:
    """The outcome of sent events; for a commit, `batch` is the newest one that the producer has committed."""

    accepted: int
    late: int = 0
    duplicates: int = 0
    ahead: int = 0
    offset: int | None = None
    watermark: int | None = None
    refused: tuple[JsonObject, ...] = ()
    batch: int | None = None
    # A likely mistake, such as times in seconds where milliseconds are meant.
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream: RDF (Turtle text, triples, a graph, a JSON-LD dict) and its time.

    Without `t`, the time is in the data, by the stream's timestamp predicate.
    """

    data: object
    t: Time | None = None


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream as the server describes it; `document` is the full description."""

    iri: str
    status: str
    watermark: int | None
    document: JsonObject = field(repr=False)

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries that read it."""
        return tuple(strings(self.document, "queries"))

    @property
    def settings(self) -> JsonObject:
        """The settings that it was declared with."""
        return inner(self.document, "settings")

    @property
    def mapping(self) -> str | None:
        """The CONSTRUCT that maps rows to triples, if there is one."""
        return member(self.document, "mapping", str)

    @property
    def time_column(self) -> str:
        """The time column of its rows."""
        return member(self.document, "timeColumn", str) or "t"


@dataclass(frozen=True, slots=True)
class QueryWarning:
    """A likely mistake in a query, with its place and a hint."""

    message: str
    code: str = ""
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        """`line:column: message`; without a position, the message."""
        return self.message if self.line is None else f"{self.line}:{self.column}: {self.message}"


def query_warnings(document: JsonObject) -> tuple[QueryWarning, ...]:
    """The warnings in the description of a query, or in a validation."""
    return tuple(
        QueryWarning(
            required(found, "message", str),
            member(found, "code", str) or "",
            member(found, "line", int),
            member(found, "column", int),
            member(found, "hint", str),
        )
        for found in objects(document, "warnings")
    )


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A query as the server describes it; `document` is the full description."""

    name: str
    text: str
    dialect: str
    status: str
    watermark: int | None
    last_seq: int
    document: JsonObject = field(repr=False)

    @property
    def streams(self) -> tuple[str, ...]:
        """The IRIs of the streams that it reads."""
        return tuple(strings(self.document, "streams"))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of a SELECT, in its order."""
        return tuple(name.lstrip("?") for name in strings(self.document, "variables"))

    @property
    def warnings(self) -> tuple[QueryWarning, ...]:
        """Likely mistakes, with their positions in the text."""
        return query_warnings(self.document)

    def _repr_html_(self) -> str:
        return _display.query_html(self)


@dataclass(frozen=True, slots=True)
class Validation:
    """Facts about a query that was validated, but not registered."""

    dialect: str
    variables: tuple[str, ...]
    warnings: tuple[QueryWarning, ...]
    plan: Plan
    document: JsonObject = field(repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is evaluated: the tree of operators, with live counters in `document`."""

    document: JsonObject = field(repr=False)

    def __str__(self) -> str:
        """One operator per line, inputs below the operator that reads them."""
        return _display.plan_text(self.document)

    def __repr__(self) -> str:
        """The tree itself, so that a console shows it."""
        return str(self)

    def _repr_html_(self) -> str:
        return _display.plan_html(self.document)


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token of the server, without its text; `created_at` is in milliseconds."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: int


@dataclass(frozen=True, slots=True)
class MadeToken(TokenInfo):
    """A token that was made just now. `text` is the token itself, which the server does not tell again."""

    text: str = field(repr=False)


@dataclass(frozen=True)
class Why:
    """Why a query has no solutions now, or that it has some; windows and patterns are in `document`.

    `state` is `answers`, or the first reason that holds: `failed`, `paused`, `no-events`, `refused`, `ahead`,
    `late`, `waiting`, `unmatched`, `filtered` or `expired`.
    """

    state: str
    summary: str
    advice: str | None
    document: JsonObject = field(repr=False)

    def __str__(self) -> str:
        """The reason, and what to do, if known."""
        return self.summary if self.advice is None else f"{self.summary}\n{self.advice}"


def _came_and_went(envelope: JsonObject, r2s: str) -> tuple[Document | None, Document | None]:
    if envelope.get("type") == "changes":
        return _document(envelope, "insert"), _document(envelope, "delete")
    results = _document(envelope, "results")
    # A snapshot is the full result, even for a DSTREAM query.
    has_gone = r2s == "DSTREAM" and not envelope.get("snapshot")
    return (None, results) if has_gone else (results, None)


def _document(envelope: JsonObject, name: str) -> Document:
    found = envelope.get(name)
    if not isinstance(found, (dict, str)):
        raise ProtocolError(f"result {envelope['seq']} of '{envelope['query']}' has no {name}")
    return found


def _members(document: Document | None, *, raw: bool) -> list[Row]:
    if isinstance(document, str):
        # The query text, which no type checker reads, determines the type of the rows: see `Answer.rows`.
        return cast("list[Row]", list(statements_of(document)))
    bindings = _bindings(document)
    if raw:
        return cast("list[Row]", list(bindings))
    return [Row({name: term_of(term) for name, term in binding.items()}) for binding in bindings]


def _bindings(document: Document | None) -> list[Binding]:
    if isinstance(document, str):
        return list(members_of(document))
    # Trusted, because the server wrote them; `term_of` checks each term when it is read.
    return [] if document is None else cast("list[Binding]", inner(document, "results").get("bindings", []))


def _with_article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"
