"""The I/O of `Client`: a WebSocket of `websockets.sync`, a clock and a latch for threads.

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
# An event that is set once and ends all waits.
Latch = threading.Event


class Socket:
    """A WebSocket. Faults of the network or of the server raise one of `SOCKET_ERRORS`."""

    # A class attribute, because module globals may be gone when `abort` runs at interpreter exit.
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
        """Return the next text frame; raises TimeoutError if none arrives in time."""
        return text_of(self._connection.recv(timeout_s))

    def close(self) -> None:
        """Close with a handshake."""
        self._connection.close()

    def abort(self) -> None:
        """Drop the connection without a handshake: for finalizers, which may run in any thread.

        A handshake waits for the thread that reads the socket, and takes its lock. At interpreter exit that thread no
        longer runs; during garbage collection it may be the very thread that runs the finalizer. So this makes only the
        system call, and the reading thread, if it still runs, cleans up.
        """
        try:
            self._connection.socket.shutdown(self._BOTH_WAYS)
        except OSError:
            return


class NotebookQuery:
    """How a notebook shows a query: with its status and text, which it asks the server for."""

    def info(self) -> QueryInfo:
        """Describe it."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return _display.query_html(self.info())


class _Startable(Protocol):
    def start(self) -> None: ...


S = TypeVar("S", bound=_Startable)


def begun(subscription: S) -> S:
    """Start it, and return it when the server has confirmed it."""
    subscription.start()
    return subscription
