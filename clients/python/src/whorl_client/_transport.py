"""Network errors in the terms of the core; shared by both shells."""

from __future__ import annotations

from ssl import SSLCertVerificationError, SSLError
from typing import TypedDict

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from ._flow import Failed
from ._subscription import CREDIT, Lost

# No limit: the server limits the rows of a result.
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
CLOSE_TIMEOUT_S = 1.0
# Credit bounds results. Pongs and progress come on top; if even those are not read, the socket waits.
FRAMES_WAITING_MAX = 4 * CREDIT


class SocketOptions(TypedDict):
    """Options of both kinds of sockets."""

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
    """A request without a response; only one that failed before its first byte was certainly not received."""
    sent = not isinstance(
        error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
    )
    tls = tls_fault(error)
    return Failed(
        tls or str(error) or type(error).__name__, sent, isinstance(error, httpx.TimeoutException), tls is not None
    )


def tls_fault(error: BaseException) -> str | None:
    """What is wrong with the certificate of the server, if that is why there is no connection."""
    at: BaseException | None = error
    while at is not None and not isinstance(at, SSLError):
        at = at.__cause__ or at.__context__
    if isinstance(at, SSLCertVerificationError):
        return f"its certificate is not trusted: {at.verify_message.rstrip('.')}"
    if isinstance(at, SSLError) and at.reason == "WRONG_VERSION_NUMBER":
        return "it does not speak TLS; write http:// instead of https://"
    return None


def lost_of(error: Exception) -> Lost:
    """A connection that could not be opened, or was lost."""
    if isinstance(error, InvalidStatus):
        response = error.response
        return Lost(
            f"the server responded {response.status_code}",
            status=response.status_code,
            body=bytes(response.body or b""),
            retry_after_s=_seconds(response.headers.get("retry-after")),
        )
    if isinstance(error, ConnectionClosed):
        closed = error.rcvd
        return Lost("the connection broke") if closed is None else Lost(closed.reason, closed.code)
    tls = tls_fault(error)
    return Lost(tls or str(error) or type(error).__name__, tls=tls is not None)


# Every exception of a socket caused by the network or the server.
SOCKET_ERRORS: tuple[type[Exception], ...] = (OSError, TimeoutError, WebSocketException, EOFError)


def text_of(frame: str | bytes | bytearray | memoryview) -> str:
    """The text of a frame; the protocol has only text frames."""
    return frame if isinstance(frame, str) else bytes(frame).decode()


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
