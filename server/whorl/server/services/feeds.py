"""Feeds: results for readers over HTTP, who take no messages but bytes: long polls, NDJSON and server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol, Self

from starlette.responses import Response

from whorl.server.errors import Problem
from whorl.server.services.messages import compact
from whorl.server.services.rings import Cursor, Envelope, Gap, Ring, Start

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from whorl.server.services.rings import Rings
    from whorl.server.settings import Settings

_BATCH_BYTES = 64 * 1024


class Feed:
    """One reader over HTTP: what waits for it, and the wait for more."""

    def __init__(self, rings: Rings, cursor: Cursor, gap: Gap | None = None) -> None:
        self.cursor = cursor
        self._rings = rings
        self._news = asyncio.Event()
        self._first_gap = gap

    def wake(self) -> None:
        """The ring has news, or the server stops."""
        self._news.set()

    def __enter__(self) -> Self:
        """Begin to read."""
        self._rings.connect(self)
        self.cursor.attach(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Read no more."""
        self.cursor.detach(self)
        self._rings.disconnect(self)

    def take(self, bytes_max: int = _BATCH_BYTES) -> list[Envelope | Gap]:
        """What waits, about as much as asked for."""
        taken: list[Envelope | Gap] = [] if self._first_gap is None else [self._first_gap]
        self._first_gap = None
        size = 0
        while size < bytes_max and (found := self.cursor.read()) is not None:
            taken.append(found)
            size += found.bytes if isinstance(found, Envelope) else 0
        return taken

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come: the query has ended and all was read, or the server stops."""
        ring = self.cursor.ring
        is_read = ring.successor is None and self.cursor.next_seq >= ring.next_seq
        return self._rings.is_stopping or (is_read and ring.state != "live")

    async def wait(self, seconds: float) -> None:
        """Wait for news, but no longer than this."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()


class Encoding(Protocol):
    """How a feed looks on the wire."""

    media_type: str
    preamble: str
    heartbeat: str

    def result(self, envelope: Envelope) -> str:
        """One result."""

    def gap(self, query: str, gap: Gap) -> str:
        """A loss."""

    def end(self, ring: Ring) -> str:
        """Why nothing more comes."""


class Ndjson:
    """A line for each result; empty lines while nothing happens."""

    media_type = "application/x-ndjson"
    preamble = ""
    heartbeat = "\n"

    def result(self, envelope: Envelope) -> str:
        """The envelope, which has no line breaks of its own."""
        return envelope.text + "\n"

    def gap(self, query: str, gap: Gap) -> str:
        """A line of the type `gap`."""
        return compact({"query": query, "type": "gap", **gap.members()}) + "\n"

    def end(self, ring: Ring) -> str:
        """A line of the type `error` or `complete`."""
        return compact({"query": ring.query, **_ending(ring)}) + "\n"


class ServerSentEvents:
    """Server-sent events: results are messages with their token as id; all else has an event type of its own."""

    media_type = "text/event-stream"
    preamble = "retry: 1000\n\n"
    heartbeat = ":\n\n"

    def result(self, envelope: Envelope) -> str:
        """A message."""
        return f"id: {envelope.token}\ndata: {envelope.text}\n\n"

    def gap(self, query: str, gap: Gap) -> str:
        """An event `gap`."""
        return f"event: gap\ndata: {compact({'query': query, **gap.members()})}\n\n"

    def end(self, ring: Ring) -> str:
        """An event `error` or `complete`; a browser connects again unless it closes on them."""
        ending = _ending(ring)
        return f"event: {ending['type']}\ndata: {compact(ending)}\n\n"


class FeedResponse(Response):
    """A response that goes on until the query ends, the reader goes or the server stops.

    Whatever waits is written at once. A reader that takes nothing for too long is let go: its connection breaks off,
    and it resumes by the last token it has.
    """

    def __init__(self, feed: Feed, encoding: Encoding, settings: Settings) -> None:
        super().__init__(
            media_type=encoding.media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._feed = feed
        self._encoding = encoding
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until it is over."""
        del scope
        with self._feed:
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
        # A slow reader, one that has gone, and the end are no faults.
        if isinstance(outcome, Exception) and not isinstance(outcome, TimeoutError | OSError):
            raise outcome


async def poll(feed: Feed, receive: Receive, wait_s: float, bytes_max: int, n_max: int | None = None) -> str:
    """What waits as `{"results": […], "next": token}`; when nothing does, what comes within the time."""
    with feed:
        envelopes = _envelopes(feed, bytes_max, n_max)
        if not envelopes and wait_s > 0 and not feed.is_over:
            await _wait_or_gone(feed, receive, wait_s)
            envelopes = _envelopes(feed, bytes_max, n_max)
        ring = feed.cursor.ring
        if not envelopes and ring.state == "failed" and ring.problem is not None:
            raise ring.problem
        results = ",".join(envelope.text for envelope in envelopes)
        return f'{{"results":[{results}],"next":{compact(feed.cursor.token)}}}'


def strict_feed(rings: Rings, ring: Ring, after: str | None, start: Start) -> Feed:
    """A feed for a reader that is answered rather than told of a gap: a token outside the ring is refused."""
    cursor, gap = ring.cursor(after, start)
    if gap is not None:
        detail = f"not all results after token '{after}' are kept"
        members = {**gap.members(), "earliest": ring.token(ring.first_seq - 1)}
        raise Problem("token-expired", 410, detail, hint="go on after the token in 'earliest'", **members)
    return Feed(rings, cursor)


def lenient_feed(rings: Rings, ring: Ring, after: str | None, start: Start) -> Feed:
    """A feed that begins with the gap when the token is outside the ring."""
    return Feed(rings, *ring.cursor(after, start))


def _envelopes(feed: Feed, bytes_max: int, n_max: int | None) -> list[Envelope]:
    """Envelopes up to the first gap, which the next call is answered with by 410."""
    taken: list[Envelope] = []
    size = 0
    while size < bytes_max and len(taken) != n_max and feed.cursor.ring.get(feed.cursor.next_seq) is not None:
        found = feed.cursor.read()
        if isinstance(found, Envelope):
            taken.append(found)
            size += found.bytes
    return taken


async def _wait_or_gone(feed: Feed, receive: Receive, wait_s: float) -> None:
    leaving = asyncio.create_task(_until_gone(receive))
    waiting = asyncio.create_task(_wait_for_result(feed, wait_s))
    try:
        await asyncio.wait((leaving, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        waiting.cancel()
        await asyncio.gather(leaving, waiting, return_exceptions=True)


async def _wait_for_result(feed: Feed, wait_s: float) -> None:
    # Progress wakes readers, too, and is no result.
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while loop.time() < until and not feed.is_over:
        await feed.wait(until - loop.time())
        ring = feed.cursor.ring
        if feed.cursor.next_seq < ring.next_seq or ring.successor is not None:
            return


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _ending(ring: Ring) -> dict[str, object]:
    if ring.problem is not None:
        return {"type": "error", "problem": ring.problem.document()}
    return {"type": "complete", "reason": ring.reason}
