"""One store for all snapshots of a query: static data stays, the content of the windows is brought up to date.

The content comes from the oracle's own cutting of windows; only the difference to the last snapshot is written.
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache

import pyoxigraph as ox
from whorl_oracle.model import Dialect, Triple
from whorl_oracle.run import Row
from whorl_oracle.windows import Content

from whorl_workloads.data import XSD, Static
from whorl_workloads.plain import ELEMENT_OF, ELEMENTS, MEDIAN, Plain

# A triple in a window; with bag semantics in one of its elements.
Occurrence = tuple[str, Triple, int]


@lru_cache(maxsize=1_000_000)
def term(text: str) -> ox.NamedNode | ox.Literal:
    """The term with this N-Triples text."""
    if text.startswith("<"):
        return ox.NamedNode(text[1:-1])
    quad = next(iter(ox.parse(f"<x:s> <x:p> {text} .", ox.RdfFormat.N_TRIPLES)))
    assert isinstance(quad.object, ox.Literal)
    return quad.object


class Snapshots:
    """Answers of a query to the contents of its windows."""

    def __init__(self, plain: Plain, static: Static, *, bag: bool) -> None:
        self.plain = plain
        self.bag = bag
        self.store = ox.Store()
        self.present: set[Occurrence] = set()
        self.fixed: set[ox.Quad] = set()
        self._load(static)

    def _load(self, static: Static) -> None:
        default, named = self.plain.default_graphs, self.plain.named_graphs
        for graph, body in static.items():
            if graph is not None and (named is None or graph in named):
                self.store.bulk_load(body, ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))
            if (graph is None) if default is None else (graph in default):
                self.store.bulk_load(body, ox.RdfFormat.N_TRIPLES)
        if self.plain.dialect is Dialect.CSPARQL:
            self.fixed = set(self.store.quads_for_pattern(None, None, None, ox.DefaultGraph()))

    def __call__(self, contents: dict[str, Content]) -> list[Row]:
        """The solutions; a constructed graph is a list of triples, ASK one row with a boolean."""
        self._bring_up_to_date(contents)
        answer = self.store.query(self.plain.text, custom_aggregate_functions={ox.NamedNode(MEDIAN): Median})
        if isinstance(answer, ox.QueryBoolean):
            return [("true" if answer else "false",)]
        if isinstance(answer, ox.QueryTriples):
            return [(str(one.subject), str(one.predicate), str(one.object)) for one in set(answer)]
        return [tuple(None if value is None else str(value) for value in row) for row in answer]

    def _bring_up_to_date(self, contents: dict[str, Content]) -> None:
        if self.bag:
            wanted = {(window, triple, number) for window, of in contents.items() for triple, number in of}
        else:
            wanted = {(self._graph(window), triple, 0) for window, of in contents.items() for triple, _ in of}
        for gone in self.present - wanted:
            quad = self._quad(*gone)
            if quad not in self.fixed:
                self.store.remove(quad)
        for new in wanted - self.present:
            self.store.add(self._quad(*new))
            if self.bag:
                self._say_element_of(*new)
        self.present = wanted

    def _graph(self, window: str) -> str:
        return "" if self.plain.dialect is Dialect.CSPARQL else window

    def _quad(self, window: str, triple: Triple, number: int) -> ox.Quad:
        subject, predicate, value = (term(part) for part in triple)
        assert isinstance(subject, ox.NamedNode)
        assert isinstance(predicate, ox.NamedNode)
        if not window:
            return ox.Quad(subject, predicate, value, ox.DefaultGraph())
        return ox.Quad(subject, predicate, value, ox.NamedNode(f"{window}#{number}" if self.bag else window))

    def _say_element_of(self, window: str, _: Triple, number: int) -> None:
        """It may stay when the element has gone: nothing is found in an empty graph."""
        element = ox.NamedNode(f"{window}#{number}")
        self.store.add(ox.Quad(element, ox.NamedNode(ELEMENT_OF), ox.NamedNode(window), ox.NamedNode(ELEMENTS)))


class Median:
    """The middle value, or half of the two in the middle."""

    def __init__(self) -> None:
        self.values: list[Decimal] = []
        self.is_double = False

    def accumulate(self, element: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> None:
        assert isinstance(element, ox.Literal)
        self.is_double |= element.datatype.value == f"{XSD}double"
        self.values.append(Decimal(element.value))

    def finish(self) -> ox.Literal | None:
        if not self.values:
            return None
        ranked = sorted(self.values)
        middle = len(ranked) // 2
        value = ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2
        assert not math.isnan(value)
        return ox.Literal(str(value), datatype=ox.NamedNode(f"{XSD}{'double' if self.is_double else 'decimal'}"))
