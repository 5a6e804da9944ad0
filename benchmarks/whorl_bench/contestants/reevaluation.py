"""The baseline: the same windows, and the whole query re-evaluated whenever one changes.

The papers call it R-CQELS, or the base-line. The evaluator is pyoxigraph's, over a store whose named graphs are the
windows; the engine uses the same evaluator where it has no incremental operator. New solutions are computed as a
difference, as ISTREAM reports them. Events are parsed before the clock starts, which favours the baseline.
"""

from __future__ import annotations

import time
from collections import Counter

from whorl_workloads.data import Event
from whorl_workloads.plain import translate

from whorl_bench.case import Case, QueryText
from whorl_bench.contestants import Answers
from whorl_bench.contestants.stores import STORES, Rows, Store, make_terms
from whorl_bench.contestants.windows import Contents
from whorl_bench.figures import Delays, Figures, Stopwatch, resident_bytes


class Reevaluation:
    """A store that is queried repeatedly."""

    def __init__(self, library: str = "pyoxigraph") -> None:
        self._library = library

    def run(self, case: Case, limit_s: float) -> Figures:
        """Fill the windows without evaluating, then measure."""
        before, began = resident_bytes(), time.perf_counter_ns()
        running = [_Running(query, case, self._library) for query in case.queries]
        setup_ns = time.perf_counter_ns() - began
        make_terms(case.events)
        for event in case.warming:
            for one in running:
                one.fill(event)
        watch, delays, done = Stopwatch(limit_s), Delays(), 0
        watch.start()
        for event in case.measured:
            at = time.perf_counter_ns()
            for one in running:
                one.evaluate(event)
            delays.found.append(time.perf_counter_ns() - at)
            done += 1
            if watch.is_over():
                break
        watch.stop()
        return Figures(
            events=done,
            triples=sum(len(event.triples) for event in case.measured[:done]),
            cpu_ns=watch.cpu_ns,
            wall_ns=watch.wall_ns,
            setup_ns=setup_ns,
            rss_bytes=resident_bytes() - before,
            results=sum(one.results for one in running),
            delays=delays.summary(),
        )

    def answers(self, case: Case) -> Answers:
        """By evaluating at every event."""
        found: Answers = Counter()
        for query in case.queries:
            running = _Running(query, case, self._library)
            for event in case.events:
                for at, rows in running.evaluate(event):
                    for row, count in rows.items():
                        found[at, row] += count
        return found


class _Running:
    """One query: a store with the windows as named graphs, and the last result."""

    def __init__(self, query: QueryText, case: Case, library: str) -> None:
        plain = translate(query.text, query.dialect, bag=False)
        self._text = plain.text
        self._streams = {window.stream for window in plain.windows}
        self._contents = Contents(plain.windows)
        self._store: Store = STORES[library](plain, case.static)
        self._last: Rows = Counter()
        self.results = 0

    def fill(self, event: Event) -> None:
        """Add an event without querying; the next evaluation includes it."""
        if event.stream in self._streams:
            for change in self._contents.changes(event):
                self._store.apply(change)

    def evaluate(self, event: Event) -> list[tuple[int, Rows]]:
        """Add an event; returns the new solutions at it and at the expiries before it."""
        found: list[tuple[int, Rows]] = []
        if event.stream not in self._streams:
            return found
        for change in self._contents.changes(event):
            self._store.apply(change)
            if change.came or change.went:
                rows = self._store.ask(self._text)
                if came := rows - self._last:
                    found.append((change.at, came))
                self._last = rows
        self.results += sum(rows.total() for _, rows in found)
        return found
