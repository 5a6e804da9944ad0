"""The JSON documents of requests and responses, other than standard result formats and problem documents."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic.alias_generators import to_camel

from whorl.demo.pace import RATE_MAX
from whorl.options import QueryOptions as LibraryOptions
from whorl.options import Time, json_name
from whorl.server.errors import InvalidInstantError, InvalidMembersError
from whorl.server.security import Scope
from whorl.server.services.names import NAME
from whorl.server.services.times import MS_MAX, MS_MIN, parse_duration, parse_instant
from whorl.zones import HINT as ZONE_HINT
from whorl.zones import UnknownZoneError, offsets_of

_DAY_MS = 86_400_000

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")


def checked(model: type[Model], members: object) -> Model:
    """A document of the given model, or an error that lists its invalid members and says why."""
    try:
        return model.model_validate(members)
    except ValidationError as error:
        faults = [
            {"member": ".".join(str(step) for step in fault["loc"]), "reason": fault["msg"]}
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise InvalidMembersError("some members of the document are invalid", errors=faults) from error


def _whole(value: object) -> object:
    """In JSON, 7.0 is an integer as well."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else _whole(value)


def _instant(value: object) -> object:
    if not isinstance(value, str):
        return _whole(value)
    try:
        return parse_instant(value)
    except InvalidInstantError as problem:
        raise ValueError(problem.detail) from problem


def _format(name: str) -> Any:  # noqa: ANN401 - as Field() is declared
    """Text of a format that no schema can describe further."""
    return Field(json_schema_extra={"format": name})


# Durations and instants: numbers are milliseconds, text is `10s`, `PT10S`, or a dateTime with a zone.
_MS_OF_DURATION = Field(ge=0, le=366 * _DAY_MS, strict=True)
_MS_OF_INSTANT = Field(ge=MS_MIN, le=MS_MAX, strict=True)
Duration = Annotated[
    int,
    _MS_OF_DURATION,
    BeforeValidator(
        _duration, json_schema_input_type=Annotated[int, _MS_OF_DURATION] | Annotated[str, _format("whorl-duration")]
    ),
]
Instant = Annotated[
    int,
    _MS_OF_INSTANT,
    BeforeValidator(
        _instant, json_schema_input_type=Annotated[int, _MS_OF_INSTANT] | Annotated[str, _format("date-time")]
    ),
]
Iri = Annotated[str, _format("iri")]


def _zone(name: str) -> str:
    try:
        offsets_of(name)
    except UnknownZoneError as error:
        raise ValueError(f"{error}; {ZONE_HINT}") from None
    return name


Zone = Annotated[str, AfterValidator(_zone), Field(json_schema_extra={"format": "whorl-zone"})]


def _report(word: str) -> str:
    found = re.fullmatch(r"close|change|nonempty|periodic\((?P<period>.{1,40})\)", word)
    if found is None:
        raise ValueError("a report must be close, change, nonempty or periodic(10s)")
    if found["period"] is not None and parse_duration(found["period"]) == 0:
        raise ValueError("a period must be longer than zero")
    return word


Report = Annotated[str, AfterValidator(_report), Field(json_schema_extra={"format": "whorl-report"})]


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    def document(self) -> dict[str, Any]:
        """The JSON value that is sent."""
        return self.model_dump(by_alias=True, mode="json")


# ---- streams ----


class StreamSettings(_Shape):
    """The time domain of a stream."""

    timestamp_predicate: Iri | None = Field(None, description="the predicate whose object is the time of an event")
    lateness: Duration = Field(0, description="how long to wait for events out of order", examples=["10s"])
    idle_timeout: Duration | None = Field(None, description="silent for this long, it no longer holds others back")
    retention: Duration | None = Field(None, description="how long its log is kept beyond what windows need")
    time: Literal["event", "arrival"] = Field("event", description="whose clock counts: the event's or the server's")
    assume_zone: Zone | None = Field(
        None, description="the zone of times in the data that have none", examples=["Z", "+02:00", "Europe/Paris"]
    )


