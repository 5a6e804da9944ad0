"""When a query is evaluated, over which contents, and what is reported: SEMANTICS §1–3, and nothing else.

Comes in: the actions on the streams, in order. Goes out: the answers. Where the contract is silent, the words of
docs/semantics.md decide; each such place says which.

An instant t is evaluated once the watermark has passed it: then all events of t are known. The window `[o, c)` closes
when the watermark reaches c, which is when the instant c − 1 has been passed; `(o, c]` closes when c has been passed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from whorl_oracle.model import (
    Action,
    Advance,
    Close,
    Elements,
    Event,
    Kind,
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
from whorl_oracle.windows import (
    Content,
    Reading,
    Timed,
    bounds,
    current,
    first_closing_after,
    first_index,
    interval,
    last_instant,
    occurrences,
    reported,
)

# A solution: the values of the projected variables in order, None where unbound.
Row = tuple[str | None, ...]
# Solutions over what is read, at the instant that is reported.
Evaluate = Callable[[Reading], Iterable[Row]]

INFINITY = 2**62

# What happens at one instant, in order: arrivals (or changes) are read, then windows close. A period ends before the
# windows `[o, c)` close that close right after the instant, and after the windows `(o, c]` that close with it.
TICK, PERIOD, CLOSE, PERIOD_BEHIND = 0, 1, 2, 3


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
    """One query over its streams. `marks` are the watermarks of its streams when it is registered."""

    windows: Sequence[Window]
    options: Options
    evaluate: Evaluate
    marks: Mapping[str, int | None] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    late: int = 0

    def __post_init__(self) -> None:
        self.events: list[Event] = []
        self.of = {window.stream: Timed(self.options.tick) for window in self.windows}
        self.watermarks = {stream: self.marks.get(stream) for stream in self.of}
        # All instants before this one have been evaluated. A query that is registered late starts at the watermark.
        self.due: int | None = self.watermark()
        self.explicit: list[int] = []
        # Instants at which something may change, by arrival or by expiry, that are still to be evaluated.
        self.pending: list[int] = []
        self.waiting: list[int] = []
        self.closed: dict[str, tuple[int, Content]] = {}
        self.shown: dict[str, Content] = {}
        self.evaluated: dict[str, object] = {}
        self.changed = False
        self.answer: Counter[Row] = Counter()
        self.counted: dict[str, int] = {}

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

    def watermark(self) -> int | None:
        """That of the slowest stream; None while one has none."""
        marks = list(self.watermarks.values())
        return None if None in marks else min(mark for mark in marks if mark is not None)

    def push(self, action: Push) -> None:
        passed = self.due if self.options.tick is Tick.TUPLE else self.watermark()
        if self.is_behind(action) and not self.has_open_window(action.stream, action.at, passed):
            self.late += 1
            return
        if self.options.tick is Tick.TUPLE:
            self.note_watermark(action.stream, action.at - self.options.lateness)
            self.push_tuple(action)
        else:
            self.accept(action, action.at if passed is None else max(action.at, passed))
            self.note_watermark(action.stream, action.at - self.options.lateness)
            self.run_due()

    def accept(self, action: Push, takes_part_at: int) -> None:
        distinct = tuple(dict.fromkeys(action.triples))
        event = Event(action.stream, action.at, distinct, len(self.events), takes_part_at, action.graph)
        self.events.append(event)
        self.of[event.stream].add(event)
        for instant in self.instants_of(event):
            heapq.heappush(self.pending, instant)

    def advance(self, at: int, streams: Iterable[str]) -> None:
        # The time of a stream that the query does not read is none of its business: it begins nothing.
        own = [stream for stream in streams if stream in self.watermarks]
        if not own:
            return
        if at < INFINITY:
            self.explicit.append(at)
        for stream in own:
            self.note_watermark(stream, at)
        if self.options.tick is Tick.TUPLE:
            self.expire_tuples()
        else:
            self.run_due()

    def note_watermark(self, stream: str, at: int) -> None:
        mark = self.watermarks[stream]
        self.watermarks[stream] = at if mark is None else max(mark, at)

    # Late or not.

    def is_behind(self, action: Push) -> bool:
        """Behind the watermark of its stream; with tick `tuple`, also behind what has been read already."""
        mark = self.watermarks[action.stream]
        if self.options.tick is Tick.TUPLE and self.due is not None:
            return action.at < self.due
        return mark is not None and action.at < mark

    def has_open_window(self, stream: str, at: int, passed: int | None) -> bool:
        """Whether some window of the query covers `at` and has not closed when all before `passed` is known."""
        before = -INFINITY if passed is None else passed
        return any(self.takes(window.kind, at, before) for window in self.windows if window.stream == stream)

    def takes(self, kind: Kind, at: int, passed: int) -> bool:
        match kind:
            case Step() | Past():
                k = first_closing_after(kind, max(passed, at), self.options)
                first, end = interval(kind, k, self.options)
                while first <= at:
                    if at < end:
                        return True
                    k += 1
                    first, end = interval(kind, k, self.options)
                return False
            case Sliding(width):
                return passed - width < at
            case Now():
                return at >= passed
        return True

    # Instants at which something can happen.

    def instants_of(self, event: Event) -> set[int]:
        """When the event may change what windows hold: as it takes part, and as it leaves.

        What comes behind the watermark is seen at the next evaluation (SEMANTICS §1): it makes none. Nor does what
        comes into windows that show what has closed and nothing else: their closes do.
        """
        found = set[int]()
        if all(self.shows_closed(window) for window in self.windows if window.stream == event.stream):
            return found
        if event.at == event.arrived_at or self.options.tick is Tick.TUPLE:
            found.add(event.arrived_at)
        else:
            self.waiting.append(event.arrived_at)
        for window in self.windows:
            if window.stream == event.stream and self.options.report.change:
                found |= {instant for instant in self.leaves(window.kind, event.at) if instant > event.arrived_at}
        return found

    def leaves(self, kind: Kind, at: int) -> tuple[int, ...]:
        """The instant at which an event of `at` leaves what the window holds as it stands."""
        match kind:
            case Sliding(width):
                return (at + width,)
            case Now():
                return (at + 1,)
            case Step() | Past():
                # The first window that opens behind it is the one that counts when the one before has closed.
                k = (at - interval(kind, 0, self.options)[0]) // kind.slide + 1
                if k > first_index(kind, self.options):
                    return (last_instant(kind, k - 1, self.options) + 1,)
        return ()

    def steps(self, low: int, high: int) -> list[tuple[int, int]]:
        """What is to be done from low to high, in order."""
        report, found = self.options.report, set[tuple[int, int]]()
        arrived = set[int]()
        while self.pending and self.pending[0] <= high:
            arrived.add(heapq.heappop(self.pending))
        if report.close or not report.change:
            found |= {(at, CLOSE) for at in self.closes(low, high)}
        if report.close or (report.change and report.periodic is None):
            found |= {(at, TICK) for at in arrived if at >= low}
        elif report.periodic is not None:
            found |= self.periods(report.periodic, low, high)
        return sorted(found)

    def periods(self, period: int, low: int, high: int) -> set[tuple[int, int]]:
        """The multiples of the period: read with the events of the instant.

        Where all windows step there are none to wait for: what has closed by then is known with the instant before.
        """
        ahead = 1 if self.steps_only() and not self.options.closed_right else 0
        phase = PERIOD_BEHIND if ahead or self.options.closed_right else PERIOD
        first = -(-(low + ahead) // period) * period
        return {(at - ahead, phase) for at in range(first, high + ahead + 1, period)}

    def steps_only(self) -> bool:
        return all(isinstance(window.kind, Step | Past) for window in self.windows)

    def closes(self, low: int, high: int) -> set[int]:
        """The last instants of windows that close."""
        found: set[int] = set()
        for window in self.windows:
            if isinstance(window.kind, Step | Past):
                k = first_closing_after(window.kind, low, self.options)
                last = last_instant(window.kind, k, self.options)
                found |= set(range(last, high + 1, window.kind.slide))
        return found

    # Tick `time`: all events of one instant together, once the watermark has passed it.

    def run_due(self) -> None:
        watermark = self.watermark()
        if watermark is None or not self.has_begun(watermark):
            return
        assert self.due is not None
        if watermark >= INFINITY:
            self.run_to_the_end()
        elif watermark > self.due:
            for instant, phase in self.steps(self.due, watermark - 1):
                self.step(instant, phase)
            self.due = watermark

    def has_begun(self, watermark: int) -> bool:
        """Time begins with the first event, or with what was said to be over before it (docs/semantics.md)."""
        if self.due is None:
            begin = min([event.arrived_at for event in self.events] + self.explicit, default=INFINITY)
            if begin < INFINITY and begin <= watermark:
                self.due = begin
        return self.due is not None

    def run_to_the_end(self) -> None:
        """All that is pending, then on until the windows are empty and have been reported so (docs/semantics.md)."""
        assert self.due is not None
        self.pending = sorted(self.pending + self.waiting)
        for instant, phase in self.steps(self.due, self.horizon()):
            if self.is_drained(instant, phase):
                break
            self.step(instant, phase)
        self.due = INFINITY

    def horizon(self) -> int:
        """An instant at which every window that can become empty has been empty for a while."""
        assert self.due is not None
        longest = max(map(span, (window.kind for window in self.windows)))
        last = max([self.due] + [event.at for event in self.events[-64:]] + [event.at for event in self.awaited()])
        return last + 3 * longest + 3 * (self.options.report.periodic or 0)

    def awaited(self) -> list[Event]:
        assert self.due is not None
        return [event for event in self.events if event.at >= self.due or event.arrived_at >= self.due]

    def is_drained(self, instant: int, phase: int) -> bool:
        """No event is still to come into a window, to be read in one, or on show in one."""
        return not any(self.is_busy(window, instant, phase) for window in self.windows)

    def is_busy(self, window: Window, instant: int, phase: int) -> bool:
        events = self.of[window.stream]
        if isinstance(window.kind, Step | Past):
            # A window that closes now counts as one that has not.
            k = first_closing_after(window.kind, instant, self.options)
            first = interval(window.kind, k, self.options)[0]
            return bool(self.shown.get(window.name)) or any(
                self.takes(window.kind, event.at, instant) for event in events.between(first, INFINITY)
            )
        seen = instant if phase > TICK else instant - 1
        can_empty = isinstance(window.kind, Sliding | Now)
        return (can_empty and bool(self.shown.get(window.name))) or events.count(seen) < len(events.by_turn)

    def step(self, instant: int, phase: int) -> None:
        """One evaluation at one instant, reported if the report says so."""
        report = self.options.report
        at = self.close_windows(instant) if phase == CLOSE else instant
        if phase == CLOSE and not report.close:
            return
        if phase == PERIOD_BEHIND and not self.options.closed_right:
            at = instant + 1
        if report.close and phase == TICK and not self.something_arrived(instant):
            return
        self.read(at, instant, closed_before=instant + (phase >= CLOSE))

    def something_arrived(self, instant: int) -> bool:
        """Whether a window that never closes has more to show than at its last report (docs/semantics.md)."""
        moved = False
        for window in self.windows:
            events = self.of[window.stream]
            if isinstance(window.kind, Now):
                moved = moved or events.any_between(instant, instant + 1)
            elif not isinstance(window.kind, Step | Past):
                step = window.kind.step if isinstance(window.kind, Elements) else 1
                count = events.count(instant) // step
                moved = moved or count > self.counted.get(window.name, 0)
                self.counted[window.name] = count
        return moved

    def close_windows(self, instant: int) -> int:
        """Remember what the windows that close after this instant hold; the instant they report for."""
        at = instant
        for window in self.windows:
            if not isinstance(window.kind, Step | Past):
                continue
            k = first_closing_after(window.kind, instant, self.options)
            if last_instant(window.kind, k, self.options) == instant:
                at = reported(window.kind, k, self.options)
                inside = self.of[window.stream].between(*interval(window.kind, k, self.options))
                self.closed[window.name] = (k, occurrences(inside))
        return at

    def content(self, window: Window, instant: int) -> Content:
        if self.shows_closed(window):
            return self.closed.get(window.name, (0, ()))[1]
        return current(window.kind, self.of[window.stream], instant, self.options)

    def shows_closed(self, window: Window) -> bool:
        report = self.options.report
        return isinstance(window.kind, Step | Past) and (report.close or not report.change)

    # Tick `tuple`: each event as it comes, in one reading with what expires at that instant.

    def push_tuple(self, action: Push) -> None:
        if self.due is None:
            self.due = action.at
        for instant, phase in self.steps(self.due, action.at - 1):
            self.step(instant, phase)
        self.due = max(self.due, action.at)
        if not self.has_open_window(action.stream, action.at, self.due):
            return  # In no window, it is no reading.
        self.accept(action, self.due)
        self.steps(self.due, self.due)
        self.read(self.due, self.due, closed_before=self.due)

    def expire_tuples(self) -> None:
        """Nothing before the slowest watermark will come: what expires at that instant itself may wait."""
        watermark = self.watermark()
        if watermark is None:
            return
        if self.due is None:
            if not self.explicit:
                return
            self.due = min(self.explicit) - 1
        until = self.horizon() if watermark >= INFINITY else watermark - 1
        for instant, phase in self.steps(self.due, until):
            self.step(instant, phase)
        # What still comes behind the watermark is read at the last instant that has passed.
        self.due = max(self.due, until)

    # Reports.

    def read(self, at: int, instant: int, closed_before: int) -> None:
        """Read all windows at one instant; an evaluation is a reading that meets every condition of the report."""
        contents = {window.name: self.content(window, instant) for window in self.windows}
        self.shown = contents
        report = self.options.report
        if report.change:
            # A change that another condition keeps from being reported is remembered (docs/semantics.md).
            these = {name: self.essence(content) for name, content in contents.items()}
            self.changed |= these != (self.evaluated or dict.fromkeys(these, self.essence(())))
            self.evaluated = these
        if report.nonempty and not any(contents.values()):
            return
        if report.periodic is not None and at % report.periodic:
            return
        if report.change and not self.changed:
            return
        self.changed = False
        self.report(at, contents, closed_before)

    def essence(self, content: Content) -> object:
        """What two contents must share to be the same: the set of triples, or in a bag the occurrences."""
        return frozenset(content) if self.options.bag else frozenset(triple for triple, _ in content)

    def report(self, at: int, contents: dict[str, Content], closed_before: int) -> None:
        rows = Counter(self.evaluate(Reading(contents, at, self.events)))
        inserted, deleted = self.relation_to_stream(rows)
        self.answer = rows
        self.answers.append(Answer(at, self.bounds(closed_before), tuple(inserted), tuple(deleted)))

    def relation_to_stream(self, rows: Counter[Row]) -> tuple[Iterable[Row], Iterable[Row]]:
        match self.options.r2s:
            case R2s.RSTREAM:
                return rows.elements(), ()
            case R2s.ISTREAM:
                return (rows - self.answer).elements(), ()
            case R2s.DSTREAM:
                return (), (self.answer - rows).elements()
            case R2s.CHANGES:
                return (rows - self.answer).elements(), (self.answer - rows).elements()

    def bounds(self, closed_before: int) -> dict[str, tuple[int, int] | None]:
        """Of the windows that close, the last one that has; None before the first."""
        found: dict[str, tuple[int, int] | None] = {}
        for window in self.windows:
            if isinstance(window.kind, Step | Past) and self.shows_closed(window):
                k = first_closing_after(window.kind, closed_before, self.options) - 1
                some = k >= first_index(window.kind, self.options)
                found[window.name] = bounds(window.kind, k, self.options) if some else None
        return found


def span(kind: Kind) -> int:
    """How long after an event a window can still change because of it, at most."""
    match kind:
        case Step(width, slide):
            return width + slide
        case Past(since, _, slide):
            return since + slide
        case Sliding(width):
            return width
    return 1


def run(windows: Sequence[Window], options: Options, actions: Iterable[Action], evaluate: Evaluate) -> list[Answer]:
    """All answers of a query to a sequence of actions."""
    oracle = Oracle(windows, options, evaluate)
    for action in actions:
        oracle.act(action)
    return oracle.answers
