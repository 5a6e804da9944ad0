"""The I/O of `AsyncClient`: a WebSocket, a clock and a latch of asyncio.

`_sync_io` has the same for `Client`, under the same names without `Async`. The two clients differ only here; the rest
of `Client` is generated.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from ._transport import socket_options, text_of

if TYPE_CHECKING:
    from ssl import SSLContext

    from ._subscription import Connect

S = TypeVar("S")

sleep = asyncio.sleep


class AsyncLatch:
    """An event that is set once and ends all waits."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Set it."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._event.is_set()

    async def wait(self, seconds: float) -> None:
        """Wait until it is set, for at most that long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


class AsyncSocket:
    """A WebSocket. Faults of the network or of the server raise one of `SOCKET_ERRORS`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, wanted: Connect, timeout_s: float, ssl: SSLContext | None) -> AsyncSocket:
        """Connect."""
        connection = await connect(
            wanted.url,
            ssl=ssl,
            additional_headers=wanted.headers,
            subprotocols=[Subprotocol(wanted.subprotocol)],
            open_timeout=timeout_s,
            **socket_options(),
        )
        return cls(connection)

    async def send(self, text: str) -> None:
        """Send a text frame."""
        await self._connection.send(text)

    async def receive(self, timeout_s: float) -> str:
        """Return the next text frame; raises TimeoutError if none arrives in time."""
        async with asyncio.timeout(timeout_s):
            return text_of(await self._connection.recv())

    async def close(self) -> None:
        """Close with a handshake."""
        await self._connection.close()

    def abort(self) -> None:
        """Drop the connection without a handshake: for finalizers, which may run in any thread."""
        # A loop that is closed has closed its connections.
        with contextlib.suppress(RuntimeError):
            self._connection.loop.call_soon_threadsafe(self._connection.transport.abort)


class AsyncNotebookQuery:
    """How a notebook shows a query: it cannot await the server, so only by its name."""


def begun(subscription: S) -> S:
    """Return it unstarted: a plain call cannot await the server. Entering or iterating starts it."""
    return subscription
