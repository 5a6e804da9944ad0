"""When a query is evaluated, over which contents, and what is reported.

Comes in: the actions on the streams, in order. Goes out: the answers. After each action the oracle looks at all
events again and lists the instants that have become due; cost is of no concern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from whorl_oracle.model import (
    Action,
    Advance,
    Close,
    Elements,
    Event,
    Now,
    Options,
    Past,
    Push,
    R2s,
    Sliding,
    Step,
    Tick,
    Window,
)
from whorl_oracle.windows import Content, Reading, current, edges, first_read_from, occurrences, read_at

# A solution: the values of the projected variables in order, None where unbound.
Row = tuple[str | None, ...]
# Solutions over what is read, at the instant that is reported.
Evaluate = Callable[[Reading], Sequence[Row]]

INFINITY = 2**62

# Evaluations of one instant, in order: arrivals tick before a window that is read at the same instant closes.
TICK, CLOSE = 0, 1


@dataclass(frozen=True)
class Answer:
    """One reported evaluation."""

    at: int
    # Of the windows that close: the last closed one, None before the first.
    windows: dict[str, tuple[int, int] | None]
    inserted: tuple[Row, ...] = ()
    deleted: tuple[Row, ...] = ()


@dataclass
class Oracle:
    """One query over its streams."""

    windows: Sequence[Window]
    options: Options
    evaluate: Evaluate
    answers: list[Answer] = field(default_factory=list)
    late: int = 0

    def __post_init__(self) -> None:
        self.events: list[Event] = []
        self.watermarks: dict[str, int | None] = {window.stream: None for window in self.windows}
        self.start: int | None = None
        self.due: int | None = None  # All instants before this one have been evaluated.
        self.closed: dict[str, tuple[int, Content]] = {}
        self.shown: dict[str, Content] = {}
        self.reported: Counter[Row] = Counter()
        self.ticked = -INFINITY
        self.explicit: list[int] = []

    # Actions.

    def act(self, action: Action) -> list[Answer]:
        """Apply one action; the answers it brings about."""
        before = len(self.answers)
        match action:
            case Push():
                if action.stream in self.watermarks:
                    self.push(action)
            case Advance(at, stream):
                self.advance(at, [stream] if stream is not None else list(self.watermarks))
            case Close():
                self.advance(INFINITY, list(self.watermarks))
        return self.answers[before:]

    def push(self, action: Push) -> None:
        stream, at = action.stream, action.at
        distinct = tuple(dict.fromkeys(action.triples))
        behind = self.due is not None and at < self.due
        if behind and not self.has_open_window(stream, at):
            self.late += 1
            return
        arrived_at = max(at, self.due) if self.due is not None else at
        event = Event(stream, at, distinct, len(self.events), arrived_at, action.graph)
        if self.options.tick is Tick.TUPLE:
            self.note_watermark(stream, at - self.options.lateness)
            self.push_tuple(event)
            return
        self.events.append(event)
        self.raise_watermark(stream, at - self.options.lateness)

    def advance(self, at: int, streams: Iterable[str]) -> None:
        if at < INFINITY:
            self.explicit.append(at)
        for stream in streams:
            if stream in self.watermarks:
                self.note_watermark(stream, at)
        if self.options.tick is Tick.TUPLE:
            self.follow_tuples()
        else:
            self.run_due()

    def follow_tuples(self) -> None:
        """Nothing before the slowest watermark will come: what expires at that instant itself may wait."""
        marks = [mark for mark in self.watermarks.values() if mark is not None]
        if len(marks) == len(self.watermarks):
            watermark = min(marks)
            self.expire_tuples(watermark if watermark >= INFINITY else watermark - 1)

    def note_watermark(self, stream: str, at: int) -> None:
        mark = self.watermarks[stream]
        self.watermarks[stream] = at if mark is None else max(mark, at)

    def raise_watermark(self, stream: str, at: int) -> None:
        self.note_watermark(stream, at)
        self.run_due()

    def has_open_window(self, stream: str, at: int) -> bool:
        """Whether some window of the query covers `at` and has not closed."""
        return any(self.takes(window, at) for window in self.windows if window.stream == stream)

    def takes(self, window: Window, at: int) -> bool:
        assert self.due is not None
        match window.kind:
            case Step() | Past() as kind:
                k = max(self.first(kind), first_read_from(kind, self.due, self.options))
                while edges(kind, k, self.options)[0] <= at:
                    if at < edges(kind, k, self.options)[1]:
                        return True
                    k += 1
                return False
            case Sliding(width):
                return self.due - width < at
            case Now():
                return at == self.due
        return True

    def first(self, kind: Step | Past) -> int:
        """The first window that reports: the first that has not closed when the query starts."""
        assert self.start is not None
        return first_read_from(kind, self.start, self.options)

    # Tick `time`: all events of one instant together, once the watermark has passed it.

    def run_due(self) -> None:
        marks = [mark for mark in self.watermarks.values() if mark is not None]
        if len(marks) < len(self.watermarks):
            return
        if self.start is None:
            # Time begins with the first event, or with what was said to be over before it.
            begin = min([event.at for event in self.events] + self.explicit, default=INFINITY)
            if begin >= INFINITY or min(marks) < begin:
                return
            self.start = self.due = begin
        assert self.due is not None
        watermark = min(marks)
        if watermark >= INFINITY:
            self.run_to_the_end()
        elif watermark > self.due:
            for instant, phase in self.instants(self.due, watermark - 1):
                self.step(instant, phase)
            self.due = watermark

    def run_to_the_end(self) -> None:
        """All that is pending, then on until nothing is left in a window that can become empty."""
        assert self.due is not None
        arrived_until = self.due - 1
        for instant, phase in self.instants(self.due, self.horizon(), at_end=True):
            if self.is_drained(arrived_until):
                break
            self.step(instant, phase)
            # A window may still close at the instant of a tick.
            arrived_until = instant
            self.due = instant + 1 if phase == CLOSE or not self.options.report.close else instant
        self.due = INFINITY

    def horizon(self) -> int:
        """An instant at which every window that can become empty has been empty for a while."""
        assert self.due is not None
        longest = max((span(window.kind) for window in self.windows), default=0)
        return (
            max([self.due] + [event.at for event in self.events])
            + 3 * longest
            + 3 * (self.options.report.periodic or 0)
        )

    def is_drained(self, arrived_until: int) -> bool:
        """No event is still to come into a window, to be read in one, or on show in one."""
        return not any(
            (can_empty(window) and self.shown.get(window.name))
            or any(self.is_awaited(window, event, arrived_until) for event in self.of(window))
            for window in self.windows
        )

    def is_awaited(self, window: Window, event: Event, arrived_until: int) -> bool:
        if isinstance(window.kind, Step | Past):
            return self.takes(window, event.at)
        return event.arrived_at > arrived_until

    def instants(self, low: int, high: int, *, at_end: bool = False) -> list[tuple[int, int]]:
        """The instants from low to high at which something can happen, in order."""
        report = self.options.report
        found: set[tuple[int, int]] = set()
        if report.close:
            found |= {(at, TICK) for at in self.arrivals(at_end=at_end) if low <= at <= high}
            found |= {(at, CLOSE) for at in self.closes(low, high)}
        elif report.change:
            found |= {(at, TICK) for at in self.changes(high) if low <= at <= high}
        elif report.periodic is not None:
            # The multiple t of the period is read like a window that closes at t.
            period, ahead = report.periodic, self.ahead()
            first = -(-(low + ahead) // period) * period
            found |= {(at - ahead, CLOSE) for at in range(first, high + ahead + 1, period)}
            found |= {(at, CLOSE) for at in self.closes(low, high)}
        return sorted(found)

    def ahead(self) -> int:
        """How far the instant a close is reported for lies ahead of the instant it is read at."""
        return 0 if self.options.closed_right else 1

    def arrivals(self, *, at_end: bool) -> set[int]:
        """Instants at which events arrive in windows that never close.

        An event behind the watermark waits for the next evaluation; at the end there is one for it.
        """
        return {
            event.arrived_at
            for window in self.windows
            if not isinstance(window.kind, Step | Past)
            for event in self.of(window)
            if at_end or event.at == event.arrived_at
        }

    def something_arrived(self, instant: int) -> bool:
        """Whether a window that never closes has more to show than at the last tick."""
        last, self.ticked = self.ticked, instant
        for window in self.windows:
            if isinstance(window.kind, Step | Past):
                continue
            step = window.kind.step if isinstance(window.kind, Elements) else 1
            arrived = [event.arrived_at for event in self.of(window) if self.takes_part(window, event)]
            before, now = (sum(1 for at in arrived if at <= until) // step for until in (last, instant))
            if now > before:
                return True
        return False

    def takes_part(self, window: Window, event: Event) -> bool:
        """An event behind the watermark may have come too late for this window, though not for another."""
        return not isinstance(window.kind, Now) or event.at == event.arrived_at

    def closes(self, low: int, high: int) -> set[int]:
        """Instants at which a window is read for the last time."""
        found: set[int] = set()
        for window in self.windows:
            if isinstance(window.kind, Step | Past):
                k = max(self.first(window.kind), first_read_from(window.kind, low, self.options))
                while (at := read_at(window.kind, k, self.options)) <= high:
                    found.add(at)
                    k += 1
        return found

    def changes(self, high: int) -> set[int]:
        """Instants at which the content of a window can change, by arrival or by expiry."""
        found = {event.arrived_at for event in self.events}
        for window in self.windows:
            match window.kind:
                case Sliding(width):
                    found |= {event.at + width for event in self.of(window)}
                case Now():
                    found |= {event.at + 1 for event in self.of(window)}
                case Past(since, until):
                    found |= {event.at + since + 1 for event in self.of(window)}
                    found |= {event.at + until + 1 for event in self.of(window)}
                case Step() as kind:
                    k = first_read_from(kind, min([high] + [event.at for event in self.of(window)]), self.options)
                    while (at := read_at(kind, k, self.options) + 1) <= high:
                        found.add(at)
                        k += 1
        return found

    def step(self, instant: int, phase: int) -> None:
        """One evaluation at one instant, reported if the report says so."""
        report = self.options.report
        reported_at = self.close_windows(instant) if phase == CLOSE else instant
        arrived = report.close and self.something_arrived(instant)
        if report.close and phase == TICK and not arrived:
            return
        if report.periodic is not None and not report.close and not report.change:
            reported_at = instant + self.ahead()
        contents = {window.name: self.content(window, instant) for window in self.windows}
        changed = self.differs(contents)
        self.shown = contents
        if report.change and not changed:
            return
        if report.periodic is not None and reported_at % report.periodic:
            return
        self.report(reported_at, contents)

    def close_windows(self, instant: int) -> int:
        """Remember what the windows read at this instant hold; the instant they report for."""
        reported_at = instant
        for window in self.windows:
            if not isinstance(window.kind, Step | Past):
                continue
            k = first_read_from(window.kind, instant, self.options)
            if k >= self.first(window.kind) and read_at(window.kind, k, self.options) == instant:
                first, end, reported_at = edges(window.kind, k, self.options)
                inside = [event for event in self.of(window) if first <= event.at < end]
                self.closed[window.name] = (k, occurrences(inside))
        return reported_at

    def content(self, window: Window, instant: int) -> Content:
        if not self.options.report.change and isinstance(window.kind, Step | Past):
            return self.closed.get(window.name, (0, ()))[1]
        return current(window.kind, self.of(window), instant, self.options)

    def of(self, window: Window) -> list[Event]:
        return [event for event in self.events if event.stream == window.stream]

    # Tick `tuple`: each event at once; what has expired by then first.

    def push_tuple(self, event: Event) -> None:
        self.expire_tuples(event.at)
        assert self.due is not None
        self.events.append(replace(event, arrived_at=self.due))
        self.step_tuple(self.due)

    def expire_tuples(self, clock: int) -> None:
        if self.due is None:
            if clock >= INFINITY:
                return
            self.start = self.due = clock
        elif clock >= INFINITY:
            clock = self.horizon()
        for instant in sorted(at for at in self.changes(clock) if self.due < at <= clock):
            self.step_tuple(instant)
        self.due = max(self.due, clock)

    def step_tuple(self, instant: int) -> None:
        contents = {window.name: self.content(window, instant) for window in self.windows}
        changed = self.differs(contents)
        self.shown = contents
        if changed:
            self.report(instant, contents)

    def differs(self, contents: dict[str, Content]) -> bool:
        """Whether the content is another one: in a set, a copy of a triple changes nothing."""
        if self.options.bag:
            return contents != (self.shown or dict.fromkeys(contents, ()))
        return any(
            {triple for triple, _ in content} != {triple for triple, _ in self.shown.get(name, ())}
            for name, content in contents.items()
        )

    # Relation to stream.

    def report(self, at: int, contents: dict[str, Content]) -> None:
        if self.options.report.nonempty and not any(contents.values()):
            return
        rows = Counter(self.evaluate(Reading(contents, at, self.events)))
        arrived, gone = rows - self.reported, self.reported - rows
        self.reported = rows
        inserted, deleted = {
            R2s.RSTREAM: (rows, Counter[Row]()),
            R2s.ISTREAM: (arrived, Counter[Row]()),
            R2s.DSTREAM: (Counter[Row](), gone),
            R2s.CHANGES: (arrived, gone),
        }[self.options.r2s]
        self.answers.append(Answer(at, self.bounds(), tuple(inserted.elements()), tuple(deleted.elements())))

    def bounds(self) -> dict[str, tuple[int, int] | None]:
        found: dict[str, tuple[int, int] | None] = {}
        for window in self.windows:
            if not self.options.report.change and isinstance(window.kind, Step | Past):
                found[window.name] = None
                if window.name in self.closed:
                    first, end, _ = edges(window.kind, self.closed[window.name][0], self.options)
                    shift = 1 if self.options.closed_right else 0
                    found[window.name] = (first - shift, end - shift)
        return found


def span(kind: object) -> int:
    """How long after an event a window can still change because of it, at most."""
    match kind:
        case Step(width, slide):
            return width + slide
        case Past(since, _, slide):
            return since + slide
        case Sliding(width):
            return width
    return 1


def can_empty(window: Window) -> bool:
    return isinstance(window.kind, Step | Past | Sliding | Now)


def run(windows: Sequence[Window], options: Options, actions: Iterable[Action], evaluate: Evaluate) -> list[Answer]:
    """All answers of a query to a sequence of actions."""
    oracle = Oracle(windows, options, evaluate)
    for action in actions:
        oracle.act(action)
    return oracle.answers
