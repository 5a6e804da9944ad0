"""Random pairs of a query from the whole language and its streams, from a seed.

All patterns, expressions, aggregates, modifiers and forms of SPARQL 1.1; three dialects; windows as default graph;
graphs of events; static data that changes. `exclusions` says what is left out.
"""

from __future__ import annotations

from dataclasses import replace

from whorl_oracle.expressions import Around
from whorl_oracle.model import Action, Change, Dialect, Options, Push, R2s, Static
from whorl_oracle.patterns import EVENT_GRAPHS, Patterns
from whorl_oracle.query import (
    Block,
    Form,
    Group,
    Pattern,
    Place,
    Query,
    Scope,
    Select,
    Text,
    all_elements,
    variable_of,
)
from whorl_oracle.spelling import GRAPHS
from whorl_oracle.streams import Pair, StaticQuad
from whorl_oracle.vocabulary import CLASSES, INTEGERS, LABELS, LINKS, MEASURES, NODES, ODD, iri


def pair(seed: int) -> Pair:
    """The pair of a seed."""
    return _Whole(seed).pair()


def with_predicate(seed: int) -> tuple[Pair, Text]:
    """A pair whose query only selects, and a condition over its variables."""
    whole = _Whole(seed)
    whole.only_selects = True
    one = whole.pair()
    # The condition reads no other windows: they would bring other instants.
    whole.windows = one.query.windows
    return one, whole.finished(whole.boolean(list(map(str, one.query.select.projection))))


def constructing(seed: int) -> Pair:
    """A pair whose query is an RSP-QL CONSTRUCT: what it makes is a stream."""
    whole = _Whole(seed)
    whole.only_constructs = True
    return whole.pair()


