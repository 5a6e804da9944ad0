"""Subscriptions: a cursor, a credit, and a rule for readers that are slow.

`Subscription.take` gives the next things to say: it decides what may be sent, never when. It knows no sockets and no
tasks; whoever sends calls `take` until it gives nothing, then waits to be woken.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whorl.server import problems
from whorl.server.services import messages
from whorl.server.services.rings import Envelope, Gap, Ring, Start

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.server.errors import DomainError

Overflow = Literal["disconnect", "drop-oldest", "latest"]
SLOW_READER = 1013


@dataclass(frozen=True, slots=True)
class Close:
    """How a connection ends."""

    code: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a subscriber asked for."""

    credit: int | None = None
    overflow: Overflow = "disconnect"
    after: str | None = None
    start: Start = "latest"
    snapshot: bool = False
    progress: bool = False


class Voice:
    """How a subscription speaks: in the messages of the sub-protocol, under an id."""

    def __init__(self, subscription_id: str) -> None:
        self._id = subscription_id
        self._prefix = messages.next_prefix(subscription_id)

    def subscribed(self, ring: Ring, start_seq: int) -> str | None:
        """The subscription stands."""
        payload = {
            "query": ring.query,
            "incarnation": ring.incarnation,
            "vars": ring.facts.get("variables", []),
            "startSeq": start_seq,
        }
        return messages.message("subscribed", self._id, payload)

    def result(self, text: str) -> str:
        """A result, in the envelope that all readers share."""
        return f"{self._prefix}{text}}}"

    def results(self, texts: list[str]) -> list[str]:
        """Many results."""
        prefix = self._prefix
        return [f"{prefix}{text}}}" for text in texts]

    def gap(self, query: str, gap: Gap) -> str:
        """Results that this reader does not get."""
        del query
        return messages.message("gap", self._id, gap.members())

    def progress(self, watermark: int, seq: int) -> str:
        """Nothing happened up to here."""
        return messages.message("progress", self._id, {"watermark": watermark, "seq": seq})

    def error(self, problem: DomainError) -> str:
        """The subscription ends with a problem."""
        return messages.error(self._id, problem)

    def complete(self, reason: str | None) -> str | None:
        """The subscription ends."""
        return messages.message("complete", self._id, None if reason is None else {"reason": reason})


class PlainVoice(Voice):
    """For clients without the sub-protocol: envelopes as they are, and as few other frames as can be."""

    def __init__(self) -> None:
        super().__init__("")

    def subscribed(self, ring: Ring, start_seq: int) -> str | None:
        """Nothing: results speak for themselves."""
        del ring, start_seq
        return None

    def result(self, text: str) -> str:
        """The envelope."""
        return text

    def results(self, texts: list[str]) -> list[str]:
        """The envelopes."""
        return texts

    def gap(self, query: str, gap: Gap) -> str:
        """A loss is always said."""
        return messages.compact({"query": query, "type": "gap", **gap.members()})

    def error(self, problem: DomainError) -> str:
        """The last frame of a query that failed."""
        return messages.compact({"type": "error", "problem": problems.document(problem)})

    def complete(self, reason: str | None) -> str | None:
        """Nothing: the connection closes."""
        del reason
        return None


