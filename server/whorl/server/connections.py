"""HTTP connections under uvicorn, with limits on request heads and on unread responses.

A client that sends half a head and then nothing, or an endless head, would otherwise hold its connection or fill the
memory before any route can refuse it. The same holds for trailers, for the rest of a refused body, and for connections
between two requests: each has a deadline and a size limit.

Health checks are served however many connections are open: beyond the limit, each new connection replaces the one that
has been idle longest, so that handles never run out. A response stays in memory until the client has read it: a client
that reads nothing for a while is disconnected and, if unread responses exceed their limit in total, so is the one that
has read nothing for longest.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

HEAD_BYTES_MAX = 16 * 1024
HEAD_SECONDS_MAX = 10.0
# Of a body that came after its response, so that a client that still sends can read why it was refused.
REST_BYTES_MAX = 16 * 1024 * 1024
REST_SECONDS_MAX = 10.0

# Connections beyond the limit that are still accepted, to respond with 503 or to a health check.
SPARE_CONNECTIONS = 64
# Cheap, and requested by the supervisor that may restart the server, so always served.
_WATCHED = frozenset({b"/healthz", b"/readyz", b"/v1/healthz", b"/v1/readyz"})
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a deadline wherever only the client can go on, except inside of a body.

    It applies to a head, from the first byte of the connection or request to its end; to the trailers of a chunked
    body; to the rest of a body that nobody reads any more; and to the time until the next request. How long a body may
    take is up to its route.
    """

    _head_bytes = 0
    _is_in_head = True
    # Whether a head ended in the last chunk.
    _has_ended_head = False
    _has_content = False
    _is_in_body = False
    # Whether a chunk has begun without content so far: it may be the last one, which trailers follow.
    _awaits_content = False
    # Of a body: what came since its last content, which is lengths of chunks and trailers.
    _bare_bytes = 0
    # Of a body whose response is complete.
    _rest_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    # Requests whose response is not complete; there are several if they were sent in a row.
    _n_asked = 0
    _idle_since = 0.0
    # Settings, see `reading_within`.
    answer_seconds_max = 30.0
    answers_bytes_max = 256 * 1024 * 1024
    # Unread bytes of the response, when they last decreased, and the next check.
    _unread = 0
    _read_at = 0.0
    _answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """A client has connected; wait for its first request."""
        super().connection_made(transport)
        self._idle_since = time.monotonic()
        self._begin_head()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._stop_waiting()
        self._end_answer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a head, a body, or both."""
        was_in_head, was_in_body = self._is_in_head, self._is_in_body
        self._has_ended_head = self._has_content = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        # A head that begins in this chunk after a body or another request is counted from the next chunk on.
        if was_in_head and not self._has_ended_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._give_up(_TOO_LARGE)
        elif self._is_in_body:
            self._count_body(len(data) if was_in_body else 0)

    def _count_body(self, n_bytes: int) -> None:
        """Bytes inside of a body, which are content, lengths of chunks, trailers, or no longer read."""
        self._bare_bytes = 0 if self._has_content else self._bare_bytes + n_bytes
        if self._bare_bytes > HEAD_BYTES_MAX:
            self._give_up(_TOO_LARGE)
        elif not self._n_asked:
            self._rest_bytes += n_bytes
            if self._rest_bytes > REST_BYTES_MAX:
                self._give_up(b"")
        elif not self._awaits_content:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait(HEAD_SECONDS_MAX, _TOO_SLOW)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._begin_head()

    def on_headers_complete(self) -> None:
        """Its head is complete."""
        self._stop_waiting()
        self._is_in_head = False
        self._has_ended_head = True
        self._is_in_body = True
        self._awaits_content = False
        self._bare_bytes = self._rest_bytes = 0
        self._n_asked += 1
        # uvicorn responds with 503 beyond this number, and monitoring must not mistake a crowd for a dead server.
        is_watcher = self.url.partition(b"?")[0] in _WATCHED
        self.limit_concurrency = None if is_watcher or self._fits_without_idle() else self.config.limit_concurrency
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """A chunk of a body begins."""
        self._awaits_content = True

    def on_body(self, body: bytes) -> None:
        """Content of a body has come."""
        self._has_content = True
        self._awaits_content = False
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete."""
        self._is_in_body = False
        self._stop_waiting()
        super().on_message_complete()
        if not self._n_asked:
            self._await_request()

    def on_response_complete(self) -> None:
        """The response is complete."""
        self._n_asked -= 1
        self._idle_since = time.monotonic()
        # The connection may be closing, and is only closed once all of the answer has been read.
        self._watch_reader()
        super().on_response_complete()
        if self._n_asked or self._is_in_head:
            return
        if self._is_in_body:
            self._wait(REST_SECONDS_MAX, b"")
        else:
            self._await_request()

    def _await_request(self) -> None:
        # uvicorn's own deadline ends with any byte, also with one that begins no request.
        self._wait(self.timeout_keep_alive, b"")

    def pause_writing(self) -> None:
        """The send buffer of the system is full."""
        super().pause_writing()
        self._watch_reader()
        self._make_room_for_answers()

    def resume_writing(self) -> None:
        """The client has read most of the response."""
        self._end_answer()
        super().resume_writing()

    def _watch_reader(self) -> None:
        """Look from now on whether the reader takes what waits for it."""
        self._unread, self._read_at = self.transport.get_write_buffer_size(), time.monotonic()
        if self._unread and self._answer_timer is None:
            self._look_again()

    def _look_again(self) -> None:
        self._answer_timer = self.loop.call_later(self.answer_seconds_max / 4, self._look_at_reader)

    def _look_at_reader(self) -> None:
        now, unread = time.monotonic(), self.transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread, self._read_at = unread, now
        if not unread:
            self._answer_timer = None
        elif now - self._read_at < self.answer_seconds_max:
            self._look_again()
        else:
            self._drop_reader()

    def _make_room_for_answers(self) -> None:
        # What was unread at the last look may have been read since.
        sizes = {
            one: one.transport.get_write_buffer_size()
            for one in self.connections
            if isinstance(one, BoundedHttpProtocol) and one._unread
        }
        waiting = [one for one, size in sizes.items() if size]
        unread = sum(sizes.values())
        for one in sorted(waiting, key=lambda one: one._read_at):
            if unread <= self.answers_bytes_max:
                return
            unread -= sizes[one]
            one._drop_reader()

    def _drop_reader(self) -> None:
        self._end_answer()
        running = self._running
        if running is not None:
            running.disconnected = True
        self.transport.abort()

    @property
    def _running(self) -> RequestResponseCycle | None:
        """The latest request; there may be none, which uvicorn's own type leaves out."""
        return self.cycle

    def _end_answer(self) -> None:
        self._unread = 0
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def _make_room(self) -> None:
        limit = self.config.limit_concurrency
        if limit is None or len(self.connections) <= limit + SPARE_CONNECTIONS:
            return
        idle = [one for one in self.connections if isinstance(one, BoundedHttpProtocol) and one._is_idle]
        if idle:
            min(idle, key=lambda one: one._idle_since).transport.abort()

    def _fits_without_idle(self) -> bool:
        """Whether a request fits if idle connections do not count: anybody can open those, without a token."""
        limit = self.config.limit_concurrency
        if limit is None or len(self.connections) < limit:
            return limit is None or len(self.tasks) < limit
        busy = [one for one in self.connections if not (isinstance(one, BoundedHttpProtocol) and one._is_idle)]
        return len(busy) < limit and len(self.tasks) < limit

    @property
    def _is_idle(self) -> bool:
        # A client may still be reading a response that is complete.
        return not self._n_asked and not self.transport.is_closing() and not self.transport.get_write_buffer_size()

    def _begin_head(self) -> None:
        self._is_in_head = True
        self._head_bytes = 0
        self._wait(HEAD_SECONDS_MAX, _TOO_SLOW)

    def _wait(self, seconds: float, answer: bytes) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._give_up, answer)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self, answer: bytes) -> None:
        self._stop_waiting()
        if self.transport.is_closing():
            return
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            # If the response to an earlier request is incomplete, the client would mistake this one for it.
            may_answer = self._is_in_body and self._n_asked == 1 and not running.response_started
        else:
            may_answer = True
        if may_answer:
            self.transport.write(answer)
        self.transport.close()


def reading_within(seconds: float, bytes_max: int) -> type[BoundedHttpProtocol]:
    """The protocol for these limits: the time a client may read nothing, and the unread bytes of all clients."""

    class Protocol(BoundedHttpProtocol):
        answer_seconds_max = seconds
        answers_bytes_max = bytes_max

    return Protocol
