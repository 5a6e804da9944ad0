"""The oracle's own evaluation: SPARQL 1.1 §18 over bags of solutions, by definition and without a plan.

Groups are evaluated on their own and joined, as the algebra says. Inside EXISTS the outer solution is put in: every
pattern begins with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from whorl_oracle import formula
from whorl_oracle.aggregates import GroupSolution, Members, aggregate, extended_by, value_or_none
from whorl_oracle.bags import Bag, Solution, bound, bounded, join, matched, minus
from whorl_oracle.compare import orderly
from whorl_oracle.formula import Compiled, Node, term
from whorl_oracle.graph import Graph, parsed
from whorl_oracle.model import Dialect, Graphs, Static, changed
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
    Parts,
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
from whorl_oracle.spelling import is_path
from whorl_oracle.values import FALSE, TRUE, ExpressionError, order, order_key, truth

if TYPE_CHECKING:
    from whorl_oracle.run import Row
    from whorl_oracle.windows import Content, Reading

# A part of a query, ready to be evaluated: from the graphs and the solution around it to its bag.
Part = Callable[["World", Solution], Bag]
# Graphs by window name; None is the default graph of the static data.
World = dict[str | None, Graph]


class Algebra:
    """Evaluates a query over what its windows hold; equal contents are evaluated once."""

    def __init__(self, query: Query, static: Graphs | None = None) -> None:
        self.query = query
        self.static: Graphs = static or {}
        self.select = SelectPart(query.select, query)
        self.last: tuple[object, list[Row]] | None = None
        # The graph of each window for the content it had last.
        self.graphs: dict[str | None, tuple[object, Graph]] = {}
        self.concatenates = any("GROUP_CONCAT" in str(item) for item in query.select.projection)

    def change(self, action: Static) -> None:
        self.static = changed(self.static, action)
        self.last = None
        self.graphs = {}

    def __call__(self, reading: Reading) -> list[Row]:
        key = dict(reading)
        if self.last is None or self.last[0] != key:
            self.last = (key, self.evaluated(self.world(reading)))
        return self.last[1]

    def world(self, reading: Reading) -> World:
        static = self.static.get(None, frozenset())
        if self.query.dialect is Dialect.CSPARQL:
            merged = {triple for content in reading.values() for triple, _ in content} | static
            return {None: Graph((triple, 1) for triple in merged)}
        world: World = {name: self.graph(name, content) for name, content in reading.items()}
        return {None: self.graph(None, tuple((triple, 0) for triple in static)), **world}

    def graph(self, name: str | None, content: Content) -> Graph:
        known = self.graphs.get(name)
        if known is None or known[0] != content:
            bag = Counter(triple for triple, _ in content)
            known = (content, Graph(bag.items() if self.query.options.bag else ((triple, 1) for triple in bag)))
            self.graphs[name] = known
        return known[1]

    def evaluated(self, world: World) -> list[Row]:
        match self.query.form:
            case Form.ASK:
                return [("true" if self.select.solutions(world) else "false",)]
            case Form.CONSTRUCT:
                return sorted(self.constructed(world))
        rows = self.select.rows(world)
        return [orderly(row) for row in rows] if self.concatenates else rows

    def constructed(self, world: World) -> set[Row]:
        found: set[Row] = set()
        for solution in self.select.solutions(world):
            for pattern in self.query.template:
                triple = tuple(self.select.value(part, solution) for part in pattern)
                if None not in triple and str(triple[0])[0] != '"' and str(triple[1])[0] == "<":
                    found.add(triple)
        return found


class SelectPart:
    """One SELECT: a scope of variables with the pattern and what stands around it."""

    def __init__(self, select: Select, query: Query, window: str | None = None) -> None:
        self.select = select
        self.query = query
        self.places: dict[str, int] = {}
        self.where = self.group(select.where, window)
        texts = [*select.projection, *select.order_by, *([select.having] if select.having else [])]
        self.is_grouped = bool(select.group_by) or any(
            node.kind == "aggregate" for text in texts for node in self.nodes(text)
        )
        self.keys = [self.key(text, window) for text in select.group_by]
        self.columns = [self.column(text, window) for text in select.projection]
        self.having = None if select.having is None else self.expression(select.having, window)
        self.order = [self.ordering(text, window) for text in select.order_by]

    # Compiling.

    def place(self, name: str) -> int:
        return self.places.setdefault(name, len(self.places))

    def nodes(self, text: Text) -> list[Node]:
        return [] if text == "*" else formula.nodes(formula.parsed(expression_of(text)))

    def expression(self, text: Text, window: str | None) -> Compiled:
        return formula.compiled(formula.parsed(text), self.variable, lambda node: self.special(node, window))

    def variable(self, name: str) -> Compiled:
        place = self.place(name)

        def look(solution: Solution) -> str:
            value = solution[place] if place < len(solution) else None
            if value is None:
                raise ExpressionError(f"{name} is unbound")
            return value

        return look

    def special(self, node: Node, window: str | None) -> Compiled:
        if node.kind == "aggregate":
            return aggregate(node, self.variable, lambda one: self.special(one, window))
        if node.kind == "exists":
            assert node.group is not None
            return self.exists(node.group, window)
        look = self.variable(node.below[0].text)
        return lambda solution: TRUE if is_bound(look, solution) else FALSE

    def exists(self, exists: Exists, window: str | None) -> Compiled:
        inner = self.group(exists.group, window)

        def evaluate(solution: Solution) -> str:
            found = bool(inner(self.now, self.padded(solution)))
            return TRUE if found != exists.negated else FALSE

        return evaluate

    def padded(self, solution: Solution) -> Solution:
        return solution + (None,) * (len(self.places) - len(solution))

    def key(self, text: Text, window: str | None) -> tuple[int, Compiled]:
        return self.place(variable_of(text)), self.expression(expression_of(text), window)

    def column(self, text: Text, window: str | None) -> tuple[int, Compiled]:
        return self.key(text, window)

    def ordering(self, text: Text, window: str | None) -> tuple[bool, list[Compiled]]:
        descending = isinstance(text, str) and text.startswith("DESC(")
        words = text[4:] if descending and isinstance(text, str) else text
        keys = conditions(words) if isinstance(words, str) else [words]
        return descending, [self.expression(key, window) for key in keys]

    # Groups.

    def group(self, group: Group, window: str | None) -> Part:
        filters = [one for one in group.elements if isinstance(one, Filter | Exists)]
        steps = [self.step(one, window) for one in group.elements if not isinstance(one, Filter | Exists)]
        tests = [self.test(one, window) for one in filters]

        def evaluate(world: World, outer: Solution) -> Bag:
            bag: Bag = {outer: 1}
            for step in steps:
                bag = bounded(step(world, outer, bag))
                if not bag:
                    return bag
            return {row: count for row, count in bag.items() if all(holds(test, row) for test in tests)}

        return evaluate

    def test(self, element: Element, window: str | None) -> Compiled:
        if isinstance(element, Exists):
            return self.exists(element, window)
        assert isinstance(element, Filter)
        return self.expression(element.expression, window)

    def step(self, element: Element, window: str | None) -> Callable[[World, Solution, Bag], Bag]:
        match element:
            case Block():
                return self.block(element, window)
            case Optional(group):
                return self.optional(group, window)
            case Minus(group):
                inner = self.group(group, window)
                return lambda world, outer, bag: minus(bag, inner(world, outer))
            case Bind(expression, variable):
                return self.bind(expression, variable, window)
            case Values(variables, rows):
                return self.values(variables, rows)
            case Scope(Place.WINDOW, name, group):
                return self.joined(self.group(group, self.scope_of(name)))
            case Nested(group):
                return self.joined(self.group(group, window))
            case Union(branches):
                return self.joined(union([self.group(branch, window) for branch in branches]))
            case SubSelect(select):
                return self.joined(self.subselect(select, window))
        raise NotImplementedError(element)

    def scope_of(self, window: str | None) -> str | None:
        return None if self.query.dialect is Dialect.CSPARQL else window

    def joined(self, part: Part) -> Callable[[World, Solution, Bag], Bag]:
        return lambda world, outer, bag: join(bag, part(world, outer))

    def block(self, block: Block, window: str | None) -> Callable[[World, Solution, Bag], Bag]:
        """Patterns extend what is there: that is the join with each of them."""
        graph = window if block.window == HERE else self.scope_of(block.window)
        matchers = [self.matcher(pattern) for pattern in block.patterns]

        def evaluate(world: World, outer: Solution, bag: Bag) -> Bag:
            for matcher in matchers:
                bag = bounded(matcher(world[graph], outer, bag))
            return bag

        return evaluate

    def matcher(self, pattern: Pattern) -> Callable[[Graph, Solution, Bag], Bag]:
        subject, predicate, value = pattern
        if is_path(predicate):
            return self.path_matcher(subject, predicate, value)
        spots = [self.spot(part) for part in pattern]

        def evaluate(graph: Graph, _: Solution, bag: Bag) -> Bag:
            found: Bag = defaultdict(int)
            for row, count in bag.items():
                padded = self.padded(row)
                wanted = [constant if place is None else padded[place] for place, constant in spots]
                for candidate in graph.candidates(*wanted):
                    extended = bound(padded, spots, candidate)
                    if extended is not None:
                        found[extended] += count * candidate[3]
            return found

        return evaluate

    def spot(self, part: str) -> tuple[int | None, str | None]:
        """Where a part of a pattern stands in a solution, or the constant it is."""
        return (self.place(part), None) if part.startswith("?") else (None, term(part))

    def path_matcher(self, subject: str, predicate: str, value: str) -> Callable[[Graph, Solution, Bag], Bag]:
        spots = [self.spot(subject), self.spot(value)]
        path = parsed(predicate)

        def evaluate(graph: Graph, outer: Solution, bag: Bag) -> Bag:
            found: Bag = defaultdict(int)
            # What EXISTS puts in stands there as a term.
            first, last = (self.padded(outer)[place] if place is not None else term for place, term in spots)
            pairs = graph.pairs(path, (first, last))
            for row, count in bag.items():
                padded = self.padded(row)
                for pair, more in pairs.items():
                    extended = bound(padded, spots, pair)
                    if extended is not None:
                        found[extended] += count * more
            return found

        return evaluate

    def optional(self, group: Group, window: str | None) -> Callable[[World, Solution, Bag], Bag]:
        """The filters of the group see both sides."""
        filters = [one for one in group.elements if isinstance(one, Filter | Exists)]
        inner = self.group(Group(tuple(one for one in group.elements if one not in filters)), window)
        tests = [self.test(one, window) for one in filters]

        def evaluate(world: World, outer: Solution, bag: Bag) -> Bag:
            found: Bag = defaultdict(int)
            right = inner(world, outer)
            for row, count, matches in matched(bag, right):
                kept = [(one, more) for one, more in matches if all(holds(test, one) for test in tests)]
                for one, more in kept or [(row, 1)]:
                    found[one] += count * more
            return found

        return evaluate

    def bind(self, text: Text, variable: str, window: str | None) -> Callable[[World, Solution, Bag], Bag]:
        expression, place = self.expression(text, window), self.place(variable)

        def evaluate(_: World, __: Solution, bag: Bag) -> Bag:
            found: Bag = defaultdict(int)
            for row, count in bag.items():
                found[replaced(self.padded(row), place, value_or_none(expression, row))] += count
            return found

        return evaluate

    def values(
        self, variables: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
    ) -> Callable[[World, Solution, Bag], Bag]:
        places = [self.place(name) for name in variables]

        def evaluate(_: World, outer: Solution, bag: Bag) -> Bag:
            table: Bag = defaultdict(int)
            for row in rows:
                one: Solution = (None,) * len(self.padded(outer))
                for place, value in zip(places, row, strict=True):
                    one = replaced(one, place, None if value == "UNDEF" else term(value))
                table[one] += 1
            return join(bag, table)

        return evaluate

    def subselect(self, select: Select, window: str | None) -> Part:
        """A scope of its own, of which only the projected variables are seen."""
        inner = SelectPart(select, self.query, window)
        names = [variable_of(text) for text in select.projection]
        places = [self.place(name) for name in names]

        def evaluate(world: World, outer: Solution) -> Bag:
            found: Bag = defaultdict(int)
            for row in inner.rows(world):
                one: Solution = (None,) * len(self.padded(outer))
                for place, value in zip(places, row, strict=True):
                    one = replaced(one, place, value)
                found[one] += 1
            return found

        return evaluate

    # Evaluating.

    now: World

    def solutions(self, world: World) -> Bag:
        self.now = world
        return self.where(world, (None,) * len(self.places))

    def rows(self, world: World) -> list[Row]:
        bag = self.solutions(world)
        members: Iterable[tuple[Solution, int]] = self.groups(bag) if self.is_grouped else bag.items()
        keyed: list[tuple[list[object], Row]] = []
        for solution, count in members:
            if self.having is not None and not holds(self.having, solution):
                continue
            extended = self.projected(solution)
            row = tuple(extended[place] for place, _ in self.columns)
            keyed += [(self.order_of(extended), row)] * count
        return self.modified(keyed)

    def projected(self, solution: Solution) -> Solution:
        """With the values of `(expression AS ?v)`, each of which may use the ones before."""
        for place, expression in self.columns:
            value = value_or_none(expression, solution)
            solution = extended_by(solution, place, value, len(self.places))
        return solution

    def order_of(self, solution: Solution) -> list[object]:
        found: list[object] = []
        for descending, keys in self.order:
            for key in keys:
                value = value_or_none(key, solution)
                found.append(Backwards(value) if descending else order_key(value))
        return found

    def modified(self, keyed: list[tuple[list[object], Row]]) -> list[Row]:
        if self.order:
            keyed.sort(key=lambda one: one[0])
        rows = [row for _, row in keyed]
        if self.select.distinct or self.select.reduced:
            rows = list(dict.fromkeys(rows))
        start = self.select.offset or 0
        return rows[start : None if self.select.limit is None else start + self.select.limit]

    def groups(self, bag: Bag) -> Iterator[tuple[Solution, int]]:
        """Each group as a solution that has the keys, and the members for aggregates."""
        found: dict[tuple[str | None, ...], Members] = {}
        for solution, count in bag.items():
            key = tuple(value_or_none(expression, solution) for _, expression in self.keys)
            found.setdefault(key, Members()).rows.append((solution, count))
        if not found and not self.keys:
            found[()] = Members()
        for key, members in found.items():
            row: list[str | None] = [None] * len(self.places)
            for (place, _), value in zip(self.keys, key, strict=True):
                row[place] = value
            yield GroupSolution(row, members), 1

    def value(self, part: str, solution: Solution) -> str | None:
        if not part.startswith("?"):
            return term(part)
        place = self.places.get(part)
        return None if place is None or place >= len(solution) else solution[place]


class Backwards:
    """Sorts the other way round."""

    def __init__(self, value: str | None) -> None:
        self.value = value

    def __lt__(self, other: Backwards) -> bool:
        return order(self.value, other.value) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backwards) and order(self.value, other.value) == 0

    __hash__ = None  # type: ignore[assignment]  # Python's way to say unhashable


# Expressions over solutions.


def expression_of(text: Text) -> Text:
    """Of `(expression AS ?v)` the expression; a variable is one itself."""
    words = text if isinstance(text, str) else str(text.parts[-1])
    if " AS ?" not in words:
        return text
    if isinstance(text, str):
        return text[1 : text.rindex(" AS ?")]
    first, *rest = text.parts
    last = words[: words.rindex(" AS ?")]
    if not rest:
        return Parts((last[1:],))
    return Parts((str(first)[1:], *rest[:-1], last))


def conditions(text: str) -> list[str]:
    """The keys of an ORDER BY that were written as one: parted by blanks outside brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == " " and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one for one in found if one]


def holds(test: Compiled, solution: Solution) -> bool:
    try:
        return truth(test(solution))
    except ExpressionError:
        return False


def is_bound(look: Compiled, solution: Solution) -> bool:
    return value_or_none(look, solution) is not None


def replaced(solution: Solution, place: int, value: str | None) -> Solution:
    return (*solution[:place], value, *solution[place + 1 :])


def union(parts: list[Part]) -> Part:
    def evaluate(world: World, outer: Solution) -> Bag:
        found: Bag = defaultdict(int)
        for part in parts:
            for row, count in part(world, outer).items():
                found[row] += count
        return found

    return evaluate
