"""What `Client` touches the world with: a WebSocket of `websockets.sync`, a clock and a latch of threads.

`_async_io` has the same for `AsyncClient`, under the same names with `Async` before them.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, Protocol, TypeVar

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from . import _display
from ._transport import socket_options, text_of

if TYPE_CHECKING:
    from ssl import SSLContext

    from ._models import QueryInfo
    from ._subscription import Connect

sleep = time.sleep
# Is set once; those who wait on it go on at once then.
Latch = threading.Event


class Socket:
    """A WebSocket. What the network or the other side does wrong is raised as one of `SOCKET_ERRORS`."""

    # Not looked up in the module, whose names may be gone when `abort` runs at the end of a program.
    _BOTH_WAYS = socket.SHUT_RDWR

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, wanted: Connect, timeout_s: float, ssl: SSLContext | None) -> Socket:
        """Connect."""
        connecting = connect(
            wanted.url,
            ssl=ssl,
            additional_headers=wanted.headers,
            subprotocols=[Subprotocol(wanted.subprotocol)],
            open_timeout=timeout_s,
            **socket_options(),
        )
        # Newer versions connect when the context is entered, older ones before; it is left by `close`.
        return cls(connecting.__enter__())

    def send(self, text: str) -> None:
        """Send a text frame."""
        self._connection.send(text)

    def receive(self, timeout_s: float) -> str:
        """The next text frame; TimeoutError if none comes in time."""
        return text_of(self._connection.recv(timeout_s))

    def close(self) -> None:
        """Close with a handshake."""
        self._connection.close()

    def abort(self) -> None:
        """Let go of the connection without a handshake: for finalizers, which may run in any thread.

        A handshake waits for the thread that reads the socket and for its lock. When the interpreter ends, that thread
        does not run any more; when garbage is collected, it may be the very thread that runs the finalizer. So only the
        system call is made, and the reading thread, where it still runs, cleans up.
        """
        try:
            self._connection.socket.shutdown(self._BOTH_WAYS)
        except OSError:
            return


class NotebookQuery:
    """How a notebook shows a query: with what the server says of it."""

    def info(self) -> QueryInfo:
        """What the server says of it."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return _display.query_html(self.info())


class _Startable(Protocol):
    def start(self) -> None: ...


S = TypeVar("S", bound=_Startable)


def begun(subscription: S) -> S:
    """A subscription that the server has confirmed."""
    subscription.start()
    return subscription
