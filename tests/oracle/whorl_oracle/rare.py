"""Random scenarios in which the rare is common: long, repetitive streams over few terms, and much happening to them.

Renewals, moves, gaps and wraps need triples that come again and again: the pool of triples is small and some are hot.
Windows of different length read one stream, queries come and go, snapshots are taken and restored, and events arrive
singly and in bodies of every format.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from whorl_oracle import tuning
from whorl_oracle.bodies import MANY, SINGLE
from whorl_oracle.model import (
    Action,
    Advance,
    AllSoFar,
    Close,
    Dialect,
    Elements,
    Kind,
    Now,
    Options,
    Past,
    Push,
    R2s,
    Report,
    Sliding,
    Step,
    Tick,
    Triple,
    Triples,
    Window,
)
from whorl_oracle.query import (
    HERE,
    Bind,
    Block,
    Element,
    Exists,
    Filter,
    Form,
    Group,
    Minus,
    Nested,
    Optional,
    Pattern,
    Place,
    Query,
    Scope,
    Select,
    SubSelect,
    Text,
    Union,
    Values,
    variable_of,
)
from whorl_oracle.scenario import Feed, Follow, Happening, Restore, Scenario
from whorl_oracle.vocabulary import EX, iri, literal

# Years 1969 and 9999, and some in between.
BASES = (0, 0, 0, 0, 1_700_000_000_000, 253_402_200_000_000, -1_000, -86_400_000)
INTEGERS = tuple(literal(str(n), "integer") for n in (0, 1, 2, 3))
# Every two of them differ in value and in text.
NUMBERS = (*INTEGERS, literal("1.5", "decimal"), literal("-0.5", "decimal"), literal("2.5E0", "double"))
# Equal values in other forms, and what is no number.
MIXED = (
    *INTEGERS,
    literal("01", "integer"),
    literal("+2", "integer"),
    literal("2.0", "decimal"),
    literal("1.0E0", "double"),
    literal("7", "int"),
    literal("NaN", "double"),
    '"1"',
    '"x"',
    '"x"@en-GB',
)
COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")


def scenario(seed: int) -> Scenario:
    """The scenario of a seed."""
    return _Rare(seed).scenario()


class _Rare:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        self.nodes = [iri(name) for name in "abcde"[: rng.choice([2, 3, 3, 4, 5])]]
        self.links = "pqr"[: rng.choice([1, 2, 2, 3])]
        self.numbers = rng.choice([INTEGERS, NUMBERS, NUMBERS, MIXED])
        self.unit = rng.choice([1, 1, 10, 10, 1000])
        self.streams = [f"{EX}s1"] if self.chance(0.8) else [f"{EX}s1", f"{EX}s2"]
        self.base = rng.choice(BASES) // self.unit * self.unit
        self.lateness = 0 if self.chance(0.75) else self.unit * rng.choice([1, 2, 5])
        self.windows = 0

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # The whole.

    def scenario(self) -> Scenario:
        length = self.length()
        queries = [self.query() for _ in range(1 if length > 150 else self.rng.choice([1, 1, 2, 3]))]
        if any(query.options.tick is Tick.TUPLE for query in queries):
            self.lateness = 0
        steps = self.steps(length, queries)
        follows = tuple(self.follow(query, len(steps)) for query in queries)
        if self.may_close(queries):
            steps.append(Close())
        return Scenario(self.seed, follows, tuple(steps), self.static(), self.lateness, tuning.draw(self.rng))

    def length(self) -> int:
        pick = self.rng.random()
        if pick < 0.7:
            return self.rng.randint(20, 60)
        if pick < 0.96:
            return self.rng.randint(60, 150)
        return self.rng.randint(150, 500) if pick < 0.997 else self.rng.randint(500, 2000)

    def follow(self, query: Query, steps: int) -> Follow:
        """Mostly from the beginning to the end; sometimes it comes late, or goes."""
        begin = self.rng.randint(0, steps) if self.chance(0.3) and self.may_come_late(query) else 0
        end = self.rng.randint(begin + 1, steps) if begin < steps and self.chance(0.2) else None
        return Follow(query, begin, end)

    def may_come_late(self, query: Query) -> bool:
        """Exclude events that wait in a stream with lateness, and streams without events."""
        return self.lateness == 0 and len(self.streams) == 1 and query.options.tick is Tick.TIME

    def may_close(self, queries: list[Query]) -> bool:
        """The contract leaves open what is still reported when windows that close and others end together."""
        return self.chance(0.7) and all(self.ends_well(query) for query in queries)

    def ends_well(self, query: Query) -> bool:
        kinds = [isinstance(window.kind, Step | Past) for window in query.windows]
        streams = {window.stream for window in query.windows}
        report = query.options.report
        if self.lateness and (report.change or not all(kinds)):
            # What waits for its turn and what came too late for one: which is read first at the end is open.
            return False
        return report.periodic is None and len(streams) == 1 and (all(kinds) or not any(kinds))

    def static(self) -> tuple[Triple, ...]:
        return tuple((node, iri("type"), iri(self.rng.choice(["K1", "K2"]))) for node in self.nodes)

    # Streams.

    def steps(self, length: int, queries: list[Query]) -> list[Happening]:
        actions = self.actions(length, queries)
        steps: list[Happening] = []
        restores = self.rng.choice([0, 0.01, 0.05])
        while actions:
            if self.chance(restores):
                steps.append(Restore(tuning.draw(self.rng)))
            if isinstance(actions[0], Push):
                steps.append(self.feed(actions))
            else:
                steps.append(actions.pop(0))  # type: ignore[arg-type]  # anything but a Push is a step by itself
        if not any(isinstance(step, Restore) for step in steps):
            # Drawn apart, so that the scenarios stay what they were.
            apart = Random(length * 1_000 + len(steps))
            steps.insert(apart.randint(1, len(steps)), Restore(tuning.draw(apart)))
        return steps

    def feed(self, actions: list[Action]) -> Feed:
        """As many of the next events as go into one body, of one stream: they are taken in its order."""
        limit = self.rng.choice([1, 1, 2, 5, 20])
        events = [actions.pop(0)]
        while actions and len(events) < limit and self.goes_with(events[-1], actions[0]):
            events.append(actions.pop(0))
        form = self.rng.choice([*MANY, *SINGLE])
        return Feed(tuple(events), form)  # type: ignore[arg-type]  # formats of the oracle

    def goes_with(self, last: Action, action: Action) -> bool:
        return isinstance(last, Push) and isinstance(action, Push) and last.stream == action.stream

    def actions(self, length: int, queries: list[Query]) -> list[Action]:
        rng = self.rng
        patterns = [pattern for query in queries for pattern in patterns_in(query.select.where)]
        pool = [self.triple(patterns) for _ in range(rng.choice([4, 6, 10, 16]))]
        kinds = [window.kind for query in queries for window in query.windows]
        edges = sorted({edge for kind in kinds for edge in edges_of(kind)})
        pace = max(1, rng.choice([edges_of(kind)[0] for kind in kinds]) // rng.choice([3, 6, 12, 20]))
        now, found = self.base + rng.randint(0, 3 * pace), list[Action]()
        for _ in range(length):
            now = self.next_time(now, pace, edges, queries[0].options.t0)
            if self.chance(0.02):
                found.append(Advance(now, rng.choice([None, *self.streams])))
            at = now - rng.randint(1, 4 * pace) if self.chance(0.06) else now
            size = rng.choice([1, 1, 1, 2, 3])
            triples = tuple(self.drawn(pool, patterns) for _ in range(size))
            found.append(Push(rng.choice(self.streams), at, triples))
        return found

    def drawn(self, pool: list[Triple], patterns: list[Pattern]) -> Triple:
        if self.chance(0.25):
            return pool[0]
        return self.rng.choice(pool) if self.chance(0.85) else self.triple(patterns)

    def next_time(self, now: int, pace: int, edges: list[int], t0: int) -> int:
        """The same instant, a step, an edge of a window ± 1 ms; sometimes a gap."""
        pick = self.rng.random()
        if pick < 0.25:
            return now
        if pick < 0.5:
            edge = min(self.rng.choice(edges), self.rng.choice(edges))
            return max(now, now + edge - (now - t0) % edge + self.rng.choice([-1, 0, 0, 1]))
        if pick < 0.98:
            return now + self.rng.randint(0, pace)
        return now + self.rng.randint(1, 3) * edges[-1]

    def triple(self, patterns: list[Pattern]) -> Triple:
        """Mostly one that a pattern of a query looks for."""
        rng = self.rng
        name = rng.choice(self.links + "v")
        if patterns and self.chance(0.8):
            letters = [letter for letter in rng.choice(patterns)[1] if letter in "pqrvl"]
            name = rng.choice(letters or [name])
        node = self.nodes[0] if self.chance(0.3) else rng.choice(self.nodes)
        return node, iri(name), rng.choice(self.numbers) if name == "v" else rng.choice(self.nodes)

    # Queries.

    def query(self) -> Query:
        dialect = self.rng.choices(list(Dialect), weights=[60, 15, 25], k=1)[0]
        windows = tuple(self.window(dialect) for _ in range(self.rng.choice([1, 1, 1, 1, 2, 2, 3])))
        options = self.options(dialect, windows)
        names, where = _Body(self.rng, self.links, windows, self.numbers).whole(dialect)
        select, form, template = self.asked(names, where, dialect)
        query = Query(select, windows, options, dialect, form, template)
        return query.without_unused_windows()

    def window(self, dialect: Dialect) -> Window:
        self.windows += 1
        return Window(f"{EX}w{self.windows}", self.rng.choice(self.streams), self.kind(dialect))

    def span(self) -> int:
        return self.unit * self.rng.choice([2, 3, 5, 7, 10, 12, 20])

    def kind(self, dialect: Dialect) -> Kind:
        rng, width = self.rng, self.span()
        step = Step(width, max(1, width // rng.choice([1, 1, 2, 3, 4])))
        if dialect is Dialect.CSPARQL:
            return step
        other: list[Kind] = [Elements(rng.randint(1, 8), rng.randint(1, 3)), Triples(rng.randint(1, 12)), Now()]
        other += [AllSoFar()] if self.chance(0.2) else []
        if dialect is Dialect.CQELS:
            return Sliding(width) if self.chance(0.8) else rng.choice(other[1:])
        odd = Step(width, width + rng.randint(1, self.unit))
        past = Past(width + self.span(), width, step.slide)
        return rng.choices([step, odd, past, rng.choice(other)], weights=[75, 8, 7, 10], k=1)[0]

    def options(self, dialect: Dialect, windows: tuple[Window, ...]) -> Options:
        rng = self.rng
        if dialect is Dialect.CQELS:
            report = Report(close=False, change=True, nonempty=True)
            r2s = R2s.ISTREAM if self.chance(0.5) else rng.choice(list(R2s))
            return Options(report=report, tick=Tick.TUPLE, r2s=r2s, bag=True)
        t0 = self.base if self.base < 0 or self.chance(0.2) else 0
        t0 += rng.choice([0, 0, 0, 1, 3 * self.unit])
        common = Options(t0=t0, closed_right=self.chance(0.15), partial=self.chance(0.15))
        if dialect is Dialect.CSPARQL:
            return replace(common, report=Report(nonempty=self.chance(0.3)))
        report = self.report(windows)
        tick = Tick.TUPLE if report == Report(close=False, change=True) and self.chance(0.15) else Tick.TIME
        tick = Tick.TIME if self.lateness else tick
        bag = self.chance(0.35)
        return replace(common, report=report, tick=tick, r2s=rng.choice(list(R2s)), bag=bag)

    def report(self, windows: tuple[Window, ...]) -> Report:
        pick = self.rng.random()
        if pick < 0.7 or any(isinstance(window.kind, Past) for window in windows):
            return Report(nonempty=self.chance(0.2))
        if pick < 0.92:
            return Report(close=False, change=True, nonempty=self.chance(0.2))
        if pick < 0.96:
            return Report(close=True, change=True, nonempty=self.chance(0.3))
        period = self.unit * self.rng.choice([2, 5, 10])
        return Report(close=self.chance(0.5), nonempty=self.chance(0.2), periodic=period)

    def asked(self, names: list[str], where: Group, dialect: Dialect) -> tuple[Select, Form, tuple[Pattern, ...]]:
        rng, pick = self.rng, self.rng.random()
        if pick < 0.06:
            return Select(("*",), where), Form.ASK, ()
        if pick < 0.12 and dialect is Dialect.RSPQL:
            return Select(("*",), where), Form.CONSTRUCT, ((rng.choice(names), ":made", rng.choice(names)),)
        if pick < 0.5:
            return self.aggregated(names, where), Form.SELECT, ()
        columns = [name for name in names if self.chance(0.7)] or names[:1]
        select = Select(tuple(columns), where, distinct=self.chance(0.3))
        return (self.topped(select) if self.chance(0.2) else select), Form.SELECT, ()

    def aggregated(self, names: list[str], where: Group) -> Select:
        rng = self.rng
        keys = rng.sample(names, min(len(names), rng.choice([0, 0, 1, 1, 2])))
        calls = tuple(f"({self.aggregate(names)} AS ?n{number})" for number in range(rng.choice([1, 1, 2])))
        having = f"{self.aggregate(names)} {rng.choice(COMPARISONS)} {rng.randint(0, 3)}" if self.chance(0.1) else None
        select = Select((*keys, *calls), where, group_by=tuple(keys), having=having)
        return self.topped(select) if keys and self.chance(0.2) and "GROUP_CONCAT" not in str(calls) else select

    def aggregate(self, names: list[str]) -> str:
        rng, distinct = self.rng, "DISTINCT " if self.chance(0.3) else ""
        numbers = [name for name in names if name in ("?x", "?y")]
        if not numbers or self.chance(0.5):
            return rng.choice(["COUNT(*)", "COUNT(*)", f"COUNT({distinct}{rng.choice(names)})"])
        call = rng.choice(["SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT"])
        if call == "GROUP_CONCAT":
            return f'GROUP_CONCAT({distinct}STR({rng.choice(numbers)}); SEPARATOR="|")'
        if call in ("MIN", "MAX") and self.numbers is MIXED:
            return f"{call}(STR({rng.choice(numbers)}))"
        return f"{call}({distinct}{rng.choice(numbers)})"

    def topped(self, select: Select) -> Select:
        """An order in which no two different rows stand side by side, and a limit."""
        columns: list[str] = [variable_of(item) for item in select.projection]
        if self.numbers is MIXED and any(name in ("?x", "?y") for name in columns):
            return select
        self.rng.shuffle(columns)
        keys: list[Text] = [f"DESC({name})" if self.chance(0.4) else name for name in columns]
        offset = self.rng.randint(1, 2) if self.chance(0.2) else None
        return replace(select, order_by=tuple(keys), limit=self.rng.randint(1, 4), offset=offset)


class _Body:
    """Draws a WHERE clause: nodes are ?a … ?d, values ?x and ?y, so that what stands side by side is connected."""

    def __init__(self, rng: Random, links: str, windows: tuple[Window, ...], numbers: tuple[str, ...]) -> None:
        self.rng = rng
        self.links = links
        self.windows = windows
        self.numbers = numbers
        self.names: list[str] = []
        self.fresh = 0

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def whole(self, dialect: Dialect) -> tuple[list[str], Group]:
        elements: list[Element] = []
        for window in self.windows:
            inside = self.inside()
            if dialect is Dialect.CSPARQL:
                elements += [replace(one, window=None) if isinstance(one, Block) else one for one in inside]
            else:
                elements.append(Scope(Place.WINDOW, window.name, Group(tuple(inside))))
        if len(self.windows) > 1 and dialect is not Dialect.CSPARQL and self.chance(0.25):
            last = Group((elements[-1],))
            elements[-1] = Optional(last) if self.chance(0.5) else Minus(last)
        if self.chance(0.1) and dialect is not Dialect.CSPARQL:
            elements.append(Block(None, ((self.node(), ":type", f":{self.rng.choice(['K1', 'K2'])}"),)))
        if self.chance(0.1):
            elements.append(self.filter())
        if dialect is Dialect.CSPARQL:
            elements = [self.merged(one) for one in elements]
        return list(dict.fromkeys(self.names)), Group(tuple(elements))

    def merged(self, element: Element) -> Element:
        """All windows are one graph: a block reads it wherever it stands."""
        if isinstance(element, Block) and element.window is None:
            return Block(self.windows[0].name, element.patterns)
        return element

    def inside(self) -> list[Element]:
        elements: list[Element] = [Block(HERE, tuple(self.shape()))]
        makers = (
            (self.optional, 0.22),
            (self.union, 0.1),
            (self.minus, 0.1),
            (self.exists, 0.15),
            (self.subselect, 0.15),
            (self.bind, 0.08),
            (self.values, 0.08),
            (self.filter, 0.2),
        )
        for make, probability in makers:
            if self.chance(probability):
                elements.append(make())
        if self.chance(0.15):
            elements.append(Block(HERE, (self.attached(),)))
        return elements

    # Patterns.

    def node(self) -> str:
        """A variable that is there already, if there is one."""
        known = [name for name in self.names if name in ("?a", "?b", "?c", "?d")]
        return self.rng.choice(known) if known else self.used("?a")

    def used(self, *names: str) -> str:
        self.names += names
        return names[0]

    def link(self) -> str:
        return f":{self.rng.choice(self.links)}"

    def label(self) -> str:
        """A predicate or a path."""
        pick = self.rng.random()
        if pick < 0.82:
            return self.link()
        return self.rng.choice(
            [
                f"{self.link()}/{self.link()}",
                f"({self.link()}|{self.link()})",
                f"^{self.link()}",
                f"({self.link()})+",
                f"({self.link()})*",
                f"({self.link()})?",
                f"({self.link()}/{self.link()})+",
            ]
        )

    def shape(self) -> list[Pattern]:
        """A triangle, a chain, a star, a round trip, one pattern; some with values."""
        a, b, c, d = self.rng.sample(["?a", "?b", "?c", "?d"], 4) if self.chance(0.3) else ("?a", "?b", "?c", "?d")
        shapes: list[list[Pattern]] = [
            [(a, self.label(), b)],
            [(a, self.link(), b), (b, self.link(), c), (c, self.link(), a)],
            [(a, self.label(), b), (b, self.link(), c)],
            [(a, self.link(), b), (b, self.link(), c), (c, self.label(), d)],
            [(a, self.link(), b), (a, self.link(), c)],
            [(a, self.link(), b), (b, self.label(), a)],
            [(a, self.link(), a)],
        ]
        patterns = self.rng.choices(shapes, weights=[26, 24, 20, 8, 12, 8, 2], k=1)[0]
        if self.chance(0.4):
            patterns = [*patterns, (self.rng.choice([a, b]) if len(patterns[0]) else a, ":v", "?x")]
            patterns = patterns[-1:] if self.chance(0.2) else patterns
        if self.chance(0.12):
            chosen = self.rng.choice(["?a", "?b", "?c"])
            patterns = [tuple(":a" if part == chosen else part for part in one) for one in patterns]  # type: ignore[misc]  # a pattern has three parts
        found = [part for one in patterns for part in (one[0], one[2]) if part.startswith("?")]
        if not found:
            return [(self.used("?a"), self.link(), self.used("?b"))]
        self.names += found
        self.rng.shuffle(patterns)
        return patterns

    def attached(self) -> Pattern:
        """A pattern that shares a variable with what is there."""
        node = self.node()
        pick = self.rng.random()
        if pick < 0.35:
            return node, ":v", self.used(self.rng.choice(["?x", "?y"]))
        if pick < 0.4:
            return node, "?pr", self.used(self.rng.choice(["?a", "?b", "?c"]))
        other = self.rng.choice(["?a", "?b", "?c", "?d"])
        self.names.append(other)
        return (node, self.label(), other) if self.chance(0.5) else (other, self.label(), node)

    def apart(self) -> tuple[Block, list[str]]:
        """One or two attached patterns whose variables are not counted among those of the group."""
        before = list(self.names)
        block = Block(HERE, tuple(self.attached() for _ in range(self.rng.choice([1, 1, 2]))))
        inner, self.names = self.names, before
        return block, inner

    # Elements.

    def optional(self) -> Element:
        block = Block(HERE, tuple(self.attached() for _ in range(self.rng.choice([1, 2, 2]))))
        return Optional(Group((block, self.filter()) if self.chance(0.25) else (block,)))

    def union(self) -> Element:
        return Union(tuple(Group((Block(HERE, (self.attached(),)),)) for _ in range(2)))

    def minus(self) -> Element:
        return Minus(Group((self.apart()[0],)))

    def exists(self) -> Element:
        block = self.apart()[0]
        inside: tuple[Element, ...] = (block,)
        if self.chance(0.2):
            inside = (block, Optional(Group((self.apart()[0],))))
        return Exists(Group(inside), negated=self.chance(0.6))

    def subselect(self) -> Element:
        node = self.node()
        block, inner = self.apart()
        joined = Block(HERE, ((node, self.link(), "?c"), *block.patterns))
        free = [name for name in dict.fromkeys([*inner, "?c"]) if any(name in one for one in joined.patterns)]
        pick = self.rng.random()
        if pick < 0.4:
            self.fresh += 1
            count = self.used(f"?k{self.fresh}")
            return SubSelect(Select((node, f"(COUNT(*) AS {count})"), Group((joined,)), group_by=(node,)))
        columns = tuple(dict.fromkeys([node, self.rng.choice(free)]))
        self.names += columns
        return SubSelect(Select(columns, Group((joined,)), distinct=pick < 0.6))

    def bind(self) -> Element:
        self.fresh += 1
        made, name = f"?t{self.fresh}", self.rng.choice(self.names)
        number = "?x" if "?x" in self.names else "1"
        choices = [f"STR({name})", f"({number} + 1)", f"COALESCE({number} / 0, -1)", f"IF(BOUND({name}), 1, 2)"]
        self.names.append(made)
        return Bind(self.rng.choice(choices), made)

    def values(self) -> Element:
        rows = [(f":{name}",) for name in self.rng.sample("abc", self.rng.randint(1, 3))]
        rows += rows[:1] if self.chance(0.2) else []
        return Values((self.node(),), tuple(rows))

    def filter(self) -> Element:
        node, other = self.node(), self.node()
        number = "?x" if "?x" in self.names else "1"
        choices = [
            f"{node} != {other}",
            f"{node} = :a",
            f"{node} IN (:a, :b)",
            f"!BOUND({self.rng.choice(self.names)})",
        ]
        choices += [f"{number} {self.rng.choice(COMPARISONS)} {self.rng.randint(0, 2)}"] * 2
        choices += [f"{number} + 1 > 2 || {node} = :a", f'STR({number}) != "01"']
        return Filter(self.rng.choice(choices))


def edges_of(kind: Kind) -> tuple[int, ...]:
    match kind:
        case Step(width, slide):
            return width, slide
        case Past(_, _, slide):
            return (slide,)
        case Sliding(width):
            return (width,)
    return (10,)


def patterns_in(group: Group) -> list[Pattern]:
    found: list[Pattern] = []
    for element in group.elements:
        match element:
            case Block(_, patterns):
                found += patterns
            case Optional(inner) | Scope(_, _, inner) | Nested(inner) | Exists(inner) | Minus(inner):
                found += patterns_in(inner)
            case Union(branches):
                found += [one for branch in branches for one in patterns_in(branch)]
            case SubSelect(select):
                found += patterns_in(select.where)
    return found
