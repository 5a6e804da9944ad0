"""Subscriptions: a cursor, a credit, and a policy for slow readers.

`Subscription.take` returns the next messages: it decides what may be sent, never when. It knows no sockets and no
tasks; the sender calls `take` until it returns nothing, then waits to be woken.
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
class SubscriptionOptions:
    """The options of a subscription."""

    credit: int | None = None
    overflow: Overflow = "disconnect"
    after: str | None = None
    start: Start = "latest"
    snapshot: bool = False
    progress: bool = False


class MessageEncoder:
    """Encodes the messages of a subscription in the sub-protocol, under an id."""

    def __init__(self, subscription_id: str) -> None:
        self._id = subscription_id
        self._prefix = messages.next_prefix(subscription_id)

    def subscribed(self, ring: Ring, start_seq: int) -> str | None:
        """The subscription has started."""
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
        """There are no results up to this instant."""
        return messages.message("progress", self._id, {"watermark": watermark, "seq": seq})

    def error(self, problem: DomainError) -> str:
        """The subscription ends with a problem."""
        return messages.error(self._id, problem)

    def complete(self, reason: str | None) -> str | None:
        """The subscription ends."""
        return messages.message("complete", self._id, None if reason is None else {"reason": reason})


class PlainEncoder(MessageEncoder):
    """For clients without the sub-protocol: plain envelopes, and as few other frames as possible."""

    def __init__(self) -> None:
        super().__init__("")

    def subscribed(self, ring: Ring, start_seq: int) -> str | None:
        """Nothing: the first result follows."""
        del ring, start_seq
        return None

    def result(self, text: str) -> str:
        """The envelope."""
        return text

    def results(self, texts: list[str]) -> list[str]:
        """The envelopes."""
        return texts

    def gap(self, query: str, gap: Gap) -> str:
        """A gap is always reported."""
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

    def __init__(
        self, options: SubscriptionOptions, ring: Ring, encoder: MessageEncoder, on_news: Callable[[Subscription], None]
    ) -> None:
        self.cursor, gap = ring.cursor(options.after, options.start)
        self.options = options
        self.query = ring.query
        # None is unlimited credit.
        self.credit = options.credit
        self.acked_seq = 0
        self.is_over = False
        # A reader that has lost nothing needs no snapshot.
        self.needs_snapshot = options.snapshot and (options.after is None or gap is not None)
        self.problem: DomainError | None = None
        self._encoder = encoder
        self._on_news = on_news
        self._snapshot: tuple[int, str] | None = None
        self._sent_watermark = ring.watermark
        self._notes = deque(note for note in (encoder.subscribed(ring, self.cursor.next_seq),) if note is not None)
        if gap is not None:
            self._notes.append(encoder.gap(self.query, gap))
        self.cursor.attach(self)

    def wake(self) -> None:
        """The ring has something new."""
        self._on_news(self)

    def leave(self) -> None:
        """Stop reading."""
        self.is_over = True
        self.cursor.detach(self)

    def add_credit(self, n: int) -> None:
        """More results may be sent."""
        self.credit = None if self.credit is None else self.credit + n

    def give_snapshot(self, seq: int, text: str) -> None:
        """The current result, which covers all results up to `seq`; reading continues after it."""
        self.needs_snapshot = False
        self._snapshot = seq, text
        self.cursor.next_seq = seq + 1
        self.wake()

    def end(self, problem: DomainError) -> None:
        """End the subscription for a reason other than the query."""
        self._finish(self._encoder.error(problem))

    def last_seq(self) -> int:
        """The newest result sent to this reader."""
        return self.cursor.next_seq - 1

    def overdue_at(self, behind_s: float) -> float | None:
        """When this reader is disconnected unless it reads; None if nothing waits for it."""
        if self.is_over or self.needs_snapshot or self.options.overflow != "disconnect":
            return None
        since = self.cursor.behind_since()
        return None if since is None else since + behind_s

    def take(self, now: float, behind_s: float, bytes_max: int) -> list[str] | Close:
        """The next messages, at least one if there is any; or the end of the connection."""
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
        """Consecutive results of the ring: the hot path, without any other checks."""
        if self._notes or self.is_over or self.needs_snapshot or self._snapshot or self.options.overflow == "latest":
            return []
        texts = self.cursor.read_run(self.credit, bytes_max)
        if self.credit is not None:
            self.credit -= len(texts)
        return self._encoder.results(texts)

    def _take_result(self, now: float, behind_s: float) -> str | Close | None:
        if self._snapshot is not None:
            (_, text), self._snapshot = self._snapshot, None
            return self._result(text)
        if self.options.overflow == "disconnect" and self.cursor.has_fallen:
            return self.too_slow()
        found = self._skipped(now, behind_s) or self.cursor.read()
        if isinstance(found, Envelope):
            return self._result(found.text)
        return None if found is None else self._encoder.gap(self.query, found)

    def too_slow(self) -> Close:
        """Closes the connection of a reader that fell behind the ring; it can resume after the number in the reason."""
        return Close(SLOW_READER, f"slow reader, last seq {self.last_seq()}")

    def _skipped(self, now: float, behind_s: float) -> Gap | None:
        match self.options.overflow:
            case "latest":
                return self.cursor.skip_to_newest()
            case "drop-oldest":
                return self.cursor.skip_older_than(now - behind_s)
            case "disconnect":
                return None

    def _result(self, text: str) -> str:
        if self.credit is not None:
            self.credit -= 1
        return self._encoder.result(text)

    def _is_caught_up(self) -> bool:
        ring = self.cursor.ring
        return self._snapshot is None and ring.successor is None and self.cursor.next_seq >= ring.next_seq

    def _take_rest(self) -> str | None:
        ring = self.cursor.ring
        if self.options.progress and ring.watermark is not None and ring.watermark != self._sent_watermark:
            self._sent_watermark = ring.watermark
            return self._encoder.progress(ring.watermark, ring.next_seq - 1)
        if ring.state == "failed" and ring.problem is not None:
            self.problem = ring.problem
            self._finish(self._encoder.error(ring.problem))
        elif ring.state == "complete":
            self._finish(self._encoder.complete(ring.reason))
        return self._notes.popleft() if self._notes else None

    def _finish(self, note: str | None) -> None:
        if note is not None:
            self._notes.append(note)
        self.leave()

    @property
    def is_spent(self) -> bool:
        """Whether it has ended and the client has been notified."""
        return self.is_over and not self._notes
