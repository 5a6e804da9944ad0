"""The demo, played into a running server: through the same commands that requests become."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from typing import TYPE_CHECKING, Any, Protocol

from whorl.demo import BUILDING, LATENESS_MS, PEOPLE, SENSORS
from whorl.demo.queries import building, gallery
from whorl.demo.world import STEP_MS, Event, World
from whorl.server.errors import Problem
from whorl.server.runtime.commands import Command, DeclareStream, Push, Register, ReplaceGraph, StreamOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

_log = logging.getLogger("whorl.demo")


class Runtime(Protocol):
    """What takes commands."""

    async def run(self, command: Command, ack: str = "synced") -> Any:  # noqa: ANN401 - the reply of any command
        """Do it, and answer when it is done."""


async def play(
    runtime: Runtime,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Set the demo up and send its events by the clock, until cancelled.

    What is there from an earlier start stays: streams, queries and graph are the same. A problem with one of them (a
    stream of that name with other options, say) is logged, and the rest goes on.
    """
    await _set_up(runtime)
    start_ms = int(clock() * 1_000)
    for second, events in enumerate(World().events(start_ms)):
        due_s = (start_ms + second * STEP_MS) / 1_000
        await sleep(max(0.0, due_s - clock()))
        await _send(runtime, events)


async def _set_up(runtime: Runtime) -> None:
    options = StreamOptions(lateness_ms=LATENESS_MS)
    for stream in (SENSORS, PEOPLE):
        await _try(runtime, DeclareStream(stream, options))
    await _try(runtime, ReplaceGraph(BUILDING, building(), "turtle"))
    for query in gallery():
        await _try(runtime, Register(query.name, query.text, {}, secrets.token_hex(8)))


async def _send(runtime: Runtime, events: Iterable[Event]) -> None:
    """The events of one second: one body for each stream, in the order in which they are sent."""
    lines: dict[str, list[str]] = {}
    for event in events:
        lines.setdefault(event.stream, []).append(json.dumps({"t": event.t, "data": event.turtle}))
    for stream, body in lines.items():
        await _try(runtime, Push(stream, "\n".join(body).encode(), "ndjson"))


async def _try(runtime: Runtime, command: Command) -> None:
    try:
        await runtime.run(command)
    except Problem as problem:
        _log.warning("demo: %s refused: %s", command.kind, problem.detail)
