"""Feeds: results as a stream of bytes, for long polls, NDJSON and server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol, Self

from whorl.server import errors, problems
from whorl.server.services.messages import compact
from whorl.server.services.rings import Cursor, Envelope, Gap, Ring, Start

if TYPE_CHECKING:
    from whorl.server.services.rings import Rings

_BATCH_BYTES = 64 * 1024


class Feed:
    """One reader over HTTP: the results that wait for it, and waiting for more."""

    def __init__(self, rings: Rings, cursor: Cursor, gap: Gap | None = None) -> None:
        self.cursor = cursor
        self._rings = rings
        self._news = asyncio.Event()
        self._first_gap = gap
        self._has_ended = False

    def wake(self) -> None:
        """The ring has something new, or the server is stopping."""
        self._news.set()

    def end(self) -> None:
        """End the feed: the reader may no longer read."""
        self._has_ended = True
        self.wake()

    def __enter__(self) -> Self:
        """Start to read."""
        self._rings.connect(self)
        self.cursor.attach(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop reading."""
        self.cursor.detach(self)
        self._rings.disconnect(self)

    def take(self, bytes_max: int = _BATCH_BYTES) -> list[Envelope | Gap]:
        """Waiting results, up to about this size."""
        taken: list[Envelope | Gap] = [] if self._first_gap is None else [self._first_gap]
        self._first_gap = None
        size = 0
        while size < bytes_max and (found := self.cursor.read()) is not None:
            taken.append(found)
            size += found.bytes if isinstance(found, Envelope) else 0
        return taken

    @property
    def is_over(self) -> bool:
        """Whether nothing more will follow: the query has ended and all was read, or reader or server must stop."""
        ring = self.cursor.ring
        is_read = ring.successor is None and self.cursor.next_seq >= ring.next_seq
        return self._rings.is_stopping or self._has_ended or (is_read and ring.state != "live")

    async def wait(self, seconds: float) -> None:
        """Wait for something new, up to this long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()


class Encoding(Protocol):
    """The wire format of a feed."""

    media_type: str
    preamble: str
    heartbeat: str

    def result(self, envelope: Envelope) -> str:
        """One result."""

    def gap(self, query: str, gap: Gap) -> str:
        """Lost results."""

    def end(self, ring: Ring) -> str:
        """Why the feed ends."""


class Ndjson:
    """One line per result; empty lines keep an idle connection alive."""

    media_type = "application/x-ndjson"
    preamble = ""
    heartbeat = "\n"

    def result(self, envelope: Envelope) -> str:
        """The envelope, which has no line breaks of its own."""
        return envelope.text + "\n"

    def gap(self, query: str, gap: Gap) -> str:
        """A line with type `gap`."""
        return compact({"query": query, "type": "gap", **gap.members()}) + "\n"

    def end(self, ring: Ring) -> str:
        """A line with type `error` or `complete`."""
        return compact({"query": ring.query, **_ending(ring)}) + "\n"


class ServerSentEvents:
    """Server-sent events: results are messages with their token as id; everything else has an event type of its own."""

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
        """An event `error` or `complete`; a browser reconnects unless its page closes the source."""
        ending = _ending(ring)
        return f"event: {ending['type']}\ndata: {compact(ending)}\n\n"


def strict_feed(rings: Rings, ring: Ring, after: str | None, start: Start) -> Feed:
    """A feed that refuses a token outside the ring instead of reporting a gap."""
    cursor, gap = ring.cursor(after, start)
    if gap is not None:
        detail = f"some results after token '{after}' are no longer kept"
        members = {**gap.members(), "earliest": ring.token(ring.first_seq - 1)}
        raise errors.ExpiredResultTokenError(detail, hint="resume after the token in 'earliest'", **members)
    return Feed(rings, cursor)


def lenient_feed(rings: Rings, ring: Ring, after: str | None, start: Start) -> Feed:
    """A feed that starts with a gap if the token is outside the ring."""
    return Feed(rings, *ring.cursor(after, start))


def page(feed: Feed, bytes_max: int, n_max: int | None = None) -> list[Envelope]:
    """Envelopes up to the first gap; the next call then gets 410."""
    taken: list[Envelope] = []
    size = 0
    while size < bytes_max and len(taken) != n_max and feed.cursor.ring.get(feed.cursor.next_seq) is not None:
        found = feed.cursor.read()
        if isinstance(found, Envelope):
            taken.append(found)
            size += found.bytes
    return taken


async def wait_for_result(feed: Feed, wait_s: float) -> None:
    """Wait until there is a result to read, up to this long."""
    # Progress wakes readers, too, but is not a result.
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while loop.time() < until and not feed.is_over:
        await feed.wait(until - loop.time())
        ring = feed.cursor.ring
        if feed.cursor.next_seq < ring.next_seq or ring.successor is not None:
            return


def _ending(ring: Ring) -> dict[str, object]:
    if ring.problem is not None:
        return {"type": "error", "problem": problems.document(ring.problem)}
    return {"type": "complete", "reason": ring.reason}
