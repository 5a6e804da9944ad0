"""Ingestion: bodies are stamped with what depends on the clock, then passed to the runtime.

The arrival time and the latest accepted event time are part of the command, so that a replay gives the same result.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whorl.server import errors
from whorl.server.runtime import commands as c
from whorl.server.runtime.runtime import now_ms
from whorl.server.services.refusals import Refusals

if TYPE_CHECKING:
    from whorl.server.errors import DomainError
    from whorl.server.runtime.runtime import Runtime
    from whorl.server.settings import Settings

_RATE_HORIZON_S = 10.0
_RETRY_S = 0.05
_ADDED = ("accepted", "late", "ahead", "duplicates")


@dataclass(frozen=True, slots=True)
class PushOptions:
    """Options of a push: the time of events that have none, atomicity, the producer, and when to acknowledge."""

    at: int | None = None
    atomic: bool = True
    producer: c.Producer | None = None
    ack: str | None = None


_DEFAULTS = PushOptions()


@dataclass(slots=True)
class _Rate:
    """A decaying count: at a steady rate r it holds r × horizon."""

    weight: float = 0.0
    at: float = 0.0

    def add(self, n: int, now: float) -> None:
        self.weight = self._faded(now) + n
        self.at = now

    def per_second(self, now: float) -> float:
        return self._faded(now) / _RATE_HORIZON_S

    def _faded(self, now: float) -> float:
        return self.weight * math.exp((self.at - now) / _RATE_HORIZON_S)


class Ingest:
    """Ingests bodies of events; used on the event loop only."""

    def __init__(self, runtime: Runtime, settings: Settings) -> None:
        self._runtime = runtime
        self._settings = settings
        self._rates: dict[str, _Rate] = {}
        self._refusals: dict[str, Refusals] = {}

    async def push(self, iri: str, body: bytes, form: str, options: PushOptions = _DEFAULTS) -> dict[str, Any]:
        """Ingest one body; events without a time get that of the call, or their arrival time if the stream uses it."""
        at = self._time_of_arrival(iri) if options.at is None else options.at
        command = c.Push(iri, body, form, at, self._latest(), options.atomic, options.producer)
        if command.size_bytes > self._settings.queue_bytes_max:
            limit = self._settings.queue_bytes_max
            raise errors.BodyTooLargeError(f"the body is larger than the command queue of {limit} bytes", limit=limit)
        return await self._counted(iri, command, options.ack or self._settings.ack)

    async def push_patiently(self, iri: str, body: bytes, form: str, options: PushOptions) -> dict[str, Any]:
        """The same for a streaming body: a full queue slows its sender down instead of refusing it."""
        while True:
            try:
                return await self.push(iri, body, form, options)
            except errors.OverloadedError:
                await asyncio.sleep(_RETRY_S)

    async def stage(self, iri: str, body: bytes, form: str) -> str:
        """Keep a body, invisibly, until a commit names the token that this returns."""
        return await self._runtime.stage(iri, body, form)

    async def commit(self, iri: str, producer: str, batch: int, tokens: tuple[str, ...], watermark: int | None) -> Any:  # noqa: ANN401 - the reply of a command
        """Turn staged bodies into events."""
        command = c.Commit(iri, producer, batch, tokens, watermark, latest=self._latest())
        return await self._counted(iri, command)

    def rate(self, iri: str) -> float:
        """Events per second of a stream, over the last few seconds."""
        found = self._rates.get(iri)
        return 0.0 if found is None else round(found.per_second(time.monotonic()), 2)

    def refusals(self, iri: str) -> Refusals:
        """Refused events of a stream since the server started."""
        return self._refusals.get(iri) or Refusals()

    def forget(self, iri: str) -> None:
        """Forget a deleted stream."""
        self._rates.pop(iri, None)
        self._refusals.pop(iri, None)

    async def _counted(self, iri: str, command: c.Push | c.Commit, ack: str = "synced") -> dict[str, Any]:
        try:
            reply: dict[str, Any] = await self._runtime.execute(command, ack)
        except errors.EngineRefusal as problem:
            # Only for a stream that exists, so that arbitrary names cannot fill the memory.
            if self._runtime.stream_options(iri) is not None:
                self._refusals.setdefault(iri, Refusals()).note_body(problem)
            raise
        self._rates.setdefault(iri, _Rate()).add(reply["accepted"], time.monotonic())
        if reply["ahead"] or reply.get("refused"):
            self._refusals.setdefault(iri, Refusals()).note_reply(reply)
        return reply

    def _time_of_arrival(self, iri: str) -> int | None:
        options = self._runtime.stream_options(iri)
        return now_ms() if options is not None and options.time == "arrival" else None

    def _latest(self) -> int:
        return now_ms() + 1000 * self._settings.max_ahead_s


class Tally:
    """The sum of the replies to the batches of one body, and the number of their lines."""

    def __init__(self) -> None:
        self.lines = 0
        self.sums: dict[str, Any] = dict.fromkeys(_ADDED, 0)

    def add(self, reply: dict[str, Any], batch: bytes) -> None:
        """Add the reply to one batch."""
        for name in _ADDED:
            self.sums[name] += reply[name]
        refused = [{**one, "line": self._line(one.get("line"))} for one in reply.get("refused", ())]
        if refused:
            self.sums.setdefault("refused", []).extend(refused)
        self.sums["offset"], self.sums["watermark"] = reply["offset"], reply["watermark"]
        if "warning" in reply:
            self.sums["warning"] = reply["warning"]
        self.lines += batch.count(b"\n")

    def locate(self, problem: DomainError) -> None:
        """Give a problem in the next batch its line in the whole body, and the totals before it."""
        problem.members["line"] = self._line(problem.members.get("line"))
        if self.lines:
            problem.members["taken"] = self.sums

    def _line(self, line: int | None) -> int | None:
        return None if line is None else line + self.lines
