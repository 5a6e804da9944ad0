"""The content of a window at an instant, straight from the formulas.

Every function takes all events accepted so far and looks at each of them; nothing is kept between calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl_oracle.model import (
    AllSoFar,
    Elements,
    Event,
    Now,
    Options,
    Past,
    Sliding,
    Step,
    Tick,
    Triple,
    Triples,
)

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


def occurrences(events: list[Event]) -> Content:
    """Every triple of every event, in order."""
    return tuple((triple, event.number) for event in events for triple in event.triples)


def between(events: list[Event], first: int, end: int) -> Content:
    """Events with `first ≤ t < end`."""
    return occurrences([event for event in events if first <= event.at < end])


def by_arrival(events: list[Event], options: Options) -> list[Event]:
    """In the order in which they take part: those that are read together by their times."""
    if options.tick is Tick.TUPLE:
        return sorted(events, key=lambda event: event.number)
    return sorted(events, key=lambda event: (event.arrived_at, event.at, event.number))


def current(kind: object, events: list[Event], at: int, options: Options) -> Content:
    """The content at `at` of a window as it stands, closed or not. `events` are those of its stream."""
    seen = [event for event in events if event.at <= at]
    match kind:
        case Step():
            first, _, _ = edges(kind, first_read_from(kind, at, options), options)
            return between(seen, first, at + 1)
        case Past(since, until):
            return between(seen, at - since, at - until)
        case Sliding(width):
            return between(seen, at - width + 1, at + 1)
        case Now():
            return between(seen, at, at + 1)
        case AllSoFar():
            return occurrences(by_arrival(seen, options))
        case Elements(size, step):
            arrived = by_arrival(seen, options)
            return occurrences(arrived[: len(arrived) // step * step][-size:])
        case Triples(size):
            return occurrences(by_arrival(seen, options))[-size:]
    raise AssertionError(kind)


def edges(kind: Step | Past, k: int, options: Options) -> tuple[int, int, int]:
    """Of the k-th window: first instant inside, first instant behind it, and the instant it is reported for.

    With `(open, close]` the same numbers bound a window one millisecond later.
    """
    shift = 1 if options.closed_right else 0
    if isinstance(kind, Past):
        at = options.t0 + k * kind.slide
        return at - kind.since + shift, at - kind.until + shift, at
    opens = options.t0 + k * kind.slide
    return opens + shift, opens + kind.width + shift, opens + kind.width


def read_at(kind: Step | Past, k: int, options: Options) -> int:
    """The instant at which the k-th window is read: the last one before it closes."""
    return edges(kind, k, options)[2] - (0 if options.closed_right else 1)


def first_read_from(kind: Step | Past, instant: int, options: Options) -> int:
    """The smallest k whose window is read at `instant` or later: from t0 on, or over it when partial."""
    # read_at(k) = read_at(0) + k·slide; the division rounds up.
    k = -((read_at(kind, 0, options) - instant) // kind.slide)
    return max(k, first_index(kind, options))


def first_index(kind: Step | Past, options: Options) -> int:
    """The first window that opens at t0 or later; when partial, the first that closes after t0."""
    width = kind.width if isinstance(kind, Step) else kind.since - kind.until
    delay = 0 if isinstance(kind, Step) else kind.until
    # The k-th window opens at t0 + k·slide (− width − delay if it looks back), and lasts for `width`.
    looks_back = 0 if isinstance(kind, Step) else width + delay
    if options.partial:
        return (looks_back - width) // kind.slide + 1
    return -(-looks_back // kind.slide)
