"""Ad-hoc queries, and documents of the engine's content. Neither blocks ingestion.

An ad-hoc query gets a short turn on the engine's thread, which is enough for most. One that takes longer starts again
beside the engine: a second turn copies the data that the query can read, and another thread evaluates it on the copy.
Current results and static graphs are copied in one turn and serialised beside. Turns are requested one at a time, so
that commands get in between many queries; few threads evaluate, so that they leave processors to the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from whorl.server import errors
from whorl.server.errors import engine_refusals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from whorl._engine import Copied
    from whorl.server.runtime.core import Core
    from whorl.server.runtime.runtime import Runtime
    from whorl.server.settings import Settings

T = TypeVar("T")

TURN_MS = 25
COPY_MS = 200
_THREADS = 2
_WAITING_MAX = 64


class Asking:
    """Read access to the engine; used on the event loop only."""

    def __init__(self, runtime: Runtime, settings: Settings) -> None:
        self._runtime = runtime
        self._answer_ms = 1000 * settings.question_seconds_max
        self._turns = asyncio.Semaphore(1)
        self._answering = asyncio.Semaphore(_THREADS)
        self._writing = asyncio.Semaphore(_THREADS)
        self._waiting = 0

    async def turn(self, read: Callable[[Core], T]) -> T:
        """Read the engine in a turn of its own; what it reads is durable."""
        async with self._turns:
            return await self._runtime.read(read)

    async def answer(self, copy: Callable[[Core], Copied], text: str) -> bytes:
        """Evaluate an ad-hoc query beside the engine."""
        async with self._place(self._answering):
            copied = await self.turn(copy)
            return await _beside(lambda: self._document(copied, text))

    async def document(self, copy: Callable[[Core], Copied]) -> bytes:
        """Serialise beside the engine what one turn copied."""
        async with self._place(self._writing):
            copied = await self.turn(copy)
            return await _beside(lambda: self._document(copied, None))

    def _document(self, copied: Copied, text: str | None) -> bytes:
        with engine_refusals(text):
            return copied.document(self._answer_ms)

    @contextlib.asynccontextmanager
    async def _place(self, places: asyncio.Semaphore) -> AsyncIterator[None]:
        if self._waiting >= _WAITING_MAX:
            raise errors.OverloadedError("too many ad-hoc queries are waiting", retry_after_s=5)
        self._waiting += 1
        try:
            await places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            places.release()


async def _beside(work: Callable[[], T]) -> T:
    """Run work on a thread that does not keep the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - the caller gets it
            _tell(loop, done, partial(done.set_exception, error))
        else:
            _tell(loop, done, partial(done.set_result, result))

    threading.Thread(target=run, name="whorl-asking", daemon=True).start()
    return await done


def _tell(loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], tell: Callable[[], None]) -> None:
    # The loop may have ended, or the caller may be gone.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(lambda: None if done.done() else tell())
