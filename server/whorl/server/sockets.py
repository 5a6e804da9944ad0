"""WebSockets as uvicorn speaks them, with two things that ASGI does not have.

Many frames in one write: a batch of results costs one system call for each subscriber instead of one for each result.
And an end for connections whose reader is stuck: closing in order waits until everything buffered is read, which may
be never. The server runs with `uvicorn.Config(ws=SocketProtocol)`; under any other the routes fall back to plain ASGI.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable

    from websockets.http11 import Request

    from whorl.server.services.rings import Rings

EXTENSION = "whorl.socket"
_SHUTDOWN_SECONDS = 1.0
_TEXT = 0x81  # One whole frame, text.


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol, known to the application as an extension of its scope."""

    def handle_connect(self, event: Request) -> None:
        """A handshake has come: tell the application who it speaks through."""
        super().handle_connect(event)
        if not self.close_sent:
            extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
            extensions[EXTENSION] = self

    async def send_frames(self, texts: Iterable[str]) -> None:
        """Send each text as a frame of its own, all of them in one write."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        # Written past the protocol's own state machine: whole unmasked text frames change nothing in it.
        self.transport.write(frames(texts))

    def shutdown(self) -> None:
        """The server stops; a reader that takes nothing does not hold it up."""
        super().shutdown()
        self.loop.call_later(_SHUTDOWN_SECONDS, self.transport.abort)

    def abort(self) -> None:
        """End the connection now, whatever is still buffered."""
        self.transport.abort()


class Server(uvicorn.Server):
    """uvicorn's server, which tells subscribers that it stops before it closes their connections."""

    rings: Rings | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say goodbye (1001), then stop as usual."""
        if self.rings is not None:
            await self.rings.stopped()
        await super().shutdown(sockets)


def frames(texts: Iterable[str]) -> bytes:
    """Texts as the frames of a server: no mask, one piece each."""
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
