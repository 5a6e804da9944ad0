"""Request bodies, read with limits on their size, counted while they arrive, on the size of all together, and on time.

A gzip body counts by its inflated size, and may not inflate to more than twenty times its size.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

import orjson

from whorl.server import errors
from whorl.server.media import JSON, text_type_of
from whorl.server.schemas import Model, checked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from whorl.server.services.room import Share
    from whorl.server.settings import Settings

INFLATE_RATIO_MAX = 20
# Short repetitive bodies may exceed the ratio; they do no harm.
_INFLATE_FREE_BYTES = 64 * 1024
_INFLATE_STEP_BYTES = 256 * 1024


async def read_body(request: Request, bytes_max: int) -> bytes:
    """The whole body; 413 as soon as it is too large, 408 if it takes too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > bytes_max:
        raise too_large(bytes_max)
    settings: Settings = request.app.state.settings
    try:
        async with asyncio.timeout(settings.body_seconds_max):
            return await _collect(request, bytes_max)
    except TimeoutError as error:
        detail = f"the body was not complete after {settings.body_seconds_max} s"
        raise errors.BodyTooSlowError(detail) from error


async def read_text(request: Request, bytes_max: int) -> str:
    """The whole body as text."""
    return utf8(await read_body(request, bytes_max))


async def read_json(request: Request, model: type[Model], bytes_max: int, *, optional: bool = False) -> Model:
    """The whole body as a JSON document of the given model; an empty one counts as `{}` if it is optional."""
    body = await read_body(request, bytes_max)
    if optional and not body:
        return model()
    media_type = text_type_of(request.headers.get("content-type"))
    if media_type not in {JSON, ""} and not media_type.endswith("+json"):
        said = f"the body has type '{media_type[:80]}', but must be a JSON document"
        raise errors.MediaTypeError(said, hint="send 'Content-Type: application/json'")
    return parse_json(body, model)


def parse_json(body: bytes, model: type[Model]) -> Model:
    """A JSON document of the given model."""
    try:
        members = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.JsonSyntaxError(f"the body is not JSON: {error.msg}", line=error.lineno) from error
    return checked(model, members)


async def stream_body(request: Request) -> AsyncIterator[bytes]:
    """The body in chunks as they arrive, inflated if it is gzip; the total is unlimited."""
    inflater = _inflater_of(request)
    async for piece in request.stream():
        if not piece:
            continue
        if inflater is None:
            yield piece
        else:
            for inflated in inflater.feed(piece):
                yield inflated
    if inflater is not None:
        inflater.check_complete()


def utf8(body: bytes) -> str:
    """Bytes as text."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.NotUtf8Error(f"the body is not UTF-8: byte {error.start} is invalid") from error


def too_large(bytes_max: int) -> errors.DomainError:
    """The refusal of a body beyond its limit."""
    hint = "send it in parts, or stream it as NDJSON"
    return errors.BodyTooLargeError(f"the body is larger than {bytes_max} bytes", hint=hint, limit=bytes_max)


async def _collect(request: Request, bytes_max: int) -> bytes:
    share: Share = request.state.share
    pieces: list[bytes] = []
    size = 0
    async for piece in stream_body(request):
        size += len(piece)
        if size > bytes_max:
            raise too_large(bytes_max)
        share.hold(size)
        pieces.append(piece)
    return b"".join(pieces)


def _inflater_of(request: Request) -> _Inflater | None:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding in {"identity", ""}:
        return None
    if encoding in {"gzip", "x-gzip"}:
        return _Inflater()
    said = f"the content encoding '{encoding[:40]}' is not supported here"
    raise errors.EncodingError(said, hint="use gzip, or none")


class _Inflater:
    """Inflates gzip in bounded steps, so that a bomb is detected before it fills memory."""

    def __init__(self) -> None:
        self._gzip = zlib.decompressobj(wbits=31)
        self._taken = 0
        self._given = 0

    def feed(self, piece: bytes) -> list[bytes]:
        self._taken += len(piece)
        inflated: list[bytes] = []
        while piece:
            if self._gzip.eof:
                raise _broken_gzip()
            try:
                inflated.append(self._gzip.decompress(piece, _INFLATE_STEP_BYTES))
            except zlib.error as error:
                raise _broken_gzip() from error
            self._given += len(inflated[-1])
            self._check_ratio()
            piece = self._gzip.unconsumed_tail or self._gzip.unused_data
        return inflated

    def check_complete(self) -> None:
        if not self._gzip.eof:
            raise _broken_gzip()

    def _check_ratio(self) -> None:
        if self._given > max(_INFLATE_FREE_BYTES, INFLATE_RATIO_MAX * self._taken):
            detail = f"the body inflates to more than {INFLATE_RATIO_MAX} times its size"
            raise errors.InflatesTooMuchError(detail, hint="send it without compression")


def _broken_gzip() -> errors.DomainError:
    return errors.BrokenGzipError("the body is not one complete gzip member")
