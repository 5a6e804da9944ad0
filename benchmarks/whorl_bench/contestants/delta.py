"""A hand-written incremental query over a store: each arriving triple is joined with the existing ones.

This is the best use of a triple store for the purpose, and works only for plain joins that show every variable: for
each pattern that the new triple matches, the other patterns are queried with its terms as VALUES. Departures cost
nothing, because no result is stored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from whorl_oracle.model import Dialect, Triple, Window
from whorl_workloads.data import Event
from whorl_workloads.plain import translate

from whorl_bench.case import AbsentError, Case
from whorl_bench.contestants import Answers
from whorl_bench.contestants.stores import OxigraphStore, make_terms
from whorl_bench.contestants.windows import Contents
from whorl_bench.figures import Figures, Stopwatch, resident_bytes

_STREAM = re.compile(r"STREAM\s+\S+\s*\[[^\]]*\]\s*\{\s*(\S+)\s+(\S+)\s+(\S+?)\s*\.?\s*\}")
_PREFIX = re.compile(r"PREFIX\s+(\S*:)\s*<([^>]*)>")
Row = tuple[str | None, ...]


@dataclass(frozen=True)
class _Pattern:
    """A triple pattern in a window."""

    window: str
    stream: str
    places: Triple

    def matched(self, triple: Triple) -> dict[str, str] | None:
        """The variables that the triple binds."""
        found: dict[str, str] = {}
        for place, value in zip(self.places, triple, strict=True):
            if place.startswith("?"):
                if found.setdefault(place, value) != value:
                    return None
            elif place != value:
                return None
        return found


class DeltaQueries:
    """pyoxigraph with one small query for each triple and pattern."""

    def run(self, case: Case, limit_s: float) -> Figures:
        """Fill the windows without querying, then measure."""
        before, running = resident_bytes(), _Running(case)
        make_terms(case.events)
        for event in case.warming:
            running.take(event, asking=False)
        watch, done, results = Stopwatch(limit_s), 0, 0
        watch.start()
        for event in case.measured:
            results += len(running.take(event))
            done += 1
            if watch.is_over():
                break
        watch.stop()
        triples = sum(len(event.triples) for event in case.measured[:done])
        grown = resident_bytes() - before
        return Figures(done, triples, watch.cpu_ns, watch.wall_ns, rss_bytes=grown, results=results)

    def answers(self, case: Case) -> Answers:
        """By querying at every event."""
        running = _Running(case)
        return Counter((event.t, row) for event in case.events for row in running.take(event))


class _Running:
    def __init__(self, case: Case) -> None:
        (query,) = case.queries
        if query.dialect is not Dialect.CQELS:
            raise AbsentError("delta queries are written for plain joins in CQELS-QL")
        plain = translate(query.text, query.dialect, bag=False)
        self._patterns = _patterns(query.text, plain.windows)
        self._variables = list(dict.fromkeys(v for one in self._patterns for v in one.places if v.startswith("?")))
        self._contents = Contents(plain.windows)
        self._store = OxigraphStore(plain, case.static)

    def take(self, event: Event, *, asking: bool = True) -> set[Row]:
        """Add an event; returns the new rows."""
        rows: set[Row] = set()
        for change in self._contents.changes(event):
            self._store.apply(change)
            for window, triple in change.came if asking else ():
                rows |= self._made_by(window, triple)
        return rows

    def _made_by(self, window: str, triple: Triple) -> set[Row]:
        rows: set[Row] = set()
        for pattern in self._patterns:
            given = pattern.matched(triple) if pattern.window == window else None
            if given is not None:
                rows |= self._asked(pattern, given)
        return rows

    def _asked(self, pattern: _Pattern, given: dict[str, str]) -> set[Row]:
        others = [other for other in self._patterns if other is not pattern]
        body = " ".join(f"GRAPH <{one.window}> {{ {' '.join(one.places)} }}" for one in others)
        values = f"VALUES ({' '.join(given)}) {{ ({' '.join(given.values())}) }}"
        return set(self._store.ask(f"SELECT {' '.join(self._variables)} {{ {values} {body} }}"))


def _patterns(text: str, windows: Sequence[Window]) -> list[_Pattern]:
    """The one pattern of each STREAM block."""
    prefixes = dict(_PREFIX.findall(text))

    def written(place: str) -> str:
        prefix, _, name = place.partition(":")
        return place if place.startswith(("?", "<")) else f"<{prefixes[prefix + ':']}{name}>"

    found = [tuple(written(place) for place in match) for match in _STREAM.findall(text)]
    if len(found) != len(windows):
        raise AbsentError("delta queries are written for joins of STREAM blocks with one pattern each")
    return [_Pattern(window.name, window.stream, (s, p, o)) for window, (s, p, o) in zip(windows, found, strict=True)]