class Refusal(_Shape):
    """Why events were last refused."""

    at: int = Field(description="when, by the server's clock")
    reason: str
    code: str | None = None
    line: int | None = Field(None, description="in the body")


class StreamDocument(_Shape):
    """A stream and its counters."""

    stream_iri: str = Field(alias="streamIRI")
    status: Literal["open", "closed", "output"]
    watermark: int | None = Field(None, description="no event before this instant will follow")
    events: int = 0
    triples: int = 0
    late: int = 0
    refused: int = Field(0, description="bodies and single events refused since the server started")
    ahead: int = Field(0, description="events set aside since the server started: too far ahead of its clock")
    last_refusal: Refusal | None = Field(None, description="why events were refused the last time")
    rate: float = Field(0.0, description="events per second, over the last few seconds")
    queries: list[str] = Field(default_factory=list, description="the queries that read it")
    written_by: str | None = Field(None, description="the query that writes it")
    settings: StreamSettings | None = None
    mapping: str | None = None
    time_column: str | None = Field(None, description="of rows of the mapping")


class StreamList(_Shape):
    """All streams."""

    streams: list[StreamDocument]


class Ingested(_Shape):
    """The outcome of a body of events."""

    accepted: int
    late: int
    duplicates: int
    ahead: int = Field(description="events too far ahead of the clock; they were set aside")
    offset: int | None = Field(None, description="position in the log")
    watermark: int | None = None
    refused: list[dict[str, Any]] | None = Field(None, description="with atomic=false: the refused events")
    batch: int | None = Field(None, description="for a commit: the newest batch that this producer has committed")
    warning: str | None = Field(None, description="if times look like seconds, which are read as milliseconds")


class WatermarkRequest(_Shape):
    """No event before `t` will follow."""

    t: Instant


class Watermark(_Shape):
    """The watermark of a stream."""

    watermark: int | None


class MappingDocument(_Shape):
    """How rows become triples."""

    mapping: str
    time_column: str


class Staged(_Shape):
    """A staged body."""

    token: str


_BATCH = Field(ge=0, le=2**62, strict=True)


def _distinct(items: list[T]) -> list[T]:
    if len(set(items)) < len(items):
        raise ValueError("each item may be given once")
    return items


class CommitRequest(_Shape):
    """Staged bodies to turn into events at once."""

    producer: str = Field(min_length=1, max_length=128)
    batch: Annotated[int, _BATCH, BeforeValidator(_whole, json_schema_input_type=Annotated[int, _BATCH])]
    tokens: Annotated[list[str], AfterValidator(_distinct)] = Field(
        max_length=10_000, json_schema_extra={"uniqueItems": True}
    )
    watermark: Instant | None = None


# ---- queries ----


def _in_json(kind: object) -> object:
    """The type of an option in JSON: instants may be strings, and keywords may be in any case."""
    if kind == Time | None:
        return Instant | None
    if str in get_args(kind) and Iterable[str] in get_args(kind):
        return Annotated[list[Report], Field(max_length=4, examples=[["close", "nonempty"]])] | None
    words = {word.lower(): word for part in get_args(kind) for word in get_args(part)}
    return Annotated[kind, BeforeValidator(lambda given: words.get(str(given).lower(), given), kind)] if words else kind


# Options whose values are free text.
_FORMATS = {"base_iri": "iri", "default_graph": "whorl-default-graph"}


def _option_field(name: str, annotated: object) -> tuple[object, object]:
    kind, description = get_args(annotated)
    typed = Annotated[str, _format(_FORMATS[name])] | None if name in _FORMATS else _in_json(kind)
    return typed, Field(None, alias=json_name(name), description=description)


if TYPE_CHECKING:

    class QueryOptions(_Shape):
        """The options of a query; see `whorl.options`."""

