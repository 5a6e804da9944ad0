"""HTTP connections under uvicorn, with limits on the size of a request's head and on the time to receive it.

A client that sends half a head and then nothing, or a head without end, would otherwise hold its connection, or fill
the memory, before any route can object. Questions about health are answered however many connections there are: beyond
the limit, each new connection takes the place of the one that has been idle longest, so that handles never run out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

HEAD_BYTES_MAX = 16 * 1024
HEAD_SECONDS_MAX = 10.0

# Connections beyond the limit that are still accepted, to respond with 503 or to a health check.
SPARE_CONNECTIONS = 64
# Cheap, and asked by whoever decides whether the server is restarted: always answered.
_WATCHED = frozenset({b"/healthz", b"/readyz", b"/v1/healthz", b"/v1/readyz"})
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a deadline for each head, from the first byte of the connection or request to its end."""

    _head_bytes = 0
    _is_in_head = True
    _head_timer: asyncio.TimerHandle | None = None
    _is_asked = False
    _idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """A client has connected; wait for its first request."""
        super().connection_made(transport)
        self._idle_since = time.monotonic()
        self._begin_head()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a head, a body, or both."""
        was_in_head = self._is_in_head
        super().data_received(data)
        # A head that begins in this chunk after a body is counted from the next chunk on.
        if was_in_head and self._is_in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._give_up(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._begin_head()

    def on_headers_complete(self) -> None:
        """Its head is complete."""
        self._end_head()
        self._is_asked = True
        # uvicorn answers 503 beyond this number, and whoever watches must not take a crowd for a dead server.
        limit = self.config.limit_concurrency
        is_watcher = self.url.partition(b"?")[0] in _WATCHED
        self.limit_concurrency = None if is_watcher else limit
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """A request has been answered."""
        self._is_asked = False
        self._idle_since = time.monotonic()
        super().on_response_complete()

    def _make_room(self) -> None:
        limit = self.config.limit_concurrency
        if limit is None or len(self.connections) <= limit + SPARE_CONNECTIONS:
            return
        idle = [one for one in self.connections if isinstance(one, BoundedHttpProtocol) and one._is_idle]
        if idle:
            min(idle, key=lambda one: one._idle_since).transport.abort()

    @property
    def _is_idle(self) -> bool:
        return not self._is_asked and not self.transport.is_closing()

    def _begin_head(self) -> None:
        self._end_head()
        self._is_in_head = True
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS_MAX, self._give_up, _TOO_SLOW)

    def _end_head(self) -> None:
        self._is_in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self, answer: bytes) -> None:
        self._end_head()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()
