"""The messages of `rsp.v1.json`: those of clients as validated models, those of the server as text.

Envelopes are neither parsed nor written here: a `next` message is a prefix, the envelope's own text and a brace.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, model_validator

from whorl.server import problems

if TYPE_CHECKING:
    from whorl.server.errors import DomainError

CREDIT_MAX = 1_000_000_000

Id = Annotated[str, Field(min_length=1, max_length=64)]
Credit = Annotated[int, Field(ge=0, le=CREDIT_MAX)]


class BadMessageError(ValueError):
    """A message that is not part of the protocol."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class InitPayload(_Strict):
    """Credentials of a client that cannot send headers."""

    token: str | None = Field(None, max_length=4096)


class SubscribePayload(_Strict):
    """What to follow, where to start, and what to do if the reader is slow."""

    query: str | None = Field(None, min_length=1, max_length=256)
    rspql: str | None = Field(None, min_length=1)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    after: str | None = Field(None, max_length=256)
    start: Literal["earliest", "latest"] | None = Field(None, alias="from")
    snapshot: bool = False
    progress: bool = False
    credit: Credit
    overflow: Literal["disconnect", "drop-oldest", "latest"] = "disconnect"

    @model_validator(mode="after")
    def _one_subject(self) -> SubscribePayload:
        if self.query is not None and self.rspql is not None:
            raise ValueError("give 'query' or 'rspql', not both")
        if self.options and self.rspql is None:
            raise ValueError("'options' belong to 'rspql'")
        return self


class CreditPayload(_Strict):
    """More results may be sent."""

    n: Credit


class AckPayload(_Strict):
    """Results up to here have been processed."""

    seq: int = Field(ge=0)


class PublishPayload(_Strict):
    """Events for a stream: JSON objects as in an NDJSON body, or one document in a named format."""

    stream: str = Field(min_length=1, max_length=8192)
    events: list[dict[str, JsonValue]] | str
    format: Literal["turtle", "ntriples", "nquads", "trig", "jsonld", "ndjson"] | None = None
    t: int | None = None
    atomic: bool = True

    @model_validator(mode="after")
    def _format_of_text(self) -> PublishPayload:
        if isinstance(self.events, str) == (self.format is None):
            raise ValueError("'format' names the format of 'events' given as a string, and only then")
        return self

    def body(self) -> tuple[bytes, str]:
        """The events as a body and its format."""
        if isinstance(self.events, str):
            return self.events.encode(), self.format or ""
        return "\n".join(compact(event) for event in self.events).encode(), "ndjson"


class CompletePayload(_Strict):
    """Why a subscription ends."""

    reason: str | None = Field(None, max_length=256)


class Init(_Strict):
    """`connection_init`, the first message."""

    type: Literal["connection_init"]
    payload: InitPayload = Field(default_factory=lambda: InitPayload(token=None))


class Ping(_Strict):
    """`ping`: answered by `pong`."""

    type: Literal["ping"]
    payload: JsonValue = None


class Pong(_Strict):
    """`pong`: the client is alive."""

    type: Literal["pong"]
    payload: JsonValue = None


class Subscribe(_Strict):
    """`subscribe`: start to follow a query."""

    type: Literal["subscribe"]
    id: Id
    payload: SubscribePayload


class More(_Strict):
    """`credit`: more results may be sent."""

    type: Literal["credit"]
    id: Id
    payload: CreditPayload


class Ack(_Strict):
    """`ack`: results have been processed."""

    type: Literal["ack"]
    id: Id
    payload: AckPayload


class Publish(_Strict):
    """`publish`: events for a stream."""

    type: Literal["publish"]
    id: Id
    payload: PublishPayload


class Complete(_Strict):
    """`complete`: stop following."""

    type: Literal["complete"]
    id: Id
    payload: CompletePayload = Field(default_factory=lambda: CompletePayload(reason=None))


ClientMessage = Init | Ping | Pong | Subscribe | More | Ack | Publish | Complete
_CLIENT_MESSAGE: TypeAdapter[ClientMessage] = TypeAdapter(Annotated[ClientMessage, Field(discriminator="type")])


def parse(text: str) -> ClientMessage:
    """The message in a frame, or `BadMessageError` with its first error."""
    try:
        return _CLIENT_MESSAGE.validate_json(text)
    except ValidationError as error:
        raise BadMessageError(_first_fault(error)) from None


def compact(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def message(kind: str, message_id: str | None = None, payload: Any = None) -> str:  # noqa: ANN401 - any JSON value
    """A message of the server."""
    members: dict[str, Any] = {"type": kind}
    if message_id is not None:
        members["id"] = message_id
    if payload is not None:
        members["payload"] = payload
    return compact(members)


def next_prefix(message_id: str) -> str:
    """The text before the envelope in a `next` message; a brace follows it."""
    return f'{{"type":"next","id":{compact(message_id)},"payload":'


def error(message_id: str, problem: DomainError) -> str:
    """`error`: a problem that ends one subscription or refuses one publication."""
    return message("error", message_id, problems.document(problem))


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # The first part is the message type, which chose the model.
    place = ".".join(str(part) for part in fault["loc"][1:])
    words = fault["msg"].removeprefix("Value error, ")
    said = words[:1].lower() + words[1:]
    return f"{place}: {said}" if place else said
