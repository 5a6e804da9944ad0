"""The contents of windows for baselines without windows: the arrivals and expiries that an event or time causes.

Sliding windows by time and windows by count, over sets. A baseline evaluates its query at each `Change`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from whorl_oracle.model import AllSoFar, Elements, Now, Sliding, Triple, Triples, Window
from whorl_workloads.data import Event

from whorl_bench.case import AbsentError

# A triple in a window, by the name of the window.
Placed = tuple[str, Triple]


@dataclass
class Change:
    """The changes of one instant or one event."""

    at: int
    came: list[Placed] = field(default_factory=list)
    went: list[Placed] = field(default_factory=list)


class Contents:
    """The windows of a query, brought up to date event by event."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = [_View(window) for window in windows]

    def changes(self, event: Event) -> Iterator[Change]:
        """The instants before the event at which something expires, then the event itself."""
        while (due := min((view.due_at for view in self._windows), default=event.t)) < event.t:
            yield self._net(due, None)
        yield self._net(event.t, event)

    def _net(self, at: int, event: Event | None) -> Change:
        """Cancel triples that leave and return at one instant."""
        signed: Counter[Placed] = Counter()
        for view in self._windows:
            view.expire(at, signed)
            if event is not None and event.stream == view.window.stream:
                view.arrive(event, signed)
        came = [placed for placed, sign in signed.items() if sign > 0]
        return Change(at, came, [placed for placed, sign in signed.items() if sign < 0])


_NEVER = 2**62


class _View:
    """One window: its triples in order, each with the instant at which it leaves, and its number of copies."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._queue: deque[tuple[int, tuple[Triple, ...]]] = deque()
        self._copies: Counter[Triple] = Counter()
        self._most = window.kind.size if isinstance(window.kind, Triples | Elements) else None
        self._live = 0

    @property
    def due_at(self) -> int:
        """The instant at which the oldest triple leaves, if time decides."""
        return self._queue[0][0] if self._queue else _NEVER

    def expire(self, at: int, signed: Counter[Placed]) -> None:
        """The triples that have left by `at`."""
        while self.due_at <= at:
            self._drop(self._queue.popleft()[1], signed)

    def arrive(self, event: Event, signed: Counter[Placed]) -> None:
        """Add an event; in a count window the oldest triples leave."""
        each = [(triple,) for triple in event.triples] if isinstance(self.window.kind, Triples) else [event.triples]
        for triples in each:
            self._queue.append((self._leaves_at(event.t), triples))
            self._live += 1
            for triple in triples:
                self._copies[triple] += 1
                if self._copies[triple] == 1:
                    signed[self.window.name, triple] += 1
        while self._most is not None and self._live > self._most:
            self._drop(self._queue.popleft()[1], signed)

    def _drop(self, triples: Sequence[Triple], signed: Counter[Placed]) -> None:
        self._live -= 1
        for triple in triples:
            self._copies[triple] -= 1
            if not self._copies[triple]:
                del self._copies[triple]
                signed[self.window.name, triple] -= 1

    def _leaves_at(self, t: int) -> int:
        match self.window.kind:
            case Sliding(width):
                return t + width
            case Now():
                return t + 1
            case Triples() | Elements(step=1) | AllSoFar():
                return _NEVER
        raise AbsentError(f"the baseline has no windows of the kind {self.window.kind}")
