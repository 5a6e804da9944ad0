"""Windows, options, streams and static data from a random number generator, favouring trouble.

Trouble in time: equal timestamps, window edges ± 1 ms, gaps, events behind the watermark, slide > width, t0 ≠ 0, two
windows on one stream, two streams. Trouble in data: copies of a triple, one hot key, numbers of several types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from whorl_oracle.model import (
    Advance,
    AllSoFar,
    Close,
    Dialect,
    Elements,
    Now,
    Options,
    Past,
    Push,
    R2s,
    Report,
    Sliding,
    Step,
    Tick,
    Triples,
    Window,
)
from whorl_oracle.query import Block, Pattern, Query, all_elements
from whorl_oracle.vocabulary import CLASSES, EX, INTEGERS, LABELS, LINKS, MEASURES, NODES, ODD, ORDERLY, WORDS, iri

if TYPE_CHECKING:
    from whorl_oracle.model import Action, Graphs, Kind, Triple

# A static triple and its graph; None is the default graph.
StaticQuad = tuple[str | None, "Triple"]


@dataclass(frozen=True)
class Pair:
    """A query, static data, and what happens on its streams."""

    seed: int
    query: Query
    static: tuple[StaticQuad, ...]
    actions: tuple[Action, ...]

    def graphs(self) -> Graphs:
        """The static data by graph."""
        found: dict[str | None, set[Triple]] = {}
        for graph, triple in self.static:
            found.setdefault(graph, set()).add(triple)
        return {graph: frozenset(triples) for graph, triples in found.items()}


class Streams:
    """Draws everything but the query itself."""

    dialect: Dialect
    windows: tuple[Window, ...]
    streams: list[str]
    numbers: tuple[str, ...]
    ordered: bool
    unit: int
    # How many triples an event has, the most likely first.
    sizes: tuple[int, ...] = (1, 2, 3, 5)

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.fresh = 0
        self.nodes = NODES[: self.rng.choice([2, 3, 3, 4])]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def variable(self) -> str:
        self.fresh += 1
        return f"?x{self.fresh}"

    def draw_setting(self) -> None:
        """The dialect, the windows, and what their values are."""
        rng = self.rng
        self.dialect = rng.choices([Dialect.RSPQL, Dialect.CQELS, Dialect.CSPARQL], weights=[65, 25, 10], k=1)[0]
        self.ordered = self.chance(0.2)
        self.numbers = rng.choice([INTEGERS, ORDERLY, ORDERLY if self.ordered else ODD])
        self.unit = rng.choice([1, 10, 10, 10, 1000])
        self.streams = [EX + "s1"] if self.chance(0.7) else [EX + "s1", EX + "s2"]
        self.windows = self.make_windows()

    # Windows and options.

    def span(self) -> int:
        return self.unit * self.rng.choice([1, 2, 3, 5, 6, 10, 12, 20])

    def make_windows(self) -> tuple[Window, ...]:
        count = 1 if self.chance(0.45) else 2
        return tuple(
            Window(f"{EX}w{n}", self.streams[n % len(self.streams)], self.make_kind()) for n in range(1, count + 1)
        )

    def make_kind(self) -> Kind:
        rng = self.rng
        step = Step(self.span(), self.span())
        tumbling = Step(step.width, step.width)
        match self.dialect:
            case Dialect.CSPARQL:
                return rng.choice([step, tumbling])
            case Dialect.CQELS:
                kinds: list[Kind] = [
                    Sliding(self.span()),
                    Triples(rng.randint(1, 5)),
                    Now(),
                    AllSoFar(),
                    step,
                ]
                return rng.choices(kinds, weights=[60, 12, 10, 10, 8], k=1)[0]
        until = rng.choice([0, self.span()])
        kinds = [
            step,
            tumbling,
            Elements(rng.randint(1, 4), rng.randint(1, 3)),
            Triples(rng.randint(1, 5)),
            Now(),
            AllSoFar(),
            Past(until + self.span(), until, self.span()),
        ]
        return rng.choices(kinds, weights=[45, 25, 8, 5, 4, 5, 8], k=1)[0]

    def make_options(self) -> Options:
        rng = self.rng
        if self.dialect is Dialect.CQELS:
            report = Report(close=False, change=True, nonempty=True)
            return Options(report=report, tick=Tick.TUPLE, r2s=R2s.ISTREAM, bag=True)
        by_count = any(isinstance(window.kind, Elements | Triples) for window in self.windows)
        lateness = 0 if by_count or self.chance(0.75) else self.span()
        t0 = 0 if self.chance(0.7) else rng.randint(-3 * self.unit, 6 * self.unit)
        common = Options(t0=t0, closed_right=self.chance(0.15), partial=self.chance(0.15), lateness=lateness)
        if self.dialect is Dialect.CSPARQL:
            return replace(common, report=Report(nonempty=self.chance(0.3)))
        kinds = rng.choices(["close", "change", "periodic"], weights=[65, 27, 8], k=1)[0]
        if any(isinstance(window.kind, Past) for window in self.windows):
            kinds = "close"
        tick = Tick.TUPLE if kinds == "change" and lateness == 0 and self.chance(0.3) else Tick.TIME
        periodic = self.span() if kinds == "periodic" or (kinds == "close" and self.chance(0.1)) else None
        report = Report(close=kinds == "close", change=kinds == "change", nonempty=self.chance(0.3), periodic=periodic)
        return replace(common, report=report, tick=tick, r2s=rng.choice(list(R2s)), bag=self.chance(0.15))

    # Streams.

    def node(self) -> str:
        """A node; the first one is hot."""
        return iri(NODES[0] if self.chance(0.4) else self.rng.choice(self.nodes))

    def triple(self, patterns: list[Pattern]) -> Triple:
        """Mostly one that matches a pattern of the query."""
        if patterns and self.chance(0.85):
            s, p, o = self.rng.choice(patterns)
            names = re.findall(r":(\w+)", p) or LINKS + MEASURES
            name = self.rng.choice(names)
            subject = iri(s[1:]) if s.startswith(":") else self.node()
            if name in MEASURES + LABELS:
                return subject, iri(name), self.value(name)
            return subject, iri(name), iri(o[1:]) if o.startswith(":") else self.node()
        if self.chance(0.5):
            return self.node(), iri(self.rng.choice(LINKS)), self.node()
        return self.node(), iri(self.rng.choice(MEASURES)), self.rng.choice(self.numbers)

    def value(self, name: str) -> str:
        return self.rng.choice(WORDS if name in LABELS else self.numbers)

    def make_static(self) -> tuple[StaticQuad, ...]:
        found = {(iri(name), iri("type"), iri(self.rng.choice(CLASSES))) for name in NODES if self.chance(0.8)}
        found |= {(iri(name), iri("size"), self.rng.choice(INTEGERS)) for name in NODES if self.chance(0.5)}
        return tuple((None, triple) for triple in sorted(found))

    def make_actions(self, query: Query) -> tuple[Action, ...]:
        rng = self.rng
        base = rng.choice([0, 0, 0, -4 * self.unit, 7 * self.unit, 1_700_000_000_000])
        now = base + rng.randint(0, 3) * self.unit
        streams = sorted({window.stream for window in query.windows})
        actions: list[Action] = []
        # The semantics say that an event behind the watermark enters at the next evaluation; where arrivals make the
        # evaluations, they do not say when that is.
        by_count = any(isinstance(window.kind, Elements | Triples) for window in query.windows)
        report_needs_order = (query.options.report.change or by_count) and query.options.tick is Tick.TIME
        floor = -(2**62)
        patterns = patterns_on_streams(query)
        pool = [self.triple(patterns) for _ in range(rng.randint(4, 10))]
        for _ in range(rng.randint(4, 18)):
            now = self.next_time(now, query)
            at = now - rng.randint(1, 6 * self.unit) if self.chance(0.12) else now
            if report_needs_order:
                at = max(at, floor)
            if self.chance(0.1):
                actions.append(Advance(now, rng.choice([None, *streams])))
                floor = now
            else:
                size = rng.choices(self.sizes, weights=[35, 30, 20, 15], k=1)[0]
                triples = tuple(rng.choice(pool) if self.chance(0.6) else self.triple(patterns) for _ in range(size))
                actions.append(Push(rng.choice(streams), at, triples))
                floor = max(floor, at - query.options.lateness)
        if self.chance(0.8):
            actions.append(Close())
        return tuple(actions)

    def next_time(self, now: int, query: Query) -> int:
        """Mostly the same instant, the next edge ± 1, a small step; sometimes a gap."""
        rng = self.rng
        pick = rng.random()
        if pick < 0.25:
            return now
        if pick < 0.6:
            grid = self.edge_grid(query)
            edge = (now // grid + 1) * grid + query.options.t0 % grid
            return max(now, edge + rng.choice([-1, 0, 0, 1]))
        if pick < 0.92:
            return now + rng.randint(1, self.unit)
        return now + 25 * self.unit

    def edge_grid(self, query: Query) -> int:
        for window in query.windows:
            if isinstance(window.kind, Step | Past):
                return window.kind.slide
            if isinstance(window.kind, Sliding):
                return window.kind.width
        return self.unit


def patterns_on_streams(query: Query) -> list[Pattern]:
    """What a stream must have for the query to find something."""
    static = None if query.dialect is not Dialect.CSPARQL else ""
    blocks = [element for element in all_elements(query.select) if isinstance(element, Block)]
    return [one for block in blocks if block.window is not static for one in block.patterns]
