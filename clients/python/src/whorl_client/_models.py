"""What the server answers, as values: results with their rows, gaps, acknowledgements, plans, facts.

Results keep the JSON they came as; rows are decoded when they are first read, so that a program that only looks at
times pays for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import _display, _tables
from ._exceptions import ProtocolError
from ._terms import Quad, Term, Triple, members_of, statements_of, term_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

Row: TypeAlias = dict[str, Any]
Time: TypeAlias = int | datetime
# SPARQL 1.1 Results JSON, or N-Quads.
Document: TypeAlias = dict[str, Any] | str

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_ms(t: Time) -> int:
    """Milliseconds since the epoch. A datetime without a zone is refused: it could be any of 38 instants.

    >>> time_ms(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000
    """
    if isinstance(t, datetime):
        if t.tzinfo is None:
            raise ValueError(f"{t!r} has no time zone; write datetime(…, tzinfo=UTC)")
        return (t - _EPOCH) // timedelta(milliseconds=1)
    return t


class Window(NamedTuple):
    """The part of a stream a result was computed over; a side without a bound is None."""

    name: str
    open: int | None
    close: int | None


class Skipped(NamedTuple):
    """Results that were the same and were not sent one by one: the instants of the first and the last of them.

    `windows` is how many windows, or periods, ended at them.
    """

    start: int
    end: int
    windows: int


class Answer:
    """What a query says: rows (SELECT), `boolean` (ASK) or triples (CONSTRUCT, DESCRIBE).

    `rows` are what is true now or has come; where a result is about changes, `deleted` is what has gone.

    >>> answer = Answer({"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": "a"}}]}})
    >>> answer.rows
    [{'n': 'a'}]
    """

    def __init__(self, came: Document | None, went: Document | None = None, *, raw: bool = False) -> None:
        self._came = came
        self._went = went
        self._raw = raw

    @property
    def kind(self) -> str:
        """`bindings`, `boolean` or `graph`."""
        document = self._came if self._came is not None else self._went
        if isinstance(document, str):
            return "graph"
        return "boolean" if document is not None and "boolean" in document else "bindings"

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables of a SELECT, in its order."""
        return next((tuple(part["head"].get("vars", ())) for part in self._parts() if isinstance(part, dict)), ())

    @property
    def boolean(self) -> bool | None:
        """The answer of an ASK."""
        return next(
            (bool(part["boolean"]) for part in self._parts() if isinstance(part, dict) and "boolean" in part), None
        )

    @cached_property
    def inserted(self) -> list[Any]:
        """The rows or triples that came."""
        return _members(self._came, raw=self._raw)

    @cached_property
    def deleted(self) -> list[Any]:
        """The rows or triples that went."""
        return _members(self._went, raw=self._raw)

    @property
    def rows(self) -> list[Any]:
        """The rows that came (of a DSTREAM: that went): a dict each, without the variables that are not bound.

        Triples of a CONSTRUCT are `Triple`, in named graphs `Quad`.
        """
        return self.inserted if self._came is not None else self.deleted

    @property
    def text(self) -> str:
        """The triples that came, as N-Quads."""
        if not isinstance(self._came, str):
            raise TypeError("only the answers of CONSTRUCT and DESCRIBE are RDF; read rows or boolean")
        return self._came

    @property
    def has_changes(self) -> bool:
        """Whether it tells what came and what went."""
        return self._came is not None and self._went is not None

    def __iter__(self) -> Iterator[Any]:
        """The rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """How many rows."""
        return len(self.rows)

    def __bool__(self) -> bool:
        """The answer of an ASK; otherwise, whether anything came or went."""
        return bool(self.inserted or self.deleted) if self.boolean is None else self.boolean

    def to_arrow(self, *, meta: bool = False) -> pa.Table:
        """A table with a column per variable, typed after its values; with `meta`, also `_seq`, `_t` and `_sign`.

        `_sign` (1 came, -1 went) is always there where a result tells both.
        """
        return _tables.arrow_of(self, meta=meta)

    def to_pandas(self, *, meta: bool = False) -> pd.DataFrame:
        """`to_arrow` as a pandas data frame."""
        frame: pd.DataFrame = self.to_arrow(meta=meta).to_pandas()
        return frame

    def to_polars(self, *, meta: bool = False) -> pl.DataFrame:
        """`to_arrow` as a polars data frame."""
        return _tables.polars_of(self.to_arrow(meta=meta))

    def to_rdflib(self) -> Any:
        """An `rdflib.Graph` (CONSTRUCT; with named graphs a `Dataset`), or rows of rdflib terms (SELECT)."""
        return _tables.rdflib_of(self)

    def to_pyoxigraph(self) -> Any:
        """A list of `pyoxigraph.Quad` (CONSTRUCT), or rows of pyoxigraph terms (SELECT)."""
        return _tables.pyoxigraph_of(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Any library that speaks Arrow takes an answer as it is."""
        capsule: object = self.to_arrow().__arrow_c_stream__(requested_schema)
        return capsule

    def _repr_html_(self) -> str:
        return _display.answer_html(self)

    def _parts(self) -> list[Document]:
        return [part for part in (self._came, self._went) if part is not None]

    @property
    def meta(self) -> dict[str, int]:
        """Columns that say where a row comes from."""
        return {}

    def bindings(self, *, gone: bool = False) -> list[dict[str, dict[str, Any]]]:
        """The rows as SPARQL JSON has them; of triples: `subject`, `predicate`, `object` and perhaps `graph`."""
        return _bindings(self._went if gone else self._came)


