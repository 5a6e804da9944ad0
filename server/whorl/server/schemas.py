"""The JSON shapes of requests and responses, beside standard result formats and problem documents."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from whorl.server.errors import InvalidInstantError, InvalidMembersError
from whorl.server.security import Scope
from whorl.server.services.times import parse_duration, parse_instant

_DAY_MS = 86_400_000

Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], members: object) -> Model:
    """A document of the given shape, or which of its members are wrong, and why."""
    try:
        return model.model_validate(members)
    except ValidationError as error:
        faults = [
            {"member": ".".join(str(step) for step in fault["loc"]), "reason": fault["msg"]}
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise InvalidMembersError("members of the document are wrong", errors=faults) from error


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _instant(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_instant(value)
    except InvalidInstantError as problem:
        raise ValueError(problem.detail) from problem


# Durations and instants: numbers are milliseconds, text is `10s`, `PT10S`, or a dateTime with a zone.
Duration = Annotated[
    int, BeforeValidator(_duration, json_schema_input_type=int | str), Field(ge=0, le=366 * _DAY_MS, strict=True)
]
Instant = Annotated[
    int,
    BeforeValidator(_instant, json_schema_input_type=int | str),
    Field(ge=-62_135_596_800_000, le=253_402_300_799_999, strict=True),
]


R2s = Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"]
Report = Annotated[str, Field(pattern=r"^(close|change|nonempty|periodic\([1-9][0-9]{0,11}\))$")]


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    def document(self) -> dict[str, Any]:
        """JSON, as it goes over the wire."""
        return self.model_dump(by_alias=True, mode="json")


# ---- streams ----


class StreamSettings(_Shape):
    """How a stream tells time."""

    timestamp_predicate: str | None = Field(None, description="the predicate whose object is the time of an event")
    lateness: Duration = Field(0, description="how long to wait for events out of order", examples=["10s"])
    idle_timeout: Duration | None = Field(None, description="silent for this long, it no longer holds others back")
    retention: Duration | None = Field(None, description="how long its log is kept beyond what windows need")
    time: Literal["event", "arrival"] = Field("event", description="whose clock counts: the event's or the server's")


class StreamDocument(_Shape):
    """A stream and what has happened on it."""

    stream_iri: str = Field(alias="streamIRI")
    status: Literal["open", "closed", "output"]
    watermark: int | None = Field(None, description="no event before this instant is to come")
    events: int = 0
    triples: int = 0
    late: int = 0
    rate: float = Field(0.0, description="events a second, over the last seconds")
    queries: list[str] = Field(default_factory=list, description="the queries that read it")
    written_by: str | None = Field(None, description="the query that writes it")
    settings: StreamSettings | None = None
    mapping: str | None = None
    time_column: str | None = Field(None, description="of rows of the mapping")


class StreamList(_Shape):
    """All streams."""

    streams: list[StreamDocument]


class Ingested(_Shape):
    """What became of a body of events."""

    accepted: int
    late: int
    duplicates: int
    ahead: int = Field(description="events too far ahead of the clock, which were set aside")
    offset: int | None = Field(None, description="place in the log")
    watermark: int | None = None
    refused: list[dict[str, Any]] | None = Field(None, description="with atomic=false: the events that were refused")
    batch: int | None = Field(None, description="of a commit: the newest batch that this producer has committed")


class WatermarkRequest(_Shape):
    """No event before `t` is to come."""

    t: Instant


class Watermark(_Shape):
    """How far a stream has come."""

    watermark: int | None


class MappingDocument(_Shape):
    """How rows become triples."""

    mapping: str
    time_column: str


class Staged(_Shape):
    """A body that waits for its commit."""

    token: str


class CommitRequest(_Shape):
    """Staged bodies that become events at once."""

    producer: str = Field(min_length=1, max_length=128)
    batch: int = Field(ge=0, le=2**62, strict=True)
    tokens: list[str] = Field(max_length=10_000)
    watermark: Instant | None = None


# ---- queries ----


class QueryOptions(_Shape):
    """How a query is read and when it reports; what is left out is as its dialect says."""

    dialect: Literal["rspql", "csparql", "cqels"] | None = None
    report: list[Report] | None = Field(None, max_length=4, examples=[["close", "nonempty"]])
    tick: Literal["time", "tuple"] | None = None
    t0: Instant | None = Field(None, description="an instant at which a window opens")
    bounds: Literal["[)", "(]"] | None = None
    partial: bool | None = None
    semantics: Literal["set", "bag"] | None = None
    r2s: Annotated[R2s, BeforeValidator(_upper, json_schema_input_type=R2s)] | None = Field(None, alias="r2s")
    base_iri: str | None = None
    default_graph: str | None = None
    allow_cartesian: bool | None = Field(None, description="accept a product of parts that share nothing")
    keep_answer: bool | None = Field(None, description="false: its current answer cannot be read, which is cheaper")
    keep_windows: bool | None = Field(None, description="false: /sparql cannot read its windows, which is cheaper")


class QueryRequest(QueryOptions):
    """A query and its options."""

    name: str | None = Field(None, description="only with POST /queries; without it the server makes one")
    query: str = Field(examples=["SELECT * FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> …"])

    def options(self) -> dict[str, Any]:
        """The options that were given, by their JSON names."""
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"name", "query"})


class QueryDocument(_Shape):
    """A query and how far it has come."""

    id: str
    streams: list[str]
    body: str
    dialect: str | None = None
    form: str | None = None
    variables: list[str] = Field(default_factory=list)
    r2s: str | None = Field(None, alias="r2s")
    status: str
    windows: list[Any] = Field(default_factory=list)
    output: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    incarnation: str
    watermark: int | None = None
    last_seq: int
    subscribers: int
    problem: dict[str, Any] | None = Field(None, description="why it has failed")
    stats: dict[str, Any] = Field(default_factory=dict)


class QueryList(_Shape):
    """All queries."""

    queries: list[QueryDocument]


class QueryAction(_Shape):
    """What to do with a query."""

    action: Literal["pause", "restart"]


# ---- tokens ----


class TokenRequest(_Shape):
    """A token to be made."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[\w .@:-]+$", examples=["sensor gateway"])
    scopes: list[Scope] = Field(min_length=1, max_length=4, examples=[["ingest"]])


class TokenDocument(_Shape):
    """A token as it is known to the server."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: int


class MadeToken(TokenDocument):
    """A token that was made just now; its text is told this once."""

    token: str


class TokenList(_Shape):
    """All tokens but the first."""

    tokens: list[TokenDocument]


class Ticket(_Shape):
    """A word that stands for the caller, once, in `?ticket=`."""

    ticket: str
    expires_in_s: int


# ---- the rest ----


class Health(_Shape):
    """How the server is."""

    status: str
    reason: str | None = None


class ProblemDocument(BaseModel):
    """RFC 9457; further members depend on the type."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:whorl:problem:unknown-stream"])
    title: str
    status: int
    detail: str
    hint: str | None = None
