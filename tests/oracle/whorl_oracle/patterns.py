"""Random group graph patterns of SPARQL 1.1: where they look, what they nest, which paths they take."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from whorl_oracle.expressions import Around, Expressions
from whorl_oracle.model import Dialect
from whorl_oracle.query import (
    HERE,
    Bind,
    Block,
    Element,
    Exists,
    Filter,
    Group,
    Minus,
    Nested,
    Optional,
    Pattern,
    Place,
    Scope,
    Select,
    SubSelect,
    Union,
    Values,
    variable_of,
)
from whorl_oracle.spelling import CLOSURE, GRAPHS
from whorl_oracle.vocabulary import CLASSES, EX, LABELS, LINKS, MEASURES, NODES

EVENT_GRAPHS = (f"{EX}e1", f"{EX}e2")


class Patterns(Expressions):
    """Draws groups. `hints` are variables of the groups around, `names` those in scope so far."""

    default_window: str | None = None
    # Whether some pattern asks for the graphs of events.
    events_have_graphs = False

    @abstractmethod
    def select(self, around: Around, hints: list[str], *, top: bool = False) -> Select:
        """A sub-query."""

    def group(self, around: Around, hints: list[str]) -> tuple[Group, list[str]]:
        before, self.around = self.around, around
        outer_patterns, self.patterns = self.patterns, []
        found: list[Element] = []
        names: list[str] = []
        if self.chance(0.97):
            found += self.patterns_element(names, hints)
        makers = [self.with_optional, self.with_union, self.with_patterns]
        weights = [20, 10, 12]
        if not around.plain:
            makers += [self.with_filter, self.with_bind, self.with_values, self.with_exists]
            weights += [30, 14, 8, 10]
            makers += [self.with_subselect, self.with_nested]
            weights += [10, 6]
            if not around.in_exists:
                makers.append(self.with_minus)
                weights.append(10)
        for make in self.rng.choices(makers, weights=weights, k=self.rng.choice([0, 1, 1, 1, 2, 3])):
            if around.depth > 0 or make in (self.with_filter, self.with_bind, self.with_values, self.with_patterns):
                found += make(names, hints)
        self.around, self.patterns = before, outer_patterns
        return Group(tuple(found)), list(dict.fromkeys(names))

    def inner(self, names: list[str], hints: list[str]) -> tuple[Group, list[str]]:
        """A group one level down that knows the variables around."""
        return self.group(self.around.deeper(), [*names, *hints])

    def with_patterns(self, names: list[str], hints: list[str]) -> list[Element]:
        return self.patterns_element(names, hints)

    def with_filter(self, names: list[str], hints: list[str]) -> list[Element]:
        known = [*names, *names, *hints] if self.chance(0.15) else names
        return [Filter(self.finished(self.boolean(known)))]

    def with_bind(self, names: list[str], hints: list[str]) -> list[Element]:  # noqa: ARG002 - all makers of elements have one signature
        time = self.time_of_event(names) if self.chance(0.4) else None
        expression, new = time or self.anything(names, 2), self.variable()
        names.append(new)
        return [Bind(self.finished(expression), new)]

    def with_optional(self, names: list[str], hints: list[str]) -> list[Element]:
        around = replace(self.around.deeper(), in_optional=True)
        group, found = self.group(around, [*names, *hints])
        if not self.around.plain and self.chance(0.3):
            group = Group((*group.elements, Filter(self.finished(self.boolean([*found, *names], 1)))))
        names += found
        return [Optional(group)]

    def with_union(self, names: list[str], hints: list[str]) -> list[Element]:
        branches = [self.inner(names, hints) for _ in range(self.rng.choice([2, 2, 3]))]
        for _, found in branches:
            names += found
        return [Union(tuple(group for group, _ in branches))]

    def with_nested(self, names: list[str], hints: list[str]) -> list[Element]:
        group, found = self.inner(names, hints)
        names += found
        return [Nested(group)]

    def with_minus(self, names: list[str], hints: list[str]) -> list[Element]:
        return [Minus(self.inner(names, [] if self.around.in_optional else hints)[0])]

    def with_exists(self, names: list[str], hints: list[str]) -> list[Element]:
        before = self.around
        self.around = replace(before, in_exists=True)
        group, _ = self.inner(names, hints)
        self.around = before
        return [Exists(group, negated=self.chance(0.5))]

    def exists_group(self, names: list[str]) -> Group:
        return self.group(self.around, names)[0]

    def with_subselect(self, names: list[str], hints: list[str]) -> list[Element]:
        select = self.select(self.around.deeper(), [*names, *hints])
        if select.projection == ("*",):
            return []
        names += [variable_of(item) for item in select.projection]
        return [SubSelect(select)]

    def with_values(self, names: list[str], hints: list[str]) -> list[Element]:  # noqa: ARG002 - all makers of elements have one signature
        return [self.values(names)]

    def values(self, names: list[str]) -> Values:
        rng = self.rng
        known = list(dict.fromkeys(names))
        chosen = rng.sample(known, min(len(known), rng.choice([1, 1, 2]))) or [self.variable()]
        rows = tuple(tuple(self.data_term(name) for name in chosen) for _ in range(rng.randint(1, 3)))
        names += chosen
        return Values(tuple(chosen), rows * (2 if self.chance(0.15) else 1))

    def data_term(self, name: str) -> str:
        if self.chance(0.15):
            return "UNDEF"
        match self.kinds.get(name):
            case "number":
                return self.rng.choice(self.numbers)
            case "word":
                return self.value(LABELS[0])
        return f":{self.rng.choice(NODES)}"

    # Triple patterns and where they look.

    def patterns_element(self, names: list[str], hints: list[str]) -> list[Element]:
        rng, around = self.rng, self.around
        if around.inside:
            return [self.inside_element(names, hints)]
        static = self.default_window is None
        pick = rng.choices(
            ["block", "scope", "any window", "static", "graph", "any graph"],
            weights=[60, 18, 3 if self.may_vary_windows() else 0, 10 if static else 0, 5, 3],
            k=1,
        )[0]
        window = rng.choice(self.windows).name
        match pick:
            case "block":
                return [Block(window, self.some_patterns(names, hints))]
            case "static":
                return [Block(None, self.some_patterns(names, hints, static=True))]
            case "scope":
                return [self.scope(Place.WINDOW, window, names, hints)]
            case "any window":
                return [self.any_of(Place.WINDOW, names, hints)]
            case "graph":
                return [self.scope(Place.GRAPH, rng.choice(GRAPHS), names, hints)]
        return [self.any_of(Place.GRAPH, names, hints)]

    def may_vary_windows(self) -> bool:
        return not self.bag and self.dialect is Dialect.RSPQL and self.default_window is None

    def inside_element(self, names: list[str], hints: list[str]) -> Element:
        window = self.around.window
        possible = window is not None and not self.bag and self.dialect is not Dialect.CSPARQL
        if possible and window != self.default_window and not self.around.plain and self.chance(0.1):
            self.events_have_graphs = True
            if self.chance(0.3):
                return self.scope(Place.EVENT, self.rng.choice(EVENT_GRAPHS), names, hints)
            return self.any_of(Place.EVENT, names, hints)
        return Block(HERE, self.some_patterns(names, hints, static=window is None))

    def scope(self, place: Place, name: str, names: list[str], hints: list[str]) -> Scope:
        known = name if place is Place.WINDOW and name != self.default_window else None
        around = replace(self.around.deeper(), inside=True, window=known, plain=place is Place.EVENT)
        group, found = self.group(around, [*names, *hints])
        names += found
        return Scope(place, name, group)

    def any_of(self, place: Place, names: list[str], hints: list[str]) -> Scope:
        """A variable for the name, which nothing inside mentions."""
        around = replace(self.around.deeper(), inside=True, window=None, plain=True)
        group, found = self.group(around, [*names, *hints])
        name = self.variable()
        names += [*found, name]
        if place is Place.EVENT:
            self.kinds[name] = "graph of an event"
        return Scope(place, name, group)

    def some_patterns(self, names: list[str], hints: list[str], *, static: bool = False) -> tuple[Pattern, ...]:
        found = tuple(self.pattern(names, hints, static=static) for _ in range(self.rng.choice([1, 1, 1, 1, 2, 2, 3])))
        self.patterns += found
        return found

    def pattern(self, names: list[str], hints: list[str], *, static: bool) -> Pattern:
        rng = self.rng
        subject = self.node_term(names, hints)
        if static and self.chance(0.6):
            if self.chance(0.5):
                return subject, ":type", f":{rng.choice(CLASSES)}"
            return subject, ":size", self.new(names, "number")
        pick = rng.random()
        if pick < 0.3:
            return subject, f":{rng.choice(MEASURES)}", self.new(names, "number")
        if pick < 0.4:
            return subject, f":{LABELS[0]}", self.new(names, "word")
        if pick < 0.44:
            return subject, self.new(names, "node"), self.new(names, "")
        path = self.path() if self.chance(0.3) else f":{rng.choice(LINKS)}"
        closed = bool(CLOSURE.search(path))
        if "!" in path:
            # `!(^:p)` begins at any object, also at a literal.
            self.kinds[subject] = ""
        if not closed:
            # A loop on one node is rare in data.
            others = names if self.chance(0.1) else [name for name in names if name != subject]
            value = self.node_term(others, hints, kind="" if "!" in path else "node")
            names += [] if value in names or value.startswith(":") else [value]
            return subject, path, "[]" if value.startswith(":") and self.chance(0.4) else value
        # A path of length zero is at every term of the graph.
        ends = [self.node_term(names, hints, constant=False) for _ in range(2)]
        self.kinds |= dict.fromkeys(ends, "")
        return ends[0], path, ends[1]

    def node_term(self, names: list[str], hints: list[str], *, constant: bool = True, kind: str = "node") -> str:
        """A variable for a node, mostly one that is there already; or a node."""
        if constant and self.chance(0.08):
            return f":{NODES[0] if self.chance(0.6) else self.rng.choice(NODES)}"
        known = [name for name in (*names, *names, *hints) if self.kinds.get(name) != "number"]
        if known and self.chance(0.65):
            name = self.rng.choice(known)
            if name not in names:
                names.append(name)
            if kind == "":
                self.kinds[name] = ""
            return name
        return self.new(names, kind)

    def new(self, names: list[str], kind: str) -> str:
        """A variable; its kind stays known while nothing else is said of it."""
        reused = [name for name in names if self.kinds.get(name) == kind]
        if kind == "number" and reused and self.chance(0.1):
            return self.rng.choice(reused)
        name = self.variable()
        self.kinds[name] = kind
        names.append(name)
        return name

    # Paths.

    def path(self, depth: int = 2) -> str:
        rng = self.rng
        if depth == 0:
            return self.step()
        one = self.path(depth - 1)
        return rng.choice(
            [
                one,
                f"({one}/{self.path(depth - 1)})",
                f"({one}|{self.path(depth - 1)})",
                f"^({one})",
                f"({one})*",
                f"({one})+",
                f"({one})?",
                self.negated(),
            ]
        )

    def step(self) -> str:
        return f"{'^' if self.chance(0.2) else ''}:{self.rng.choice(LINKS)}"

    def negated(self) -> str:
        steps = [self.step() for _ in range(self.rng.randint(1, 2))]
        return f"!({'|'.join(steps)})"