else:
    _OPTIONS = get_type_hints(LibraryOptions, include_extras=True)
    _FIELDS = {name: _option_field(name, annotated) for name, annotated in _OPTIONS.items()}
    QueryOptions = create_model("QueryOptions", __base__=_Shape, __doc__=LibraryOptions.__doc__, **_FIELDS)


class QueryRequest(QueryOptions):
    """A query and its options."""

    name: Annotated[str, Field(json_schema_extra={"pattern": f"^{NAME}$"})] | None = Field(
        None, description="only with POST /queries; without it the server makes one"
    )
    query: Annotated[str, _format("rsp-ql")] = Field(
        examples=["SELECT * FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> …"]
    )

    def options(self) -> dict[str, Any]:
        """The given options, by their JSON names."""
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"name", "query"})


class QueryDocument(_Shape):
    """A query and its progress."""

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
    warnings: list[dict[str, Any]] = Field(
        default_factory=list, description="likely mistakes: code, message, hint, and line and column if known"
    )
    stats: dict[str, Any] = Field(default_factory=dict)


class QueryList(_Shape):
    """All queries."""

    queries: list[QueryDocument]


class QueryAction(_Shape):
    """An action on a query."""

    action: Literal["pause", "restart"]


class WhyWindow(_Shape):
    """A window, and the watermark of its stream."""

    name: str
    short: str = Field(description="its name with the prefixes of the query, or its number in the text: `#2`")
    stream: str
    events: int = Field(description="events on its stream so far")
    late: int
    watermark: int | None = None
    open: int | None = Field(None, description="start of the window that closes next")
    close: int | None = Field(None, description="it closes when the watermark reaches this instant")


class WhyPattern(_Shape):
    """A triple pattern and its counters."""

    pattern: str
    window: str
    condition: str | None = Field(None, description="a filter that is evaluated with the pattern")
    matched: int = Field(description="triples so far")
    live: int = Field(description="mappings in the window now")
    required: bool = Field(description="false if the query has solutions without it, as in OPTIONAL")
    seen: list[str] = Field(description="if nothing has matched: the predicates that the window holds")


class WhyDocument(_Shape):
    """Why a query has no solutions now, or that it has some."""

    query: str
    state: Literal[
        "answers",
        "failed",
        "paused",
        "no-events",
        "refused",
        "ahead",
        "late",
        "waiting",
        "unmatched",
        "filtered",
        "expired",
    ]
    summary: str
    advice: str | None = None
    watermark: int | None = None
    windows: list[WhyWindow]
    patterns: list[WhyPattern]
    late: int = Field(description="late events on its streams")
    filtered: int = Field(description="triples in its windows that filters reject now")
    results: int


# ---- the demo ----


class Demo(_Shape):
    """The rate of the demo, as a multiple of the usual number of events; 0 pauses it."""

    rate: float = Field(ge=0, le=RATE_MAX, allow_inf_nan=False, examples=[2.0])


# ---- tokens ----


# The name of a token: letters of any script, but no characters that control a terminal or the direction of text. The
# pattern lists the excluded characters, because regular expressions of Python, Rust and JSON Schema differ in what a
# letter is.
_NAME = r"^[^\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+$"


class TokenRequest(_Shape):
    """A token to create."""

    name: str = Field(min_length=1, max_length=64, pattern=_NAME, examples=["sensor gateway"])
    scopes: Annotated[list[Scope], AfterValidator(_distinct)] = Field(
        min_length=1, max_length=4, examples=[["ingest"]], json_schema_extra={"uniqueItems": True}
    )


class TokenDocument(_Shape):
    """A token as the server stores it."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: int


class MadeToken(TokenDocument):
    """A new token; its text is shown only this once."""

    token: str


class TokenList(_Shape):
    """All tokens except the admin token."""

    tokens: list[TokenDocument]


class Ticket(_Shape):
    """A ticket that authenticates the caller once, in `?ticket=`."""

    ticket: str
    expires_in_s: int


# ---- the rest ----


class Health(_Shape):
    """The state of the server."""

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