class Subscription:
    """One reader of one query."""

    def __init__(self, wish: Wish, ring: Ring, voice: Voice, on_news: Callable[[Subscription], None]) -> None:
        self.cursor, gap = ring.cursor(wish.after, wish.start)
        self.wish = wish
        self.query = ring.query
        # None is credit without end.
        self.credit = wish.credit
        self.acked_seq = 0
        self.is_over = False
        # A reader that has lost nothing needs no snapshot.
        self.needs_snapshot = wish.snapshot and (wish.after is None or gap is not None)
        self.problem: DomainError | None = None
        self._voice = voice
        self._on_news = on_news
        self._snapshot: tuple[int, str] | None = None
        self._told_watermark = ring.watermark
        self._notes = deque(note for note in (voice.subscribed(ring, self.cursor.next_seq),) if note is not None)
        if gap is not None:
            self._notes.append(voice.gap(self.query, gap))
        self.cursor.attach(self)

    def wake(self) -> None:
        """The ring has news."""
        self._on_news(self)

    def leave(self) -> None:
        """Nothing more is read."""
        self.is_over = True
        self.cursor.detach(self)

    def add_credit(self, n: int) -> None:
        """More results may be sent."""
        self.credit = None if self.credit is None else self.credit + n

    def give_snapshot(self, seq: int, text: str) -> None:
        """The current answer, which holds all results up to `seq`; reading goes on after it."""
        self.needs_snapshot = False
        self._snapshot = seq, text
        self.cursor.next_seq = seq + 1
        self.wake()

    def end(self, problem: DomainError) -> None:
        """Something else than the query ended the subscription."""
        self._finish(self._voice.error(problem))

    def last_seq(self) -> int:
        """The newest result that this reader was given."""
        return self.cursor.next_seq - 1

    def overdue_at(self, behind_s: float) -> float | None:
        """When this reader is let go unless it reads; None while it owes nothing."""
        if self.is_over or self.needs_snapshot or self.wish.overflow != "disconnect":
            return None
        since = self.cursor.behind_since()
        return None if since is None else since + behind_s

    def take(self, now: float, behind_s: float, bytes_max: int) -> list[str] | Close:
        """The next messages, at least one if there is any; or the end of the whole connection."""
        first = self._take_one(now, behind_s)
        if isinstance(first, str):
            return [first, *self._take_run(bytes_max - len(first))]
        return [] if first is None else first

    def _take_one(self, now: float, behind_s: float) -> str | Close | None:
        if self._notes:
            return self._notes.popleft()
        if self.is_over or self.needs_snapshot:
            return None
        if self.credit != 0:
            said = self._take_result(now, behind_s)
            if said is not None:
                return said
        return self._take_rest() if self._is_caught_up() else None

    def _take_run(self, bytes_max: int) -> list[str]:
        """Results that follow each other in the ring: the hot path, for which nothing else has to be asked."""
        if self._notes or self.is_over or self.needs_snapshot or self._snapshot or self.wish.overflow == "latest":
            return []
        texts = self.cursor.read_run(self.credit, bytes_max)
        if self.credit is not None:
            self.credit -= len(texts)
        return self._voice.results(texts)

    def _take_result(self, now: float, behind_s: float) -> str | Close | None:
        if self._snapshot is not None:
            (_, text), self._snapshot = self._snapshot, None
            return self._result(text)
        if self.wish.overflow == "disconnect" and self.cursor.has_fallen:
            return self.too_slow()
        found = self._skipped(now, behind_s) or self.cursor.read()
        if isinstance(found, Envelope):
            return self._result(found.text)
        return None if found is None else self._voice.gap(self.query, found)

    def too_slow(self) -> Close:
        """The end of a reader that fell off the ring; it can resume after the number it is told."""
        return Close(SLOW_READER, f"slow reader, last seq {self.last_seq()}")

    def _skipped(self, now: float, behind_s: float) -> Gap | None:
        match self.wish.overflow:
            case "latest":
                return self.cursor.skip_to_newest()
            case "drop-oldest":
                return self.cursor.skip_older_than(now - behind_s)
            case "disconnect":
                return None

    def _result(self, text: str) -> str:
        if self.credit is not None:
            self.credit -= 1
        return self._voice.result(text)

    def _is_caught_up(self) -> bool:
        ring = self.cursor.ring
        return self._snapshot is None and ring.successor is None and self.cursor.next_seq >= ring.next_seq

    def _take_rest(self) -> str | None:
        ring = self.cursor.ring
        if self.wish.progress and ring.watermark is not None and ring.watermark != self._told_watermark:
            self._told_watermark = ring.watermark
            return self._voice.progress(ring.watermark, ring.next_seq - 1)
        if ring.state == "failed" and ring.problem is not None:
            self.problem = ring.problem
            self._finish(self._voice.error(ring.problem))
        elif ring.state == "complete":
            self._finish(self._voice.complete(ring.reason))
        return self._notes.popleft() if self._notes else None

    def _finish(self, note: str | None) -> None:
        if note is not None:
            self._notes.append(note)
        self.leave()

    @property
    def is_spent(self) -> bool:
        """Whether it has ended and said so."""
        return self.is_over and not self._notes
