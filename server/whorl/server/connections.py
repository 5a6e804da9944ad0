"""HTTP connections as uvicorn speaks them, with a limit on how long and how large the head of a request may be.

A client that sends half a head and then nothing, or a head without end, would otherwise hold its connection, or fill
the memory, before any route can object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

HEAD_BYTES_MAX = 16 * 1024
HEAD_SECONDS_MAX = 10.0

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol; between a connection's first byte, or a request's, and the end of its head the clock runs."""

    _head_bytes = 0
    _is_in_head = True
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there: its first request is awaited."""
        super().connection_made(transport)
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a head, a body, or both."""
        was_in_head = self._is_in_head
        super().data_received(data)
        # A head that began inside this piece, behind a body, counts from the next one on.
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
        super().on_headers_complete()

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
