"""The clock: the only place where wall time becomes commands.

The clock advances streams in arrival time, so that their windows close without new events, and marks streams in event
time idle once they have been silent for their idle timeout. Once a second it reads the engine's counters and sends
subscribers the progress of their query.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING

from whorl.documents import shown_instant
from whorl.server.errors import DomainError
from whorl.server.runtime import commands as c
from whorl.server.runtime.runtime import Runtime, now_ms

if TYPE_CHECKING:
    from whorl.documents import EngineStats
    from whorl.server.runtime.core import Core

_log = logging.getLogger("whorl.runtime")
_STATS_EVERY_S = 1.0
_STAGES_EVERY_S = 60.0


class Clock:
    """A task beside the runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._task: asyncio.Task[None] | None = None
        # Stream → events so far, and when that number last changed.
        self._heard: dict[str, tuple[int, float]] = {}
        self._idle: set[str] = set()

    def start(self) -> None:
        """Begin to tick."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop ticking."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        stats_at = stages_at = 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._runtime.settings.tick_ms / 1000)
            # The server may be recovering or overloaded; the next tick makes up for this one.
            try:
                await self._tick()
                now = time.monotonic()
                if now - stats_at >= _STATS_EVERY_S:
                    stats_at = now
                    await self._read_numbers()
                if now - stages_at >= _STAGES_EVERY_S:
                    stages_at = now
                    await loop.run_in_executor(None, self._runtime.expire_stages)
            except DomainError:
                continue
            except Exception:  # noqa: BLE001 - logged
                # For example, the disk is full. The clock must go on, or every window would stay open.
                _log.exception("a clock tick failed")

    async def _tick(self) -> None:
        for iri, lateness_ms in await self._runtime.read(_arrival_streams):
            await self._runtime.execute(c.Advance(iri, now_ms() - lateness_ms, tick=True))

    async def _read_numbers(self) -> None:
        stats, timeouts, clocks = await self._runtime.read(_numbers)
        for name, watermark in clocks:
            self._runtime.rings.progress(name, watermark)
        await self._mark_silent(stats, timeouts)

    async def _mark_silent(self, stats: EngineStats, timeouts: dict[str, int]) -> None:
        now = time.monotonic()
        for stream in stats["streams"]:
            iri, events = stream["stream"], stream["events"]
            if self._heard.get(iri, (-1, 0.0))[0] != events:
                self._heard[iri] = (events, now)
                self._idle.discard(iri)
            silent_ms = (now - self._heard[iri][1]) * 1000
            if iri in timeouts and iri not in self._idle and silent_ms >= timeouts[iri]:
                self._idle.add(iri)
                await self._runtime.execute(c.MarkIdle(iri))


def _arrival_streams(core: Core) -> list[tuple[str, int]]:
    """Open streams in arrival time that a query reads, with their allowed lateness."""
    entries = [entry for entry in core.streams.values() if entry.options.time == "arrival" and not entry.closed]
    return [(entry.iri, entry.options.lateness_ms) for entry in entries if core.readers_of(entry.iri)]


def _numbers(core: Core) -> tuple[EngineStats, dict[str, int], list[tuple[str, int | None]]]:
    stats = core.engine.stats()
    timeouts = {
        entry.iri: entry.options.idle_timeout_ms
        for entry in core.streams.values()
        if entry.options.idle_timeout_ms is not None and not entry.closed
    }
    clock_of = {query["query"]: query["clock"] for query in stats["queries"]}
    numbers = [(entry.name, entry.number) for entry in core.queries.values()]
    clocks = [(name, shown_instant(clock_of.get(number))) for name, number in numbers if number is not None]
    return stats, timeouts, clocks
