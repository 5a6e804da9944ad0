"""Results of queries, and reports on pushes and updates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar, cast

from whorl.display import result_html
from whorl.terms import Term

T = TypeVar("T")
# A variable without a value is None.
Row: TypeAlias = dict[str, Term | None]
Statement: TypeAlias = tuple[Term, Term, Term]
# The last term is the name of the graph.
Quad: TypeAlias = tuple[Term, Term, Term, Term]
# As the compiled engine returns it: seq, at, windows, kind, variables, inserted, deleted, boolean, skipped.
RawResult: TypeAlias = tuple[
    int,
    int,
    list[tuple[str, int | None, int | None]],
    Literal["bindings", "graph", "boolean"],
    list[str],
    list[Row] | list[Statement | Quad],
    list[Row] | list[Statement | Quad],
    bool | None,
    tuple[int, int, int] | None,
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused part of a body: the event, if it belongs to one, the reason, and the position."""

    index: int | None
    code: str
    message: str
    line: int | None = None
    column: int | None = None


class RawRefusal(TypedDict):
    """A refusal as the compiled engine returns it."""

    index: int | None
    code: str
    message: str
    line: int | None
    column: int | None


class RawReport(TypedDict):
    """A report as the compiled engine returns it."""

    accepted: int
    late: int
    ahead: int
    events: int
    triples: int
    refused: list[RawRefusal]


class RawAbsorbed(TypedDict):
    """What a partition ingested, and the watermarks of its streams afterwards."""

    events: int
    triples: int
    late: int
    watermark: dict[str, int | None]


class IngestReport(NamedTuple):
    """The outcome of a push: events accepted, late, and after `latest`.

    `events` counts all of the body, `triples` those of accepted events; `refused` is empty unless `atomic` was false.
    """

    accepted: int
    late: int
    ahead: int = 0
    events: int = 0
    triples: int = 0
    refused: tuple[Refusal, ...] = ()

    def __repr__(self) -> str:
        """The accepted events, and the other counts that are not zero."""
        rest = {"ahead": self.ahead, "refused": self.refused}
        more = "".join(f", {name}={value!r}" for name, value in rest.items() if value)
        return f"IngestReport(accepted={self.accepted}, late={self.late}{more})"


class UpdateReport(NamedTuple):
    """The number of static triples inserted and deleted."""

    inserted: int
    deleted: int


class WindowBounds(NamedTuple):
    """The part of a stream that a result covers; a side without a bound is None."""

    name: str
    open: int | None
    close: int | None


class Skipped(NamedTuple):
    """Equal results that were not emitted one by one: the instants of the first and the last of them.

    `windows` is the number of windows, or periods, that closed at them.
    """

    start: int
    end: int
    windows: int


@dataclass(frozen=True, slots=True)
class ResultOf(Generic[T]):
    """One result of a query, with the terms of one library: the inserted and deleted solutions (or triples).

    RSTREAM and ISTREAM fill `inserted`, DSTREAM fills `deleted`, CHANGES both. An ASK query has `boolean`. A result
    that stands for a long stretch without change has it in `skipped`.
    """

    seq: int
    at: int
    windows: tuple[WindowBounds, ...]
    kind: Literal["bindings", "graph", "boolean"]
    variables: tuple[str, ...]
    inserted: tuple[dict[str, T | None], ...] | tuple[tuple[T, T, T] | tuple[T, T, T, T], ...]
    deleted: tuple[dict[str, T | None], ...] | tuple[tuple[T, T, T] | tuple[T, T, T, T], ...]
    boolean: bool | None = None
    skipped: Skipped | None = None

    @property
    def time(self) -> datetime:
        """`at` as a datetime in UTC."""
        return _EPOCH + timedelta(milliseconds=self.at)

    @property
    def rows(self) -> tuple[dict[str, T | None], ...]:
        """`inserted` of a SELECT query, typed as solutions; empty for the other forms."""
        return cast("tuple[dict[str, T | None], ...]", self.inserted if self.kind == "bindings" else ())

    @property
    def deleted_rows(self) -> tuple[dict[str, T | None], ...]:
        """`deleted` of a SELECT query, typed as solutions; empty for the other forms."""
        return cast("tuple[dict[str, T | None], ...]", self.deleted if self.kind == "bindings" else ())

    @property
    def triples(self) -> tuple[tuple[T, T, T], ...]:
        """`inserted` of a CONSTRUCT or DESCRIBE query without the names of graphs; empty for the other forms."""
        return tuple(statement[:3] for statement in self._statements(self.inserted))

    @property
    def deleted_triples(self) -> tuple[tuple[T, T, T], ...]:
        """`deleted` of a CONSTRUCT or DESCRIBE query without the names of graphs; empty for the other forms."""
        return tuple(statement[:3] for statement in self._statements(self.deleted))

    @property
    def quads(self) -> tuple[tuple[T, T, T, T | None], ...]:
        """`inserted` of a CONSTRUCT query with the name of each graph; None is the default graph."""
        return tuple(_quad(statement) for statement in self._statements(self.inserted))

    @property
    def deleted_quads(self) -> tuple[tuple[T, T, T, T | None], ...]:
        """`deleted` of a CONSTRUCT query with the name of each graph; None is the default graph."""
        return tuple(_quad(statement) for statement in self._statements(self.deleted))

    def _statements(self, rows: object) -> tuple[tuple[T, T, T] | tuple[T, T, T, T], ...]:
        return cast("tuple[tuple[T, T, T] | tuple[T, T, T, T], ...]", rows if self.kind == "graph" else ())

    def _repr_html_(self) -> str:
        return result_html(self)


@dataclass(frozen=True, slots=True)
class Result(ResultOf[Term]):
    """A result with Python terms."""


class Envelope(NamedTuple):
    """One result as bytes, ready to be sent."""

    seq: int
    at: int
    json: bytes


def report_of(raw: RawReport) -> IngestReport:
    """The report as users see it."""
    refused = tuple(Refusal(**refusal) for refusal in raw["refused"])
    return IngestReport(raw["accepted"], raw["late"], raw["ahead"], raw["events"], raw["triples"], refused)


def result_of(raw: RawResult) -> Result:
    """The result as users see it."""
    seq, at, windows, kind, variables, inserted, deleted, boolean, passed = raw
    bounds = tuple(WindowBounds(*window) for window in windows)
    skipped = None if passed is None else Skipped(*passed)
    came, went = cast("tuple[Row, ...]", tuple(inserted)), cast("tuple[Row, ...]", tuple(deleted))
    return Result(seq, at, bounds, kind, tuple(variables), came, went, boolean, skipped)


def _quad(statement: tuple[T, T, T] | tuple[T, T, T, T]) -> tuple[T, T, T, T | None]:
    return statement if len(statement) == 4 else (*statement, None)