class _Whole(Patterns):
    only_selects = False
    only_constructs = False
    sizes = (2, 3, 5, 8)

    def pair(self) -> Pair:
        self.draw_setting()
        while self.only_constructs and self.dialect is not Dialect.RSPQL:
            self.draw_setting()
        options = self.make_options()
        if self.dialect is Dialect.CQELS and self.chance(0.6):
            options = replace(options, bag=False, r2s=self.rng.choice(list(R2s)))
        if self.dialect is Dialect.CSPARQL and self.chance(0.5):
            options = replace(options, r2s=self.rng.choice(list(R2s)))
        self.bag = options.bag
        if self.dialect is Dialect.RSPQL and self.chance(0.12):
            self.default_window = self.windows[0].name
        query = self.make_query(options).without_unused_windows()
        if not query.windows:
            # Everything fell on static data: give the query a stream to follow.
            block = Block(self.windows[0].name, ((self.variable(), ":p", self.variable()),))
            where = Group((block, *query.select.where.elements))
            query = replace(query, select=replace(query.select, where=where), windows=self.windows)
            query = replace(query, default_window=self.default_window).without_unused_windows()
        static = self.static_data()
        return Pair(self.seed, query, static, self.whole_actions(query, static))

    # Data.

    def static_data(self) -> tuple[StaticQuad, ...]:
        extra: set[StaticQuad] = {(None, self.triple([])) for _ in range(self.rng.randint(0, 5))}
        for graph in GRAPHS:
            extra |= {(graph, self.static_triple()) for _ in range(self.rng.randint(0, 7))}
        return (*self.make_static(), *sorted(extra, key=str))

    def static_triple(self) -> tuple[str, str, str]:
        name = self.rng.choice([*LINKS, *MEASURES, *LABELS, "type", "size"])
        if name == "type":
            return self.node(), iri(name), iri(self.rng.choice(CLASSES))
        if name == "size":
            return self.node(), iri(name), self.rng.choice(INTEGERS)
        return self.node(), iri(name), self.node() if name in LINKS else self.value(name)

    def whole_actions(self, query: Query, static: tuple[StaticQuad, ...]) -> tuple[Action, ...]:
        actions = list(self.make_actions(query))
        if self.events_have_graphs:
            actions = [self.in_graph(action) for action in actions]
        if self.reads_static(query) and self.chance(0.5):
            for _ in range(self.rng.randint(1, 4)):
                actions.insert(self.rng.randint(0, len(actions)), self.static_change(static))
        return tuple(actions)

    def in_graph(self, action: Action) -> Action:
        if isinstance(action, Push) and self.chance(0.7):
            return replace(action, graph=self.rng.choice(EVENT_GRAPHS))
        return action

    def reads_static(self, query: Query) -> bool:
        return query.dialect is Dialect.CSPARQL or any(
            (isinstance(one, Block) and one.window is None) or (isinstance(one, Scope) and one.place is Place.GRAPH)
            for one in all_elements(query.select)
        )

    def static_change(self, static: tuple[StaticQuad, ...]) -> Static:
        rng, graph = self.rng, self.rng.choice([None, *GRAPHS])
        change = rng.choice(list(Change))
        if change is Change.DROP:
            return Static(change, graph)
        if change is Change.DELETE:
            there = [triple for name, triple in static if name == graph] or [self.static_triple()]
            return Static(change, graph, tuple(rng.sample(there, rng.randint(1, min(3, len(there))))))
        return Static(change, graph, tuple(self.static_triple() for _ in range(rng.randint(1, 4))))

    # Forms.

    def make_query(self, options: Options) -> Query:
        form = self.rng.choices(list(Form), weights=[80, 8, 6, 6], k=1)[0]
        form = Form.CONSTRUCT if self.only_constructs else form
        froms, named = self.dataset()
        query = Query(
            Select(("*",), Group(())),
            self.windows,
            options,
            self.dialect,
            form,
            default_window=self.default_window,
            from_graphs=froms,
            from_named=named,
        )
        if self.only_selects:
            where, names = self.group(self.around, [])
            return replace(query, form=Form.SELECT, select=Select(tuple(names or ["?nowhere"]), where))
        if form is Form.SELECT:
            select = self.select(self.around, [], top=True)
            if select.reduced:
                query = replace(query, options=replace(options, r2s=R2s.RSTREAM))
            return replace(query, select=select)
        where, names = self.group(self.around, [])
        select = Select(("*",), where)
        if form is Form.CONSTRUCT:
            template = tuple(self.template_pattern(names) for _ in range(self.rng.randint(1, 3)))
            if self.chance(0.2):
                select = replace(select, order_by=self.total_order(names), limit=self.rng.randint(1, 4))
            return replace(query, select=select, template=template)
        if form is Form.DESCRIBE:
            resources = [*names, *(f":{name}" for name in NODES[:2])]
            query = replace(
                query, described=tuple(self.rng.sample(resources, self.rng.randint(1, min(2, len(names) + 2))))
            )
        return replace(query, select=select)

    def dataset(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """FROM and FROM NAMED."""
        if self.default_window is not None or not self.chance(0.08):
            return None, None
        chosen = [tuple(name for name in GRAPHS if self.chance(0.6)) for _ in range(2)]
        return (chosen[0], chosen[1]) if any(chosen) else (None, None)

    def template_pattern(self, names: list[str]) -> Pattern:
        parts = [*names, *names, ":a", ":b", ":p"]
        predicate = self.rng.choice([":p", ":made", *(names if self.chance(0.2) else [])])
        return self.rng.choice(parts), predicate, self.rng.choice([*parts, "1", '"x"@en'])

    # SELECT.

    def select(self, around: Around, hints: list[str], *, top: bool = False) -> Select:
        where, names = self.group(around, hints)
        make = self.aggregated if self.chance(0.3) else self.projected
        return self.modified(make(where, names, top=top), top=top)

    def projected(self, where: Group, names: list[str], *, top: bool) -> Select:
        if self.chance(0.08) and names:
            return Select(("*",), where)
        columns: list[Text] = [name for name in names if self.chance(0.7)] or list(names[:1])
        if self.chance(0.25) or not columns:
            columns.append(self.computed(self.anything(names, 2)))
        distinct = self.chance(0.3)
        reduced = top and not distinct and self.dialect is Dialect.RSPQL and self.chance(0.04)
        values = self.values(names) if names and self.chance(0.05) else None
        return Select(tuple(columns), where, distinct=distinct, reduced=reduced, values=values)

    def computed(self, expression: str) -> Text:
        return self.finished(f"({expression} AS {self.variable()})")

    def modified(self, select: Select, *, top: bool) -> Select:
        if select.projection == ("*",) or select.reduced or not self.chance(0.25 if top else 0.2):
            return select
        if any("GROUP_CONCAT" in str(item) for item in select.projection):
            return select  # Its values have no order.
        rng, columns = self.rng, [variable_of(item) for item in select.projection]
        if top and self.chance(0.2):
            # An order that leaves rows side by side: compared as bags.
            return replace(select, order_by=(self.finished(self.anything(columns, 1).join("()")),), total=False)
        limit = rng.randint(0, 4) if not top or self.chance(0.8) else None
        offset = rng.randint(1, 2) if self.chance(0.3) else None
        order = self.total_order(columns)
        if any("COUNT(" in item for item in select.projection if isinstance(item, str)) and self.chance(0.3):
            order = (rng.choice(["DESC(COUNT(*))", "(COUNT(*))"]), *order)
        return replace(select, order_by=order, limit=limit, offset=offset)

    def total_order(self, columns: list[str]) -> tuple[str, ...]:
        """An order in which no two different rows are beside each other.

        Terms of different kinds have no order in SPARQL: kinds come first, where a column may have several.
        """
        keys: list[str] = []
        simple = self.numbers is not ODD
        for column in columns:
            kind = self.kinds.get(column) if simple else None
            key = column if kind in ("node", "number") else f"{self.kind_keys(column)} {column} STR({column})"
            keys.append(f"DESC({column})" if key == column and self.chance(0.4) else key)
        self.rng.shuffle(keys)
        return tuple(keys)

    def kind_keys(self, column: str) -> str:
        return f"isIRI({column}) STR(DATATYPE({column})) LANG({column})"

    def aggregated(self, where: Group, names: list[str], *, top: bool) -> Select:
        rng = self.rng
        grouping: list[Text] = list(rng.sample(names, min(len(names), rng.choice([0, 1, 1, 1, 2]))))
        keys = [str(name) for name in grouping]
        if self.chance(0.2):
            key = self.variable()
            grouping.append(self.finished(f"(COALESCE({self.anything(names, 2)}) AS {key})"))
            keys.append(key)
        columns: list[Text] = [key for key in keys if self.chance(0.9)]
        columns += [self.computed(self.aggregate_expression(names, keys, top=top)) for _ in range(rng.randint(1, 2))]
        having = None
        if self.chance(0.25):
            test = f"{self.aggregate(names, keys, top=False)} {rng.choice(['>', '<=', '=', '!='])} {rng.randint(0, 3)}"
            having = self.finished(f"{test} || {self.boolean(keys, 1)}" if keys and self.chance(0.3) else test)
        return Select(tuple(columns), where, group_by=tuple(grouping), having=having, distinct=self.chance(0.1))

    def aggregate_expression(self, names: list[str], keys: list[str], *, top: bool) -> str:
        call = self.aggregate(names, keys, top=top)
        if self.chance(0.8) or "CONCAT" in call:
            return call
        other = self.aggregate(names, keys, top=False)
        return self.rng.choice([f"({call} + {other})", f"IF({call} > 1, {other}, -1)", f"COALESCE({call}, {other})"])

    def aggregate(self, names: list[str], keys: list[str], *, top: bool) -> str:
        rng, distinct = self.rng, "DISTINCT " if self.chance(0.3) else ""
        name = rng.choice(["COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT", "SAMPLE"])
        if name == "COUNT" or not names:
            return f"COUNT({distinct}{rng.choice(names)})" if names and self.chance(0.6) else "COUNT(*)"
        if name == "SAMPLE":
            return f"SAMPLE({rng.choice(keys)})" if keys else "COUNT(*)"
        if name == "GROUP_CONCAT":
            value = f"STR({self.one_of(names)})" if self.chance(0.7) else f"STR({self.anything(names, 1)})"
            return f'GROUP_CONCAT({distinct}{value}; SEPARATOR="|")' if top else f"SUM(STRLEN({value}))"
        if name in ("MIN", "MAX"):
            return f"{name}({distinct}{self.comparable(names)})"
        return f"{name}({distinct}{self.one_of(names, 'number') if self.chance(0.8) else self.number(names, 2)})"

    def comparable(self, names: list[str]) -> str:
        """Values of which no two different ones are equal or without order."""
        numbers = [name for name in names if self.kinds.get(name) == "number"]
        if numbers and self.numbers is not ODD and self.chance(0.7):
            return self.rng.choice(numbers)
        return f"STR({self.rng.choice(names)})"
