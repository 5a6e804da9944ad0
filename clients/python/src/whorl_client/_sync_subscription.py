"""The I/O of a subscription, for blocking programs.

Generated from `_async_subscription` by `clients/python/generate_sync.py`: edit that file and run `make client-sync`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Generic, Self, cast

from ._flow import Sleep
from ._live import LiveView
from ._subscription import Close, Connect, Deliver, Effect, Item_co, Lost, Ready, Receive, SendText
from ._sync_io import Latch, Socket
from ._transport import SOCKET_ERRORS, lost_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ssl import SSLContext
    from types import TracebackType

    from ._subscription import Subscription as SubscriptionCore


class Subscription(Generic[Item_co]):
    """The results of a query, in order, each once. Single pass: the socket closes when a `for` over it ends.

    `token` is its position: `subscribe(query, from_=token)` resumes there, also in another program.
    """

    _socket: Socket | None = None

    def __init__(self, core: SubscriptionCore, timeout_s: float, ssl: SSLContext | None) -> None:
        self._core = core
        self._timeout_s = timeout_s
        self._ssl = ssl
        self._flow = core.run()
        self._reply: str | Lost | None = None
        self._is_closed = Latch()
        self._is_started = False

    @property
    def token(self) -> str | None:
        """The position after the last result delivered."""
        return self._core.token

    @property
    def query(self) -> str | None:
        """The name of the query on the server, once it has confirmed the subscription; `queries.why` takes it."""
        return self._core.query

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the query."""
        return self._core.variables

    @property
    def watermark(self) -> int | None:
        """The watermark, if `until` or `on_progress` request progress."""
        return self._core.watermark

    @property
    def reason(self) -> str | None:
        """Why it ended, if the server said so."""
        return self._core.reason

    def start(self) -> None:
        """Connect, and wait until no result can be missed. Iterating and `with` call it; it acts once."""
        if self._is_started:
            return
        self._is_started = True
        while not self._is_closed.is_set():
            wanted = self._next_wanted()
            if wanted is None or isinstance(wanted, Ready):
                return
            self._reply = self._do(wanted)

    def __enter__(self) -> Self:
        """Start: from here on, no result is missed."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def __iter__(self) -> Iterator[Item_co]:
        """Yield results (and, if asked for, gaps). The socket closes at the end, or when you leave the loop."""
        try:
            while (item := self._next_item()) is not None:
                yield item
        finally:
            self.close()

    def __next__(self) -> Item_co:
        """The next result."""
        item = self._next_item()
        if item is None:
            raise StopIteration
        return item

    def show(self) -> None:
        """Show results in a notebook as they arrive, each in the place of the one before; in a terminal, line by line.

        Rows that the result before did not have are marked. Returns when the subscription ends (`limit`, `until`), or
        when you interrupt the cell.
        """
        view = LiveView()
        with contextlib.suppress(KeyboardInterrupt):
            for item in self:
                view.show(item)

    def close(self) -> None:
        """Stop following. You may call it twice, and call `Subscription.close` from another thread."""
        self._is_closed.set()
        self._close_socket()

    def __del__(self) -> None:
        """Drop the connection of a subscription that is no longer referenced."""
        if self._socket is not None:
            self._socket.abort()

    def _next_item(self) -> Item_co | None:
        self.start()
        while not self._is_closed.is_set():
            wanted = self._next_wanted()
            if wanted is None:
                return None
            if isinstance(wanted, Deliver):
                # `on_gap` decides whether there are gaps among them; the overloads of `subscribe` say the same.
                return cast("Item_co", wanted.item)
            self._reply = self._do(wanted)
        return None

    def _next_wanted(self) -> Effect | None:
        reply, self._reply = self._reply, None
        try:
            return self._flow.send(reply)
        except StopIteration:
            self.close()
            return None
        except BaseException:
            self.close()
            raise

    def _do(self, wanted: Effect) -> str | Lost | None:
        match wanted:
            case Connect():
                return self._connect(wanted)
            case SendText(text):
                self._send(text)
            case Receive(timeout_s):
                return self._receive(timeout_s)
            case Sleep(seconds):
                self._is_closed.wait(seconds)
            case Close():
                self._close_socket()
        return None

    def _close_socket(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.close()

    def _connect(self, wanted: Connect) -> Lost | None:
        try:
            self._socket = Socket.open(wanted, self._timeout_s, self._ssl)
        except SOCKET_ERRORS as error:
            return lost_of(error)
        return None

    def _send(self, text: str) -> None:
        if self._socket is not None:
            with contextlib.suppress(*SOCKET_ERRORS):
                self._socket.send(text)

    def _receive(self, timeout_s: float) -> str | Lost | None:
        if self._socket is None:
            return Lost("closed")
        try:
            return self._socket.receive(timeout_s)
        except TimeoutError:
            return None
        except SOCKET_ERRORS as error:
            return lost_of(error)