class Result(Answer):
    """One result of a continuous query: an `Answer` with its place in the sequence and in time.

    `token` is the place to resume from after this result.
    """

    def __init__(self, envelope: dict[str, Any], *, raw: bool = False) -> None:
        self.envelope = envelope
        self.query: str = envelope["query"]
        self.incarnation: str = envelope["incarnation"]
        self.seq: int = envelope["seq"]
        self.token: str = envelope["token"]
        self.t: int = envelope["t"]
        self.r2s: str = envelope.get("r2s", "RSTREAM")
        super().__init__(*_came_and_went(envelope, self.r2s), raw=raw)

    @property
    def time(self) -> datetime:
        """`t` as a datetime in UTC."""
        return _EPOCH + timedelta(milliseconds=self.t)

    @property
    def windows(self) -> tuple[Window, ...]:
        """What it was computed over."""
        return tuple(Window(w["name"], w.get("open"), w.get("close")) for w in self.envelope.get("windows", ()))

    @property
    def skipped(self) -> Skipped | None:
        """The results it stands for as well, where a long stretch had the same ones."""
        passed = self.envelope.get("skipped")
        return None if passed is None else Skipped(passed["from"], passed["to"], passed["windows"])

    @property
    def is_snapshot(self) -> bool:
        """Whether it is the whole current answer, as asked for by `snapshot=True`, and not what came since."""
        return bool(self.envelope.get("snapshot"))

    @property
    def meta(self) -> dict[str, int]:
        """Sequence number and time."""
        return {"_seq": self.seq, "_t": self.t}

    def __repr__(self) -> str:
        """Where it stands, and how much it holds."""
        holds = f"{self.boolean}" if self.kind == "boolean" else f"+{len(self.inserted)} -{len(self.deleted)}"
        return f"<Result {self.query!r} seq={self.seq} t={self.t} {holds}>"

    def __eq__(self, other: object) -> bool:
        """The same envelope."""
        return isinstance(other, Result) and other.envelope == self.envelope

    def __hash__(self) -> int:
        """By its place in the sequence."""
        return hash((self.incarnation, self.seq))


@dataclass(frozen=True, slots=True)
class Gap:
    """Results that this subscriber will never see; None is an end that is not known."""

    from_seq: int | None
    to_seq: int | None
    reason: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Nothing happened up to here: every result with `t` before `watermark` has been handed out."""

    watermark: int | None
    seq: int


@dataclass(frozen=True, slots=True)
class Ack:
    """What became of events that were sent; of a commit, `batch` is the newest one its producer has committed."""

    accepted: int
    late: int = 0
    duplicates: int = 0
    ahead: int = 0
    offset: int | None = None
    watermark: int | None = None
    refused: tuple[dict[str, Any], ...] = ()
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream: RDF (Turtle text, triples, a graph, a JSON-LD dict) and its time.

    Without `t`, the time is in the data, by the stream's timestamp predicate.
    """

    data: Any
    t: Time | None = None


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream as the server describes it; `document` has all it says."""

    iri: str
    status: str
    watermark: int | None
    document: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A query as the server describes it; `document` has all it says."""

    name: str
    text: str
    dialect: str
    status: str
    watermark: int | None
    last_seq: int
    document: dict[str, Any] = field(repr=False)

    def _repr_html_(self) -> str:
        return _display.query_html(self)


@dataclass(frozen=True, slots=True)
class Validation:
    """What the server understood of a query that it did not register."""

    dialect: str
    variables: tuple[str, ...]
    warnings: tuple[str, ...]
    plan: Plan
    document: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is evaluated: the tree of operators, with live counters in `document`."""

    document: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """An operator a line, inputs below the operator that reads them."""
        return _display.plan_text(self.document)

    def __repr__(self) -> str:
        """The tree itself: a plan in a console is there to be read."""
        return str(self)

    def _repr_html_(self) -> str:
        return _display.plan_html(self.document)


def _came_and_went(envelope: dict[str, Any], r2s: str) -> tuple[Document | None, Document | None]:
    if envelope.get("type") == "changes":
        return envelope["insert"], envelope["delete"]
    if "results" not in envelope:
        raise ProtocolError(f"result {envelope['seq']} of '{envelope['query']}' holds no results")
    # A snapshot is what is true, also of a query that tells what goes.
    has_gone = r2s == "DSTREAM" and not envelope.get("snapshot")
    return (None, envelope["results"]) if has_gone else (envelope["results"], None)


def _members(document: Document | None, *, raw: bool) -> list[Any]:
    if isinstance(document, str):
        found: Sequence[Triple | Quad] = list(statements_of(document))
        return list(found)
    bindings = _bindings(document)
    return list(bindings) if raw else [_row(binding) for binding in bindings]


def _bindings(document: Document | None) -> list[dict[str, dict[str, Any]]]:
    if isinstance(document, str):
        return list(members_of(document))
    if not isinstance(document, dict):
        return []
    bindings: list[dict[str, dict[str, Any]]] = document.get("results", {}).get("bindings", [])
    return bindings


def _row(binding: dict[str, dict[str, Any]]) -> dict[str, Term]:
    return {name: term_of(member) for name, member in binding.items()}
