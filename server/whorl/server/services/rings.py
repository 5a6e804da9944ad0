"""Rings: the newest results of each query, written once and read by each reader at its own cursor.

The runtime opens a ring when a query begins, publishes envelopes into it and closes it. Readers hold cursors; a cursor
costs the ring nothing, so a slow reader delays no other reader and keeps no result alive that the ring would drop.

    first_seq                        next_seq
       ▼                                ▼
    ───●────●────●────●────●────●────●──┄┄   bytes ≤ bytes_max; beyond it, the oldest are dropped
            ▲              ▲
          cursor         cursor

A cursor that points before `first_seq` has fallen off the ring; it reads a `Gap` that names the lost results. A query
that restarts or is replaced opens a new ring (an incarnation) as the successor of the old one: readers finish the old
ring, read a `Gap`, and continue in the new one. Everything here belongs to the event loop; there are no locks and no
polling: a ring wakes its readers once per batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from whorl.server import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl.server.errors import DomainError
    from whorl.server.settings import Settings

Start = Literal["earliest", "latest"]
GapReason = Literal["overflow", "expired", "restart", "replaced", "conflated"]
State = Literal["live", "complete", "failed"]

# The cost of an envelope beyond its text: objects and its entry in the ring.
_ENVELOPE_OVERHEAD_BYTES = 256


class Envelope(NamedTuple):
    """One result: JSON text that all readers share, and its position in the query."""

    seq: int
    token: str
    text: str
    bytes: int
    published_at: float


class Gap(NamedTuple):
    """Results that a reader does not get; `to_seq` is None if their number is unknown.

    If the query was replaced, `variables` are those of the results that follow.
    """

    from_seq: int
    to_seq: int | None
    reason: GapReason
    incarnation: str
    variables: list[str] | None = None

    def members(self) -> dict[str, Any]:
        """The gap as readers see it."""
        members = {
            "fromSeq": self.from_seq,
            "toSeq": self.to_seq,
            "reason": self.reason,
            "incarnation": self.incarnation,
        }
        return members if self.variables is None else {**members, "vars": self.variables}


class Reader(Protocol):
    """A reader that waits for a ring."""

    def wake(self) -> None:
        """There is something new: results, progress, or the end."""


@dataclass
class Kept:
    """The size limit of each ring, and the clock that measures slow readers."""

    bytes_max: int
    clock: Callable[[], float] = time.monotonic


class Ring:
    """The newest results of one incarnation of a query."""

    def __init__(self, query: str, incarnation: str, next_seq: int, facts: dict[str, Any], kept: Kept) -> None:
        self.query = query
        self.incarnation = incarnation
        self.facts = facts
        self.first_seq = next_seq
        self.next_seq = next_seq
        self.bytes = 0
        self.watermark: int | None = None
        self.state: State = "live"
        self.reason: str | None = None
        self.problem: DomainError | None = None
        # Whether the query has another text than the incarnation before.
        self.has_new_text = False
        self.successor: Ring | None = None
        self.readers: set[Reader] = set()
        self._kept = kept
        self._envelopes: dict[int, Envelope] = {}

    def token(self, seq: int) -> str:
        """The position just after a result, as clients store it."""
        return f"{self.incarnation}:{seq}"

    def get(self, seq: int) -> Envelope | None:
        """The envelope with this number, if it is still kept."""
        return self._envelopes.get(seq)

    def cursor(self, after: str | None = None, start: Start = "latest") -> tuple[Cursor, Gap | None]:
        """A cursor after a token, or at one end of the ring; and the results lost since the token."""
        if after is None:
            return self._cursor_at(self.first_seq if start == "earliest" else self.next_seq), None
        incarnation, seq = parse_token(after)
        if incarnation != self.incarnation:
            return self._cursor_at(self.first_seq), Gap(seq + 1, None, "restart", self.incarnation)
        if seq >= self.next_seq:
            detail = f"token '{after}' is ahead of query '{self.query}', which is at {self.next_seq - 1}"
            raise errors.InvalidResultTokenError(detail, hint="send a token exactly as an envelope had it")
        if seq + 1 < self.first_seq:
            return self._cursor_at(self.first_seq), Gap(seq + 1, self.first_seq - 1, "expired", self.incarnation)
        return self._cursor_at(seq + 1), None

    def publish(self, envelopes: Iterable[tuple[int, int, bytes]]) -> None:
        """Add results in order; those already present are skipped."""
        now = self._kept.clock()
        for seq, _, data in envelopes:
            if seq < self.next_seq:
                continue
            if seq > self.next_seq:
                self._skip_to(seq)
            self._add(Envelope(seq, self.token(seq), data.decode(), len(data) + _ENVELOPE_OVERHEAD_BYTES, now))
        self.wake_readers()

    def reopen(self, next_seq: int, facts: dict[str, Any]) -> None:
        """The same incarnation continues after a recovery."""
        self.facts = facts
        self.state, self.reason, self.problem = "live", None, None
        if next_seq > self.next_seq:
            self._skip_to(next_seq)

    def end(self, state: State, *, reason: str | None = None, problem: DomainError | None = None) -> None:
        """No more results will follow: readers finish the ring and learn why."""
        self.state, self.reason, self.problem = state, reason, problem
        self.wake_readers()

    def wake_readers(self) -> None:
        """Wake each waiting reader once."""
        for reader in tuple(self.readers):
            reader.wake()

    def _cursor_at(self, seq: int) -> Cursor:
        return Cursor(self, seq, self._kept.clock())

    def _add(self, envelope: Envelope) -> None:
        self._envelopes[envelope.seq] = envelope
        self.next_seq = envelope.seq + 1
        self.bytes += envelope.bytes
        self.trim()

    def trim(self) -> None:
        """Drop the oldest results beyond the limit."""
        # The newest stays, however large; otherwise no reader could ever get it.
        while self.bytes > self._kept.bytes_max and self.first_seq < self.next_seq - 1:
            self.bytes -= self._envelopes.pop(self.first_seq).bytes
            self.first_seq += 1

    def _skip_to(self, seq: int) -> None:
        # Sequence numbers are missing (the engine's own queue overflowed): earlier readers see one gap.
        self._envelopes.clear()
        self.bytes = 0
        self.first_seq = self.next_seq = seq


class Cursor:
    """The position of a reader: the number of the result it reads next."""

    __slots__ = ("attached_at", "next_seq", "ring")

    def __init__(self, ring: Ring, next_seq: int, attached_at: float) -> None:
        self.ring = ring
        self.next_seq = next_seq
        self.attached_at = attached_at

    @property
    def token(self) -> str:
        """The token at which a reader can resume."""
        return self.ring.token(self.next_seq - 1)

    def read(self) -> Envelope | Gap | None:
        """The next result, or the gap before it; None if there is nothing yet."""
        ring = self.ring
        envelope = ring.get(self.next_seq)
        if envelope is not None:
            self.next_seq += 1
            return envelope
        if self.next_seq < ring.first_seq:
            return self._jump(ring.first_seq, "overflow")
        if ring.successor is not None:
            return self._follow(ring.successor)
        return None

    def read_run(self, n_max: int | None, bytes_max: int) -> list[str]:
        """The texts of the results that follow, up to a number, an approximate size, and the next gap."""
        texts: list[str] = []
        get, seq = self.ring.get, self.next_seq
        end = self.ring.next_seq if n_max is None else min(self.ring.next_seq, seq + n_max)
        while seq < end and bytes_max > 0 and (envelope := get(seq)) is not None:
            texts.append(envelope.text)
            bytes_max -= envelope.bytes
            seq += 1
        self.next_seq = seq
        return texts

    def skip_to_newest(self) -> Gap | None:
        """Skip all but the newest result."""
        newest = self.ring.next_seq - 1
        return self._jump(newest, "conflated") if self.next_seq < newest else None

    def skip_older_than(self, instant: float) -> Gap | None:
        """Skip results that have waited for this reader since before an instant."""
        if self.attached_at >= instant:
            return None
        seq = max(self.next_seq, self.ring.first_seq)
        while (envelope := self.ring.get(seq)) is not None and envelope.published_at < instant:
            seq += 1
        return self._jump(seq, "overflow") if seq > self.next_seq else None

    @property
    def has_fallen(self) -> bool:
        """Whether the next result is no longer in the ring."""
        return self.next_seq < self.ring.first_seq

    def behind_since(self) -> float | None:
        """Since when the next result has been waiting for this reader; None when nothing waits."""
        if self.has_fallen:
            return self.attached_at
        envelope = self.ring.get(self.next_seq)
        return None if envelope is None else max(envelope.published_at, self.attached_at)

    def attach(self, reader: Reader) -> None:
        """Start to wake the reader."""
        self.ring.readers.add(reader)

    def detach(self, reader: Reader) -> None:
        """Stop waking the reader, in every incarnation."""
        ring: Ring | None = self.ring
        while ring is not None:
            ring.readers.discard(reader)
            ring = ring.successor

    def _jump(self, seq: int, reason: GapReason) -> Gap:
        gap = Gap(self.next_seq, seq - 1, reason, self.ring.incarnation)
        self.next_seq = seq
        return gap

    def _follow(self, successor: Ring) -> Gap:
        gap = Gap(self.next_seq, None, "restart", successor.incarnation)
        if successor.has_new_text:
            gap = gap._replace(reason="replaced", variables=successor.facts.get("variables", []))
        self.ring, self.next_seq = successor, successor.first_seq
        return gap


class Rings:
    """All rings of a server, and all connected readers."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_stopping = False
        self._settings = settings
        self._kept = Kept(settings.ring_bytes_max, clock)
        self._readers_max = settings.subscribers_max
        self._rings: dict[str, Ring] = {}
        self._paused: set[str] = set()
        self._connected: set[Reader] = set()
        self._emptied: asyncio.Future[None] | None = None

    # ---- for the runtime ----

    def open(
        self, query: str, incarnation: str, next_seq: int, facts: dict[str, Any], *, has_new_text: bool = False
    ) -> None:
        """A query starts or restarts, perhaps with another text."""
        self._paused.discard(query)
        old = self._rings.get(query)
        if old is not None and old.incarnation == incarnation:
            old.reopen(next_seq, facts)
            return
        ring = self._rings[query] = Ring(query, incarnation, next_seq, facts, self._kept)
        ring.has_new_text = has_new_text
        self._share()
        if old is not None:
            _hand_over(old, ring)

    def publish(self, query: str, envelopes: Sequence[tuple[int, int, bytes]]) -> None:
        """New results, in order."""
        if (ring := self._rings.get(query)) is not None:
            ring.publish(envelopes)

    def progress(self, query: str, watermark: int | None) -> None:
        """Time has advanced to here; all results up to here have been published."""
        ring = self._rings.get(query)
        if ring is None or watermark is None or ring.watermark == watermark:
            return
        ring.watermark = watermark
        ring.wake_readers()

    def fail(self, query: str, problem: DomainError) -> None:
        """The query has failed; its earlier results can still be read."""
        if (ring := self._rings.get(query)) is not None:
            ring.end("failed", problem=problem)

    def close(self, query: str, reason: str) -> None:
        """The query was deleted or paused."""
        (self._paused.add if reason == "paused" else self._paused.discard)(query)
        if (ring := self._rings.pop(query, None)) is not None:
            ring.end("complete", reason=reason)
            self._share()

    def _share(self) -> None:
        """All rings share a limit, too: when there are many, each keeps less."""
        share = self._settings.rings_bytes_max // max(1, len(self._rings))
        was, self._kept.bytes_max = self._kept.bytes_max, min(self._settings.ring_bytes_max, share)
        if self._kept.bytes_max < was:
            for ring in self._rings.values():
                ring.trim()

    # ---- for readers ----

    def ring(self, query: str) -> Ring:
        """The ring of a query."""
        ring = self._rings.get(query)
        if ring is not None:
            return ring
        if query in self._paused:
            raise errors.QueryNotRunningError(f"query '{query}' is paused", hint="restart it")
        raise errors.unknown_query(query, [*self._rings, *self._paused])

    def __iter__(self) -> Iterator[Ring]:
        """All rings, for metrics."""
        return iter(tuple(self._rings.values()))

    def subscribers(self) -> dict[str, int]:
        """The number of readers of each query."""
        return {name: len(ring.readers) for name, ring in self._rings.items()}

    @property
    def connected(self) -> int:
        """The number of connected readers."""
        return len(self._connected)

    def connect(self, reader: Reader) -> None:
        """Add a reader, to be woken when the server stops."""
        if self.is_stopping:
            raise errors.NotReadyError("the server is stopping", retry_after_s=1)
        if len(self._connected) >= self._readers_max:
            detail = f"the limit of {self._readers_max} subscribers is reached"
            raise errors.TooManySubscribersError(detail, retry_after_s=5)
        self._connected.add(reader)

    def disconnect(self, reader: Reader) -> None:
        """Remove a reader."""
        self._connected.discard(reader)
        if not self._connected and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    def stop(self) -> None:
        """Wake all readers, which then see `is_stopping` and leave."""
        self.is_stopping = True
        for reader in tuple(self._connected):
            reader.wake()

    async def stopped(self, timeout_s: float = 2.0) -> None:
        """Stop, and wait a limited time until all readers have left."""
        self.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._connected:
                    self._emptied = asyncio.get_running_loop().create_future()
                    await self._emptied


def parse_token(token: str) -> tuple[str, int]:
    """Incarnation and number of the result before a token."""
    incarnation, colon, seq = token.rpartition(":")
    if not (colon and incarnation and seq.isascii() and seq.isdigit() and len(seq) < 20):
        detail = f"'{token[:64]}' is not a result token"
        raise errors.InvalidResultTokenError(detail, hint="send a token exactly as an envelope had it")
    return incarnation, int(seq)


def _hand_over(old: Ring, successor: Ring) -> None:
    old.successor = successor
    successor.readers |= old.readers
    if old.state == "live":
        old.end("complete", reason="replaced" if successor.has_new_text else "restarted")
    old.wake_readers()
