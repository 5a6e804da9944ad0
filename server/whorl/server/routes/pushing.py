"""Pushing events: the only route that is called for every event, and therefore handled without the framework.

`PushMiddleware` handles it. The framework would take as long to find the route and to resolve its dependencies as the
rest of the server takes for the event. It only describes the route, in `push_description.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import orjson
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from whorl.server import media
from whorl.server.errors import BodyTooSlowError, DomainError, OverloadedError
from whorl.server.problems import document
from whorl.server.routes.bodies import read_body, stream_body
from whorl.server.routes.deps import authorize, decoded_iri, event_time, producer_of
from whorl.server.routes.parameters import check_parameters, invalid_parameters
from whorl.server.routes.responses import DuplexResponse, JsonResponse, problem_response
from whorl.server.services.ingest import PushOptions, Tally
from whorl.server.services.lines import BATCH_BYTES_MAX, LineCutter
from whorl.server.services.room import FREE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from whorl.server.security import Principal, Tokens
    from whorl.server.services.ingest import Ingest
    from whorl.server.services.room import Share
    from whorl.server.settings import Settings

AckKind: TypeAlias = Literal["synced", "memory", "batch"]

_PARAMETERS = frozenset({"t", "atomic", "ack", "ticket"})
_ATOMIC: TypeAdapter[bool] = TypeAdapter(bool)
_ACK: TypeAdapter[AckKind] = TypeAdapter(AckKind)


class PushMiddleware:
    """Handles requests that push events, and passes everything else on to the framework.

    It runs after the checks of every connection and before the framework's own layers, so it turns refusals into
    responses by itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        iri = _pushed_to(scope)
        if iri is None:
            await self.app(scope, receive, send)
            return
        try:
            response = await push(Request(scope, receive, send), iri)
        except DomainError as problem:
            response = problem_response(problem)
        await response(scope, receive, send)


def _pushed_to(scope: Scope) -> str | None:
    """The encoded IRI in `POST /streams/{iri}`; None for any other request."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    path: str = scope["path"]
    parent, _, iri = path.removeprefix(scope.get("root_path", "")).rpartition("/")
    return iri if parent == "/streams" and iri else None


async def push(request: Request, encoded_iri: str) -> Response:
    """Ingest the events of a body."""
    caller = authorize(request, "ingest")
    # Only now, so that callers who may not use the route learn nothing about it.
    check_parameters(request, _PARAMETERS)
    options, per_batch = _how_pushed(request)
    iri = decoded_iri(encoded_iri)
    state = request.app.state
    form = media.format_of(request.headers.get("content-type"), media.INGEST_FORMATS)
    if form == "ndjson" and options.producer is None:
        upload = _Upload(request, caller, iri, options)
        if per_batch:
            return DuplexResponse(_acknowledged(upload), 202, media_type=media.NDJSON)
        if not _is_short(request):
            return JsonResponse(await _sums(upload), 202)
    body = await read_body(request, state.settings.body_bytes_max)
    ingest: Ingest = state.ingest
    reply = await ingest.push(iri, body, form, options)
    return JsonResponse(reply, 200 if reply["duplicates"] else 202)


def _how_pushed(request: Request) -> tuple[PushOptions, bool]:
    """The options, and whether each batch of NDJSON has a response line of its own."""
    given = request.query_params
    faults: list[dict[str, str]] = []
    atomic, ack = given.get("atomic"), given.get("ack")
    is_atomic = atomic is None or bool(_checked("atomic", atomic, _ATOMIC, faults))
    kind = None if ack is None else _checked("ack", ack, _ACK, faults)
    if faults:
        raise invalid_parameters(faults)
    at = event_time(request, given.get("t"))
    options = PushOptions(at, is_atomic, producer_of(request), None if kind == "batch" else kind)
    return options, kind == "batch"


def _checked(name: str, text: str, kind: TypeAdapter[Any], faults: list[dict[str, str]]) -> Any:  # noqa: ANN401 - each parameter has its type
    try:
        return kind.validate_python(text)
    except ValidationError as error:
        faults.extend({"member": f"query.{name}", "reason": one["msg"]} for one in error.errors())
        return None


def _is_short(request: Request) -> bool:
    """Whether a body is known to fit into one batch, which is then atomic."""
    announced = request.headers.get("content-length", "")
    return announced.isdecimal() and int(announced) <= BATCH_BYTES_MAX and "content-encoding" not in request.headers


class _Upload:
    """An NDJSON body, ingested in batches while it arrives, as long as the sender's token is valid."""

    def __init__(self, request: Request, caller: Principal, iri: str, options: PushOptions) -> None:
        self.tally = Tally()
        self._request = request
        self._caller = caller
        self._iri = iri
        self._options = options

    async def replies(self) -> AsyncIterator[dict[str, Any]]:
        """The replies to the batches, as they arrive; a problem has its position in the body."""
        ingest: Ingest = self._request.app.state.ingest
        tokens: Tokens = self._request.app.state.tokens
        try:
            async for batch in self._batches():
                tokens.check(self._caller)
                reply = await ingest.push_patiently(self._iri, batch, "ndjson", self._options)
                self.tally.add(reply, batch)
                yield reply
        except DomainError as problem:
            self.tally.locate(problem)
            raise

    async def _batches(self) -> AsyncIterator[bytes]:
        settings: Settings = self._request.app.state.settings
        share: Share = self._request.state.share
        # Several batches must fit into the queue, or a streaming body would block itself.
        cutter = LineCutter(settings.body_bytes_max, min(BATCH_BYTES_MAX, settings.queue_bytes_max // 4))
        pieces = stream_body(self._request)
        deadline: float | None = None
        while (piece := await _next_piece(pieces, deadline)) is not None:
            for batch in cutter.feed(piece):
                deadline = None
                yield batch
            self._hold(share, cutter.held_bytes)
            if cutter.held_bytes <= FREE_BYTES:
                deadline = None
            elif deadline is None:
                deadline = asyncio.get_running_loop().time() + settings.body_seconds_max
        rest = cutter.rest()
        if rest:
            yield rest

    def _hold(self, share: Share, held_bytes: int) -> None:
        try:
            share.hold(held_bytes)
        except OverloadedError as full:
            # A client that repeats the request, as it may after `Retry-After`, would repeat the batches before.
            full.retry_after_s = None if self.tally.lines else full.retry_after_s
            raise


async def _next_piece(pieces: AsyncIterator[bytes], deadline: float | None) -> bytes | None:
    """The next bytes of a body; None at its end. A long line takes room from others, so it has a deadline."""
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(pieces, None)
    except TimeoutError as error:
        raise BodyTooSlowError("a long line of the body was not complete in time") from error


async def _sums(upload: _Upload) -> dict[str, Any]:
    async for _ in upload.replies():
        pass
    return upload.tally.sums


async def _acknowledged(upload: _Upload) -> AsyncIterator[bytes]:
    try:
        async for reply in upload.replies():
            yield orjson.dumps({**reply, "lines": upload.tally.lines}) + b"\n"
    except DomainError as problem:
        yield orjson.dumps({"problem": document(problem)}) + b"\n"
