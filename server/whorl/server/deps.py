"""What routes need, as annotated dependencies, so that their signatures read as sentences."""

import re
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path, Query
from fastapi.security import HTTPBearer
from starlette.requests import Request

from whorl.server import security
from whorl.server.errors import Problem
from whorl.server.runtime.commands import Producer
from whorl.server.runtime.runtime import Runtime
from whorl.server.security import Principal, Tokens
from whorl.server.services.ingest import Ingest
from whorl.server.services.rings import Rings
from whorl.server.services.times import parse_instant
from whorl.server.services.traffic import Traffic
from whorl.server.settings import Settings

# What an IRI cannot hold (RFC 3987), and what makes one absolute.
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f-\x9f\ud800-\udfff]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_IRI_CHARS_MAX = 2048
_PRODUCER = re.compile(r"\s*([^;\s]{1,128})\s*;\s*([0-9]{1,18})\s*;\s*([0-9]{1,18})\s*")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Needs(HTTPBearer):
    """The caller, who must have one of the scopes; also what the API's description says about tokens."""

    def __init__(self, *scopes: security.Scope) -> None:
        super().__init__(scheme_name="token", description="a token of this server", auto_error=False)
        self._scopes = scopes

    async def __call__(self, request: Request) -> Principal:  # type: ignore[override]
        return security.authorize(request, *self._scopes)


Anybody = Annotated[Principal, Depends(_Needs())]
Ingester = Annotated[Principal, Depends(_Needs("ingest"))]
Reader = Annotated[Principal, Depends(_Needs("subscribe"))]
Registrar = Annotated[Principal, Depends(_Needs("register"))]
ReaderOrRegistrar = Annotated[Principal, Depends(_Needs("subscribe", "register"))]
Administrator = Annotated[Principal, Depends(_Needs("admin"))]


def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _tokens(request: Request) -> Tokens:
    tokens: Tokens = request.app.state.tokens
    return tokens


def _ingest(request: Request) -> Ingest:
    ingest: Ingest = request.app.state.ingest
    return ingest


def _rings(request: Request) -> Rings:
    rings: Rings = request.app.state.rings
    return rings


def _traffic(request: Request) -> Traffic:
    traffic: Traffic = request.app.state.traffic
    return traffic


TheRuntime = Annotated[Runtime, Depends(_runtime)]
TheSettings = Annotated[Settings, Depends(_settings)]
TheTokens = Annotated[Tokens, Depends(_tokens)]
TheIngest = Annotated[Ingest, Depends(_ingest)]
TheRings = Annotated[Rings, Depends(_rings)]
TheTraffic = Annotated[Traffic, Depends(_traffic)]


def checked_iri(text: str, what: str = "stream") -> str:
    """An absolute IRI, or the problem with it."""
    if len(text) > _IRI_CHARS_MAX or _NOT_IN_IRI.search(text) or not _SCHEME.match(text):
        hint = "write it as it is or percent-encoded, with a scheme such as http: or urn:"
        raise Problem("iri-invalid", 400, f"the {what} is not named by an absolute IRI", hint=hint)
    return text


def checked_name(name: str) -> str:
    """A name of a query, or the problem with it."""
    if not _NAME.fullmatch(name):
        raise Problem("name-invalid", 400, "a name has 1 to 64 letters, digits, '_' and '-'", hint="choose another one")
    return name


def _stream_iri(
    iri: Annotated[
        str, Path(description="IRI of the stream, percent-encoded or as it is", examples=["http://ex.org/s"])
    ],
) -> str:
    # The path was rewritten so that the IRI is one encoded segment; the router does not decode.
    return checked_iri(unquote(iri))


def _query_name(
    name: Annotated[str, Path(description="name of the query: letters, digits, '_' and '-'", examples=["hot-rooms"])],
) -> str:
    return checked_name(name)


def _event_time(
    request: Request,
    t: Annotated[
        str | None,
        Query(description="time of an event that has none: milliseconds since 1970, or a dateTime with a zone"),
    ] = None,
) -> int | None:
    said = t if t is not None else request.headers.get("rsp-event-time")
    return None if said is None else parse_instant(said)


def _producer(request: Request) -> Producer | None:
    said = request.headers.get("rsp-producer")
    if said is None:
        return None
    parts = _PRODUCER.fullmatch(said)
    if parts is None:
        raise Problem("producer-invalid", 400, "RSP-Producer is not 'id;epoch;seq'", hint="for example 'sensor-7;0;42'")
    return Producer(parts.group(1), int(parts.group(2)), int(parts.group(3)))


StreamIri = Annotated[str, Depends(_stream_iri)]
QueryName = Annotated[str, Depends(_query_name)]
EventTime = Annotated[int | None, Depends(_event_time)]
ProducerPlace = Annotated[Producer | None, Depends(_producer)]
