"""What went wrong on a socket, in the words of the core; the same for both shells."""

from __future__ import annotations

from typing import TypedDict

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from ._protocol import Failed
from ._subscription import CREDIT, Lost

# A result is as large as its rows; the server bounds those.
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
CLOSE_TIMEOUT_S = 1.0
# Results are bounded by credit. Pongs and progress come on top; when even those are not read, the socket waits.
FRAMES_WAITING_MAX = 4 * CREDIT


class SocketOptions(TypedDict):
    """What both kinds of sockets are opened with."""

    compression: None
    close_timeout: float
    max_size: int
    max_queue: int


def socket_options() -> SocketOptions:
    """Compression is off: it costs more than it saves on a fast network, and the server refuses it."""
    return {
        "compression": None,
        "close_timeout": CLOSE_TIMEOUT_S,
        "max_size": MESSAGE_BYTES_MAX,
        "max_queue": FRAMES_WAITING_MAX,
    }


def failed_of(error: httpx.TransportError) -> Failed:
    """A request without an answer; only what failed before the first byte went out was surely not seen."""
    sent = not isinstance(
        error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
    )
    return Failed(str(error) or type(error).__name__, sent, isinstance(error, httpx.TimeoutException))


def lost_of(error: Exception) -> Lost:
    """A connection that could not be opened, or is gone."""
    if isinstance(error, InvalidStatus):
        response = error.response
        return Lost(
            f"the server answered {response.status_code}",
            status=response.status_code,
            body=bytes(response.body or b""),
            retry_after_s=_seconds(response.headers.get("retry-after")),
        )
    if isinstance(error, ConnectionClosed):
        closed = error.rcvd
        return Lost("the connection broke") if closed is None else Lost(closed.reason, closed.code)
    return Lost(str(error) or type(error).__name__)


# Everything a socket may raise because of the network or the other side.
SOCKET_ERRORS: tuple[type[Exception], ...] = (OSError, TimeoutError, WebSocketException, EOFError)


def text_of(frame: str | bytes | bytearray | memoryview) -> str:
    """The text of a frame; the protocol has no others."""
    return frame if isinstance(frame, str) else bytes(frame).decode()


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
