"""uvicorn's WebSocket protocol, with four additions that ASGI does not offer.

- Many frames in one write: a batch of results costs one system call per subscriber instead of one per result.
- Aborting a connection whose reader is stuck: an orderly close waits until the peer has read the buffer, perhaps never.
- Turns: received bytes are parsed for a few milliseconds at a time, then other connections get the event loop. One read
  may contain 40,000 frames.
- Limits on frames without content: on everything sent before authentication, on pings, and on fragments of a message.

The server runs with `uvicorn.Config(ws=SocketProtocol)`; with another protocol the routes fall back to plain ASGI.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from whorl.server.services.buckets import Allowance
from whorl.server.services.session import PINGS_BURST, PINGS_PER_S

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable

    from uvicorn._types import ASGIReceiveEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

    from whorl.server.services.rings import Rings

EXTENSION = "whorl.socket"
_SHUTDOWN_SECONDS = 1.0
# Time for the peer to read why it was refused.
_REFUSED_SECONDS = 10.0
# Much more than a `connection_init` with the longest token and a few pings take.
EARLY_BYTES_MAX = 8 * 1024
# Enough for a message of the maximum size in fragments of 256 bytes.
FRAGMENTS_MAX = 4096
# The bytes parsed at once (a few hundred frames at most), and the time after which other connections get a turn.
_SLICE_BYTES = 4096
_TURN_S = 0.002
_TEXT = 0x81  # FIN bit and opcode 1: an unfragmented text frame.


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol; the application finds it as an extension in its scope."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - what uvicorn gives its protocols
        super().__init__(*arguments, **named)
        # Whether the peer is authenticated; until then only EARLY_BYTES_MAX are read.
        self.is_known = False
        self._early_bytes = 0
        self._pings = Allowance(PINGS_BURST, PINGS_PER_S, time.monotonic())
        # Received but not parsed; reading is paused until it is empty.
        self._unparsed = bytearray()
        self._is_held = False

    # ---- bytes in ----

    def data_received(self, data: bytes) -> None:
        """Receive bytes of a handshake or of frames."""
        if self.handshake_initiated and not self.is_known:
            self._early_bytes += len(data)
            if self._early_bytes > EARLY_BYTES_MAX:
                self._refuse("too much before connection_init")
                return
        is_waiting = bool(self._unparsed)
        self._unparsed += data
        if not is_waiting:
            self._take_turn()

    def _take_turn(self) -> None:
        """Parse received bytes for up to one turn; the rest waits until other connections have had theirs."""
        ends_at = time.monotonic() + _TURN_S
        while self._unparsed and not self._is_over:
            piece = bytes(self._unparsed[:_SLICE_BYTES])
            del self._unparsed[:_SLICE_BYTES]
            super().data_received(piece)
            if time.monotonic() >= ends_at:
                break
        if self._is_over:
            self._unparsed.clear()
        elif self._unparsed:
            self._hold()
            self.loop.call_soon(self._take_turn)
        elif self._is_held:
            self._is_held = False
            # If uvicorn itself has paused reading, it resumes once the application has received its messages.
            if not self.read_paused:
                self.transport.resume_reading()

    def _hold(self) -> None:
        self._is_held = True
        self.transport.pause_reading()

    @property
    def _is_over(self) -> bool:
        return self.disconnected or self.transport.is_closing()

    async def receive(self) -> ASGIReceiveEvent:
        """The next message for the application. uvicorn resumes reading after the last one, unless bytes wait."""
        message = await super().receive()
        if self._unparsed and not self._is_over:
            self._hold()
        return message

    # ---- frames in ----

    def handle_ping(self) -> None:
        """Answer a ping, unless there are too many."""
        if self._may_ping():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Accept a pong, requested or not; both count as pings."""
        if self._may_ping():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """Accept a fragment of a message. Empty ones do not count towards its size, so their number is bounded too."""
        if len(self.frames) >= FRAGMENTS_MAX:
            self._refuse(f"a message has at most {FRAGMENTS_MAX} fragments")
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Pass on a complete message. Invalid UTF-8 is refused here, because uvicorn would log a stack trace for it."""
        if self.curr_msg_data_type == "text" and not self.close_sent:
            data = b"".join(self.frames)
            self.frames = [data]
            try:
                data.decode()
            except UnicodeDecodeError:
                self._refuse("a text is not UTF-8", 1007)
                return
        super().send_receive_event_to_app()

    def _may_ping(self) -> bool:
        may = not self._is_over and self._pings.take(time.monotonic())
        if not may:
            self._refuse(f"more than {PINGS_PER_S:.0f} pings a second")
        return may

    def _refuse(self, reason: str, code: int = 4429) -> None:
        if self.transport.is_closing():
            return
        if self.handshake_complete and not self.close_sent:
            self.conn.send_close(code, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        self.transport.close()
        # A peer that reads nothing would keep what is buffered for it.
        self.loop.call_later(_REFUSED_SECONDS, self.transport.abort)

    def handle_connect(self, event: Request) -> None:
        """Handle a handshake: pass this protocol to the application."""
        super().handle_connect(event)
        if not self.close_sent:
            extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
            extensions[EXTENSION] = self

    # ---- frames out ----

    async def send_frames(self, texts: Iterable[str]) -> None:
        """Send each text as a frame of its own, all of them in one write."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        # Bypasses the protocol's state machine, which whole unmasked text frames do not change.
        self.transport.write(frames(texts))

    def shutdown(self) -> None:
        """Close for a shutdown of the server, which a stuck reader must not delay."""
        super().shutdown()
        self.loop.call_later(_SHUTDOWN_SECONDS, self.transport.abort)

    def abort(self) -> None:
        """End the connection now, whatever is still buffered."""
        self.transport.abort()


class Server(uvicorn.Server):
    """uvicorn's server, which tells subscribers that it is stopping before it closes their connections."""

    rings: Rings | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets with 1001, then stop as usual."""
        if self.rings is not None:
            await self.rings.stopped()
        await super().shutdown(sockets)


def frames(texts: Iterable[str]) -> bytes:
    """Texts as server frames: unmasked, one frame each."""
    parts: list[bytes] = []
    for text in texts:
        payload = text.encode()
        parts.append(_header(len(payload)))
        parts.append(payload)
    return b"".join(parts)


def _header(size: int) -> bytes:
    if size < 126:
        return bytes((_TEXT, size))
    if size < 65536:
        return struct.pack("!BBH", _TEXT, 126, size)
    return struct.pack("!BBQ", _TEXT, 127, size)
