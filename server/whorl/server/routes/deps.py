"""Annotated dependencies of the routes, so that their signatures read as sentences.

All of them are coroutines: FastAPI sends a plain function through a thread pool, which costs more than the function.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from urllib.parse import unquote

from fastapi import Depends, Path, Query
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection, Request

from whorl.server import errors
from whorl.server.routes.parameters import known_parameters
from whorl.server.runtime.commands import Producer
from whorl.server.runtime.runtime import Runtime
from whorl.server.security import ANONYMOUS, Principal, Scope, Tokens, require, unauthenticated
from whorl.server.services.asking import Asking
from whorl.server.services.graphs import Graphs
from whorl.server.services.ingest import Ingest
from whorl.server.services.names import checked_iri, checked_name
from whorl.server.services.registry import Registry
from whorl.server.services.rings import Rings
from whorl.server.services.times import parse_instant
from whorl.server.services.traffic import Traffic
from whorl.server.settings import Settings

_PRODUCER = re.compile(r"\s*([^;\s]{1,128})\s*;\s*([0-9]{1,18})\s*;\s*([0-9]{1,18})\s*")


def authorize(connection: HTTPConnection, *scopes: Scope) -> Principal:
    """The caller of a request or WebSocket, who must have one of the scopes; without scopes, any authenticated caller.

    A connection without `Authorization` and `?ticket=` is refused; a WebSocket that sends its token in
    `connection_init` uses `authorize_token` instead.
    """
    tokens: Tokens = connection.app.state.tokens
    return require(_caller(connection, tokens), *scopes)


def _caller(connection: HTTPConnection, tokens: Tokens) -> Principal:
    if tokens.anonymous:
        return ANONYMOUS
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return tokens.authenticate(token.strip())
    ticket = connection.query_params.get("ticket")
    if ticket:
        return tokens.redeem(ticket)
    raise unauthenticated("a token is needed")


class _Needs(HTTPBearer):
    """The caller, who must have one of the scopes; also describes the security scheme in OpenAPI."""

    def __init__(self, *scopes: Scope) -> None:
        super().__init__(scheme_name="token", description="an access token of this server", auto_error=False)
        self._scopes = scopes

    async def __call__(self, request: Request) -> Principal:  # type: ignore[override]  # the base class only describes the scheme
        principal = authorize(request, *self._scopes)
        # Only now, so that callers who may not use the route learn nothing about it.
        known_parameters(request)
        return principal


Anybody = Annotated[Principal, Depends(_Needs())]
Ingester = Annotated[Principal, Depends(_Needs("ingest"))]
Reader = Annotated[Principal, Depends(_Needs("subscribe"))]
Registrar = Annotated[Principal, Depends(_Needs("register"))]
ReaderOrRegistrar = Annotated[Principal, Depends(_Needs("subscribe", "register"))]
Administrator = Annotated[Principal, Depends(_Needs("admin"))]


T = TypeVar("T")


def _part(name: str, kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """A dependency on a part of the application, which `create_app` has put into its state; `kind` is its type."""
    del kind

    async def part(request: Request) -> T:
        found: T = getattr(request.app.state, name)
        return found

    return part


TheRuntime = Annotated[Runtime, Depends(_part("runtime", Runtime))]
TheSettings = Annotated[Settings, Depends(_part("settings", Settings))]
TheTokens = Annotated[Tokens, Depends(_part("tokens", Tokens))]
TheIngest = Annotated[Ingest, Depends(_part("ingest", Ingest))]
TheAsking = Annotated[Asking, Depends(_part("asking", Asking))]
TheRegistry = Annotated[Registry, Depends(_part("registry", Registry))]
TheGraphs = Annotated[Graphs, Depends(_part("graphs", Graphs))]
TheRings = Annotated[Rings, Depends(_part("rings", Rings))]
TheTraffic = Annotated[Traffic, Depends(_part("traffic", Traffic))]


EncodedIri = Annotated[
    str,
    Path(
        description="IRI of the stream, percent-encoded or plain",
        examples=["http://ex.org/s"],
        json_schema_extra={"format": "iri", "maxLength": 2048},
    ),
]


def decoded_iri(iri: EncodedIri) -> str:
    """The IRI in a path, which was rewritten so that it is one encoded segment; the router does not decode."""
    return checked_iri(unquote(iri))


async def _stream_iri(iri: EncodedIri) -> str:
    return decoded_iri(iri)


async def _query_name(
    name: Annotated[
        str,
        Path(
            description="name of the query: letters, digits, '_' and '-'",
            examples=["hot-rooms"],
            json_schema_extra={"pattern": "^[A-Za-z0-9_-]{1,64}$"},
        ),
    ],
) -> str:
    return checked_name(name)


EventTime = Annotated[
    str | None,
    Query(description="time of events that have none: milliseconds since 1970, or a dateTime with a zone"),
]


def event_time(request: Request, t: EventTime) -> int | None:
    """The time of events that have none, from the query string or a header."""
    said = t if t is not None else request.headers.get("rsp-event-time")
    return None if said is None else parse_instant(said)


def producer_of(request: Request) -> Producer | None:
    """The place of a body in the sequence of its producer, from a header."""
    said = request.headers.get("rsp-producer")
    if said is None:
        return None
    parts = _PRODUCER.fullmatch(said)
    if parts is None:
        raise errors.InvalidProducerError("RSP-Producer is not 'id;epoch;seq'", hint="for example 'sensor-7;0;42'")
    return Producer(parts.group(1), int(parts.group(2)), int(parts.group(3)))


StreamIri = Annotated[str, Depends(_stream_iri)]
QueryName = Annotated[str, Depends(_query_name)]
