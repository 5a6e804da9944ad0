"""Random pairs of a query and its streams, from a seed: the part of the language that is evaluated incrementally.

Answers must be determined by the semantics alone: wherever terms are ordered (ORDER BY with LIMIT, MIN, MAX) no two
different terms of the pair have equal values; blank nodes do not occur. `whole` draws from the whole language.
"""

from __future__ import annotations

from dataclasses import replace

from whorl_oracle.query import (
    Bind,
    Block,
    Element,
    Exists,
    Filter,
    Group,
    Minus,
    Optional,
    Pattern,
    Query,
    Select,
    SubSelect,
    Union,
    Values,
)
from whorl_oracle.streams import Pair, Streams
from whorl_oracle.vocabulary import CLASSES, LINKS, MEASURES, NODES, ODD, ORDERLY

__all__ = ["Pair", "pair"]


def pair(seed: int) -> Pair:
    """The pair of a seed."""
    return _Generator(seed).pair()


class _Generator(Streams):
    def pair(self) -> Pair:
        self.draw_setting()
        options = self.make_options()
        select = self.make_select()
        query = Query(select, self.windows, options, self.dialect).without_unused_windows()
        if not query.windows:
            # Everything fell on static data: give the query a stream to follow.
            block = Block(self.windows[0].name, ((self.variable(), ":p", self.variable()),))
            where = Group((block, *select.where.elements))
            query = replace(query, select=replace(select, where=where), windows=self.windows)
            query = query.without_unused_windows()
        return Pair(self.seed, query, self.make_static(), self.make_actions(query))

    # Queries. `known` are variables certainly bound by the group so far; `numeric` those bound to measures.

    def make_select(self) -> Select:
        where, known, numeric = self.body()
        if self.chance(0.3):
            select = self.aggregated(where, known, numeric)
        else:
            kept = [name for name in known if self.chance(0.75)] or known[:1]
            select = Select(tuple(kept), where, distinct=self.chance(0.25))
        if self.ordered:
            variables = tuple(f"?{name}" for name in select.variables())
            order = tuple(f"DESC({name})" if self.chance(0.4) else name for name in variables)
            select = replace(
                select,
                order_by=order,
                limit=self.rng.randint(1, 4) if self.chance(0.8) else None,
                offset=self.rng.randint(1, 2) if self.chance(0.3) else None,
            )
        return select

    def body(self) -> tuple[Group, list[str], list[str]]:
        patterns, known, numeric = self.shape()
        elements: list[Element] = self.in_blocks(patterns)
        if self.chance(0.2):
            elements.append(self.static_block(known, numeric))
        for make, probability in (
            (self.with_subselect, 0.08),
            (self.with_values, 0.08),
            (self.with_optional, 0.22),
            (self.with_minus, 0.12),
            (self.with_exists, 0.2),
            (self.with_union, 0.1),
            (self.with_bind, 0.12),
            (self.with_filter, 0.35),
        ):
            if self.chance(probability):
                elements += make(known, numeric)
        return Group(tuple(elements)), list(dict.fromkeys(known)), numeric

    def shape(self) -> tuple[list[Pattern], list[str], list[str]]:
        """One to four patterns: alone, star, chain, cycle; some end in a measure."""
        rng = self.rng
        x, y, z = self.variable(), self.variable(), self.variable()
        shapes: list[list[Pattern]] = [
            [(x, self.link(), y)],
            [(x, self.link(), y), (x, self.link(), z)],
            [(x, self.link(), y), (y, self.link(), z)],
            [(x, self.link(), y), (y, self.link(), z), (z, self.link(), x)],
            [(x, self.link(), y), (y, self.link(), x)],
            [(x, self.link(), x)],
        ]
        patterns = rng.choices(shapes, weights=[40, 18, 20, 8, 5, 2], k=1)[0]
        numeric: list[str] = []
        if self.chance(0.65):
            n = self.variable()
            measure = (x, f":{rng.choice(MEASURES)}", n)
            patterns = [measure] if self.chance(0.4) else [*patterns, measure]
            numeric.append(n)
        if self.chance(0.1):
            patterns.append((x, self.variable(), self.variable()))
        if self.chance(0.25):
            patterns = self.with_constant(patterns)
        rng.shuffle(patterns)
        return patterns, variables_of(patterns), [n for n in numeric if n in variables_of(patterns)]

    def link(self) -> str:
        return f":{self.rng.choice(LINKS)}"

    def with_constant(self, patterns: list[Pattern]) -> list[Pattern]:
        """One variable becomes a node, everywhere; at least one variable stays."""
        names = variables_of(patterns)
        if len(names) < 2:
            return patterns
        chosen = self.rng.choice([name for name in names if any(name in (p[0], p[2]) for p in patterns)])
        node = f":{NODES[0] if self.chance(0.6) else self.rng.choice(NODES)}"
        return [(node if s == chosen else s, p, node if o == chosen else o) for s, p, o in patterns]

    def in_blocks(self, patterns: list[Pattern]) -> list[Element]:
        """Patterns on windows; neighbours on the same window share a block."""
        found: list[Element] = []
        for pattern in patterns:
            window = self.rng.choice(self.windows).name
            last = found[-1] if found else None
            if isinstance(last, Block) and last.window == window:
                found[-1] = Block(window, (*last.patterns, pattern))
            else:
                found.append(Block(window, (pattern,)))
        return found

    def static_block(self, known: list[str], numeric: list[str]) -> Block:
        subject = self.rng.choice(known)
        if self.chance(0.5):
            return Block(None, ((subject, ":type", f":{self.rng.choice(CLASSES)}"),))
        size = self.variable()
        known.append(size)
        numeric.append(size)
        return Block(None, ((subject, ":size", size),))

    def attached(self, known: list[str], numeric: list[str]) -> tuple[list[Element], str, bool]:
        """A block that shares a variable with the group, its new variable, and whether that is a measure."""
        shared, new = self.rng.choice(known), self.variable()
        measured = self.chance(0.5)
        if measured:
            pattern = (shared, f":{self.rng.choice(MEASURES)}", new)
        else:
            link = f":{self.rng.choice(LINKS)}"
            pattern = (shared, link, new) if self.chance(0.6) else (new, link, shared)
        if self.chance(0.15):
            return [Block(None, ((shared, ":size", new),))], new, True
        elements = self.in_blocks([pattern])
        if self.chance(0.4):
            elements.append(Filter(self.condition([*known, new], [*numeric, *([new] if measured else [])])))
        return elements, new, measured

    def condition(self, known: list[str], numeric: list[str]) -> str:
        rng = self.rng
        x, y = rng.choice(known), rng.choice(known)
        choices = [f"{x} != {y}", f"{x} = :a", f"{x} IN (:a, :b)", f"isIRI({x})", f"!({x} = {y})"]
        if numeric:
            n, m = rng.choice(numeric), rng.choice(numeric)
            less = rng.choice(["<", ">", "=", "!="])
            choices += [f"{n} {less} 2"] * 3
            choices += [f"{n} {less} {m}", f"{n} + 1 {less} {m} * 2", f"{n} {less} 1.5 || {x} = :a"]
            choices += [f"!({n} {less} 2) && {x} != :b"]
        return rng.choice(choices)

    def with_filter(self, known: list[str], numeric: list[str]) -> list[Element]:
        return [Filter(self.condition(known, numeric))]

    def with_optional(self, known: list[str], numeric: list[str]) -> list[Element]:
        elements, new, measured = self.attached(known, numeric)
        found: list[Element] = [Optional(Group(tuple(elements)))]
        if self.chance(0.25):
            found.append(Filter(f"{'!' if self.chance(0.5) else ''}BOUND({new})"))
        known.append(new)
        if measured:
            numeric.append(new)
        return found

    def with_minus(self, known: list[str], numeric: list[str]) -> list[Element]:
        inside = known if self.chance(0.9) else [self.variable()]
        elements, new, measured = self.attached(inside, [])
        elements = [element for element in elements if not isinstance(element, Filter)]
        if measured and self.chance(0.4):
            elements.append(Filter(f"{new} > 1"))
        del numeric
        return [Minus(Group(tuple(elements)))]

    def with_exists(self, known: list[str], numeric: list[str]) -> list[Element]:
        elements, _, _ = self.attached(known, numeric)
        return [Exists(Group(tuple(elements)), negated=self.chance(0.6))]

    def with_union(self, known: list[str], numeric: list[str]) -> list[Element]:
        del numeric
        shared, new = self.rng.choice(known), self.variable()
        links = [f":{self.rng.choice(LINKS)}" for _ in range(2)]
        left = self.in_blocks([(shared, links[0], new)])
        right = self.in_blocks([(new, links[1], shared) if self.chance(0.5) else (shared, links[1], new)])
        known.append(new)
        return [Union((Group(tuple(left)), Group(tuple(right))))]

    def with_bind(self, known: list[str], numeric: list[str]) -> list[Element]:
        new = self.variable()
        choices = [f"STR({self.rng.choice(known)})", f"({self.rng.choice(known)} = :a)"]
        if numeric:
            n = self.rng.choice(numeric)
            choices += [f"({n} + 1)", f"({n} * {n})", f'IF({n} > 2, "high", "low")', f"COALESCE({n} / 0, -1)"]
        known.append(new)
        return [Bind(self.rng.choice(choices), new)]

    def with_values(self, known: list[str], numeric: list[str]) -> list[Element]:
        free = [name for name in known if name not in numeric]
        if not free:
            return []
        terms = tuple(f":{name}" for name in self.rng.sample(NODES, self.rng.randint(1, 3)))
        # A repeated row doubles the solutions.
        rows = tuple((term,) for term in terms) * (2 if self.chance(0.2) else 1)
        return [Values((self.rng.choice(free),), rows)]

    def with_subselect(self, known: list[str], numeric: list[str]) -> list[Element]:
        shared, inner, new = self.rng.choice(known), self.variable(), self.variable()
        block = self.in_blocks([(shared, f":{self.rng.choice(LINKS)}", inner)])
        where = Group(tuple(block))
        known.append(new)
        if self.chance(0.6):
            numeric.append(new)
            return [SubSelect(Select((shared, f"(COUNT({inner}) AS {new})"), where, group_by=(shared,)))]
        known[-1] = inner
        return [SubSelect(Select((shared, inner), where, distinct=self.chance(0.5)))]

    def aggregated(self, where: Group, known: list[str], numeric: list[str]) -> Select:
        rng = self.rng
        grouping = rng.sample(known, min(len(known), rng.choice([0, 1, 1, 1, 2])))
        found, having = [], None
        for _ in range(rng.randint(1, 3)):
            call = self.aggregate(known, numeric)
            found.append(f"({call} AS {self.variable()})")
        if self.chance(0.25):
            having = f"{self.aggregate(known, numeric)} {rng.choice(['>', '<=', '='])} {rng.randint(1, 3)}"
        projection = tuple([name for name in grouping if self.chance(0.9)] + found)
        return Select(projection, where, group_by=tuple(grouping), having=having)

    def aggregate(self, known: list[str], numeric: list[str]) -> str:
        rng = self.rng
        distinct = "DISTINCT " if self.chance(0.25) else ""
        if not numeric or self.chance(0.35):
            return rng.choice(["COUNT(*)", f"COUNT({distinct}{rng.choice(known)})"])
        name = rng.choice(["SUM", "AVG", "MIN", "MAX"])
        if name in ("MIN", "MAX") and self.numbers is ODD:
            self.numbers = ORDERLY
        return f"{name}({distinct}{rng.choice(numeric)})"


def variables_of(patterns: list[Pattern]) -> list[str]:
    """In order of appearance, each once."""
    return list(dict.fromkeys(part for pattern in patterns for part in pattern if part.startswith("?")))
