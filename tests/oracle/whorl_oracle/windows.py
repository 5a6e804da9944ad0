"""The content of a window at an instant, straight from the table of the contract (SEMANTICS §2).

Nothing here knows when a query is evaluated; `run` does. Intervals are taken as pairs (first instant inside, first
instant behind), whatever ends the query writes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

from whorl_oracle.model import AllSoFar, Elements, Event, Now, Options, Past, Sliding, Step, Tick, Triple, Triples

if TYPE_CHECKING:
    from collections.abc import Sequence

# The occurrences in a window: (triple, number of the event it came with).
Content = tuple[tuple[Triple, int], ...]


class Reading(dict[str, Content]):
    """What is read at an instant: the content of each window, by window name; events by number."""

    def __init__(self, contents: dict[str, Content], at: int = 0, events: Sequence[Event] = ()) -> None:
        super().__init__(contents)
        self.at = at
        self.events = events


def occurrences(events: Sequence[Event]) -> Content:
    """Every triple of every event, in order."""
    return tuple((triple, event.number) for event in events for triple in event.triples)


class Timed:
    """The accepted events of one stream, by their time, and in the order in which they take part."""

    def __init__(self, tick: Tick) -> None:
        self.tick = tick
        self.by_time: list[tuple[int, int, Event]] = []
        self.by_turn: list[tuple[int, int, int, Event]] = []

    def add(self, event: Event) -> None:
        insort(self.by_time, (event.at, event.number, event))
        # Events that take part at one instant do so by their times; one by one with tick `tuple`.
        turn = event.at if self.tick is Tick.TIME else 0
        insort(self.by_turn, (event.arrived_at, turn, event.number, event))

    def between(self, first: int, end: int) -> list[Event]:
        """Events with `first ≤ t < end`."""
        low = bisect_left(self.by_time, (first,))
        return [event for _, _, event in self.by_time[low : bisect_left(self.by_time, (end,))]]

    def until(self, instant: int) -> list[Event]:
        """Those that have taken part by the instant, in turn."""
        return [one[3] for one in self.by_turn[: self.count(instant)]]

    def count(self, instant: int) -> int:
        return bisect_right(self.by_turn, (instant + 1,))

    def any_between(self, first: int, end: int) -> bool:
        return bisect_left(self.by_time, (first,)) < bisect_left(self.by_time, (end,))


def current(kind: object, events: Timed, at: int, options: Options) -> Content:
    """The content at `at` of a window as it stands, closed or not."""
    match kind:
        case Step() | Past():
            first, end = open_interval(kind, at, options)
            return occurrences(events.between(first, min(end, at + 1)))
        case Sliding(width):
            return occurrences(events.between(at - width + 1, at + 1))
        case Now():
            return occurrences(events.between(at, at + 1))
        case AllSoFar():
            return occurrences(events.until(at))
        case Elements(size, step):
            arrived = events.until(at)
            return occurrences(arrived[: len(arrived) // step * step][-size:])
        case Triples(size):
            return occurrences(events.until(at))[-size:]
    raise AssertionError(kind)


def open_interval(kind: Step | Past, at: int, options: Options) -> tuple[int, int]:
    """Of the windows that have not closed by `at`, the one that closes first."""
    return interval(kind, first_closing_after(kind, at, options), options)


def interval(kind: Step | Past, k: int, options: Options) -> tuple[int, int]:
    """The k-th window: `[open, close)`, or with `(open, close]` the same one millisecond later."""
    opened, closed = bounds(kind, k, options)
    shift = 1 if options.closed_right else 0
    return opened + shift, closed + shift


def bounds(kind: Step | Past, k: int, options: Options) -> tuple[int, int]:
    """Open and close of the k-th window, as they are reported."""
    opened = options.t0 + k * kind.slide
    if isinstance(kind, Past):
        return opened - kind.since, opened - kind.until
    return opened, opened + kind.width


def reported(kind: Step | Past, k: int, options: Options) -> int:
    """The instant the k-th window is reported for: its close; a window of the past looks back from it."""
    return options.t0 + k * kind.slide + (kind.width if isinstance(kind, Step) else 0)


def last_instant(kind: Step | Past, k: int, options: Options) -> int:
    """The last instant that the k-th window can take an event of; it closes when the watermark passes it."""
    return reported(kind, k, options) - (0 if options.closed_right else 1)


def first_closing_after(kind: Step | Past, instant: int, options: Options) -> int:
    """The smallest k whose window has not closed before `instant`."""
    behind = instant - last_instant(kind, 0, options)
    return max(-(-behind // kind.slide), first_index(kind, options))


def first_index(kind: Step | Past, options: Options) -> int:
    """No window opens before t0; with `partial`, no window ends at t0 or before."""
    opened, closed = bounds(kind, 0, options)
    if options.partial:
        return (options.t0 - closed) // kind.slide + 1
    return -((opened - options.t0) // kind.slide)
