"""The oracle's own evaluation: SPARQL 1.1 §18 over bags of solutions, by definition and without a plan.

A solution is a tuple with a place for every variable of its scope, None where unbound; a bag is a dict from solutions
to how often they are there. Groups are evaluated on their own and joined, as the algebra says. Inside EXISTS the outer
solution is put in: every pattern begins with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from whorl_oracle import formula
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
from whorl_oracle.values import (
    ExpressionError,
    Number,
    as_number,
    calculate,
    order,
    order_key,
    parts,
    string,
    truth,
    write,
)

if TYPE_CHECKING:
    from whorl_oracle.run import Row
    from whorl_oracle.windows import Reading

Solution = tuple[str | None, ...]
Bag = dict[Solution, int]
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

    def change(self, action: Static) -> None:
        self.static = changed(self.static, action)
        self.last = None

    def __call__(self, reading: Reading) -> list[Row]:
        key = dict(reading)
        if self.last is None or self.last[0] != key:
            self.last = (key, self.evaluated(self.world(reading)))
        return self.last[1]

    def world(self, reading: Reading) -> World:
        static = [(triple, 1) for triple in self.static.get(None, ())]
        bags = {name: Counter(triple for triple, _ in content) for name, content in reading.items()}
        if self.query.dialect is Dialect.CSPARQL:
            merged = {triple for bag in bags.values() for triple in bag} | {triple for triple, _ in static}
            return {None: Graph((triple, 1) for triple in merged)}
        world: World = {None: Graph(static)}
        for name, bag in bags.items():
            world[name] = Graph(bag.items() if self.query.options.bag else ((triple, 1) for triple in bag))
        return world

    def evaluated(self, world: World) -> list[Row]:
        match self.query.form:
            case Form.ASK:
                return [("true" if self.select.solutions(world) else "false",)]
            case Form.CONSTRUCT:
                return sorted(self.constructed(world))
        return [orderly(row) for row in self.select.rows(world)]

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
        return lambda solution: formula.TRUE if is_bound(look, solution) else formula.FALSE

    def exists(self, exists: Exists, window: str | None) -> Compiled:
        inner = self.group(exists.group, window)

        def evaluate(solution: Solution) -> str:
            found = bool(inner(self.now, self.padded(solution)))
            return formula.TRUE if found != exists.negated else formula.FALSE

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
                bag = step(world, outer, bag)
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

        def evaluate(world: World, _: Solution, bag: Bag) -> Bag:
            for matcher in matchers:
                bag = matcher(world[graph], bag)
            return bag

        return evaluate

    def matcher(self, pattern: Pattern) -> Callable[[Graph, Bag], Bag]:
        subject, predicate, value = pattern
        if is_path(predicate):
            return self.path_matcher(subject, predicate, value)
        spots = [self.spot(part) for part in pattern]

        def evaluate(graph: Graph, bag: Bag) -> Bag:
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

    def path_matcher(self, subject: str, predicate: str, value: str) -> Callable[[Graph, Bag], Bag]:
        spots = [self.spot(subject), self.spot(value)]
        path = parsed(predicate)

        def evaluate(graph: Graph, bag: Bag) -> Bag:
            found: Bag = defaultdict(int)
            pairs = graph.pairs(path, (spots[0][1], spots[1][1]))
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
                one = (None,) * len(self.padded(outer))
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
            keyed.sort(key=lambda one: one[0])  # type: ignore[arg-type, return-value]
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


class Members:
    """The solutions of a group."""

    def __init__(self) -> None:
        self.rows: list[tuple[Solution, int]] = []


class GroupSolution(tuple[str | None, ...]):
    """A solution with the members of its group."""

    members: Members

    def __new__(cls, row: Iterable[str | None], members: Members) -> GroupSolution:
        made = super().__new__(cls, row)
        made.members = members
        return made


class Backwards:
    """Sorts the other way round."""

    def __init__(self, value: str | None) -> None:
        self.value = value

    def __lt__(self, other: Backwards) -> bool:
        return order(self.value, other.value) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backwards) and order(self.value, other.value) == 0

    __hash__ = None  # type: ignore[assignment]


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


def value_or_none(expression: Compiled, solution: Solution) -> str | None:
    try:
        return expression(solution)
    except ExpressionError:
        return None


def replaced(solution: Solution, place: int, value: str | None) -> Solution:
    return (*solution[:place], value, *solution[place + 1 :])


def extended_by(solution: Solution, place: int, value: str | None, width: int) -> Solution:
    row = list(solution) + [None] * (width - len(solution))
    row[place] = value
    return GroupSolution(row, solution.members) if isinstance(solution, GroupSolution) else tuple(row)


# Aggregates.


def aggregate(node: Node, variable: Callable[[str], Compiled], special: Callable[[Node], Compiled]) -> Compiled:
    name, _, distinct = node.text.partition(" ")
    separator = node.below[-1].text
    inner = formula.compiled(node.below[0], variable, special) if len(node.below) > 1 else None

    def evaluate(solution: Solution) -> str:
        assert isinstance(solution, GroupSolution)
        values = list(members_of(solution.members, inner))
        if distinct:
            values = [(value, 1) for value in dict.fromkeys(value for value, _ in values)]
        return AGGREGATES[name](values, separator)

    return evaluate


Weighted = list[tuple[str | None, int]]


def members_of(members: Members, inner: Compiled | None) -> Iterator[tuple[str | None, int]]:
    """The values of the members, None for an error; `*` takes whole solutions."""
    for row, count in members.rows:
        yield ("" if inner is None else value_or_none(inner, row)), count


def count_of(values: Weighted, _: str) -> str:
    return write(Number("integer", sum(count for value, count in values if value is not None)))


def sum_of(values: Weighted, _: str) -> str:
    return write(total(values))


def total(values: Weighted) -> Number:
    """The type follows the values; an error among them is an error of the sum."""
    found = Number("integer", 0)
    for value, count in values:
        if value is None:
            raise ExpressionError("an error among the values")
        found = calculate("+", found, calculate("*", as_number(value), Number("integer", count)))
    return found


def average_of(values: Weighted, _: str) -> str:
    count = sum(more for _, more in values)
    if count == 0:
        return write(Number("integer", 0))
    return write(calculate("/", total(values), Number("integer", count)))


def least(values: Weighted, _: str) -> str:
    return extreme(values, 1)


def greatest(values: Weighted, _: str) -> str:
    return extreme(values, -1)


def extreme(values: Weighted, sign: int) -> str:
    known = [value for value, _ in values if value is not None]
    if not known or len(known) < len(values):
        raise ExpressionError("nothing to choose from, or an error among the values")
    best = known[0]
    for value in known[1:]:
        if order(value, best) * sign < 0:
            best = value
    return best


def sample(values: Weighted, _: str) -> str:
    known = sorted(value for value, _ in values if value is not None)
    if not known:
        raise ExpressionError("nothing to choose from")
    return known[0]


def concatenated(values: Weighted, separator: str) -> str:
    if any(value is None for value, _ in values):
        raise ExpressionError("an error among the values")
    return string(separator.join(parts(str(value))[0] for value, count in values for _ in range(count)))


AGGREGATES: dict[str, Callable[[Weighted, str], str]] = {
    "COUNT": count_of,
    "SUM": sum_of,
    "AVG": average_of,
    "MIN": least,
    "MAX": greatest,
    "SAMPLE": sample,
    "GROUP_CONCAT": concatenated,
}


# Bags.


def bound(row: Solution, spots: list[tuple[int | None, str | None]], values: Iterable[object]) -> Solution | None:
    """The solution with the values in their places; None where they do not fit."""
    made: list[str | None] | None = None
    for (place, constant), value in zip(spots, values, strict=False):
        if place is None:
            if constant != value:
                return None
            continue
        here = (made or row)[place]
        if here is None:
            made = list(row) if made is None else made
            made[place] = value  # type: ignore[assignment]
        elif here != value:
            return None
    return row if made is None else tuple(made)


def union(parts: list[Part]) -> Part:
    def evaluate(world: World, outer: Solution) -> Bag:
        found: Bag = defaultdict(int)
        for part in parts:
            for row, count in part(world, outer).items():
                found[row] += count
        return found

    return evaluate


def join(left: Bag, right: Bag) -> Bag:
    found: Bag = defaultdict(int)
    for _, count, matches in matched(left, right):
        for row, more in matches:
            found[row] += count * more
    return found


def matched(left: Bag, right: Bag) -> Iterator[tuple[Solution, int, list[tuple[Solution, int]]]]:
    """Each solution on the left, how often it is there, and what it makes with the compatible ones on the right."""
    keys = certain(left) & certain(right)
    table: dict[tuple[str | None, ...], list[tuple[Solution, int]]] = defaultdict(list)
    for row, count in right.items():
        table[tuple(row[place] for place in keys)].append((row, count))
    for row, count in left.items():
        near = table.get(tuple(row[place] for place in keys), ())
        merged = ((merge(row, other), more) for other, more in near)
        yield row, count, [(one, more) for one, more in merged if one is not None]


def certain(bag: Bag) -> set[int]:
    """Places that are bound in every solution."""
    if not bag:
        return set()
    rows = iter(bag)
    found = {place for place, value in enumerate(next(rows)) if value is not None}
    for row in rows:
        found = {place for place in found if place < len(row) and row[place] is not None}
    return found


def merge(left: Solution, right: Solution) -> Solution | None:
    if len(left) < len(right):
        left, right = right, left
    made = list(left)
    for place, value in enumerate(right):
        if value is None:
            continue
        if made[place] is None:
            made[place] = value
        elif made[place] != value:
            return None
    return tuple(made)


def minus(left: Bag, right: Bag) -> Bag:
    return {row: count for row, count in left.items() if not any(excludes(other, row) for other in right)}


def excludes(other: Solution, row: Solution) -> bool:
    """Compatible, and with a variable in common."""
    shared = [(a, b) for a, b in zip(row, other, strict=False) if a is not None and b is not None]
    return bool(shared) and all(a == b for a, b in shared)
