"""Responses that follow a query until it ends, or wait for a result."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

from whorl.server.services.feeds import Encoding, Feed, page, wait_for_result
from whorl.server.services.messages import compact
from whorl.server.services.rings import Envelope, Gap

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from starlette.types import Receive, Scope, Send

    from whorl.server.settings import Settings


class FeedResponse(Response):
    """A response that lasts until the query ends, the reader disconnects, its token is deleted or the server stops.

    Waiting results are written at once. A reader that takes nothing for too long is disconnected, and can resume from
    the last token it has.
    """

    def __init__(self, feed: Feed, encoding: Encoding, settings: Settings, held: AbstractContextManager[None]) -> None:
        super().__init__(
            media_type=encoding.media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._feed = feed
        self._encoding = encoding
        self._settings = settings
        # Entered while the response is sent: it ends the feed when the caller's token is deleted.
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until it is over."""
        del scope
        with self._held, self._feed:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            sending = asyncio.create_task(self._send_all(send))
            leaving = asyncio.create_task(_until_gone(receive))
            try:
                await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sending, leaving):
                    task.cancel()
                outcomes = await asyncio.gather(sending, leaving, return_exceptions=True)
        self._raise_fault(outcomes[0])

    async def _send_all(self, send: Send) -> None:
        await self._write(send, self._encoding.preamble or self._encoding.heartbeat)
        while not self._feed.is_over:
            text = self._text(self._feed.take())
            if text:
                await self._write(send, text)
                await asyncio.sleep(0)
                continue
            waited = asyncio.get_running_loop().time() + self._settings.heartbeat_s
            await self._feed.wait(self._settings.heartbeat_s)
            if asyncio.get_running_loop().time() >= waited:
                await self._write(send, self._encoding.heartbeat)
        await self._write(send, self._last_words())
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _text(self, taken: list[Envelope | Gap]) -> str:
        encoding, query = self._encoding, self._feed.cursor.ring.query
        said = [encoding.result(one) if isinstance(one, Envelope) else encoding.gap(query, one) for one in taken]
        return "".join(said)

    def _last_words(self) -> str:
        ring = self._feed.cursor.ring
        return "" if ring.state == "live" else self._encoding.end(ring)

    async def _write(self, send: Send, text: str) -> None:
        if text:
            async with asyncio.timeout(self._settings.ring_behind_s):
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

    def _raise_fault(self, outcome: BaseException | None) -> None:
        # A slow reader, a disconnected one, and the end of the feed are not errors.
        if isinstance(outcome, Exception) and not isinstance(outcome, TimeoutError | OSError):
            raise outcome


async def poll(feed: Feed, receive: Receive, wait_s: float, bytes_max: int, n_max: int | None = None) -> str:
    """Waiting results as `{"results": […], "next": token}`; if there are none, those that arrive within the time."""
    with feed:
        envelopes = page(feed, bytes_max, n_max)
        if not envelopes and wait_s > 0 and not feed.is_over:
            await _wait_or_gone(feed, receive, wait_s)
            envelopes = page(feed, bytes_max, n_max)
        ring = feed.cursor.ring
        if not envelopes and ring.state == "failed" and ring.problem is not None:
            raise ring.problem
        results = ",".join(envelope.text for envelope in envelopes)
        return f'{{"results":[{results}],"next":{compact(feed.cursor.token)}}}'


async def _wait_or_gone(feed: Feed, receive: Receive, wait_s: float) -> None:
    leaving = asyncio.create_task(_until_gone(receive))
    waiting = asyncio.create_task(wait_for_result(feed, wait_s))
    try:
        await asyncio.wait((leaving, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        waiting.cancel()
        await asyncio.gather(leaving, waiting, return_exceptions=True)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
