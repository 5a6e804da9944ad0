"""Triple stores for baselines: named graphs for the windows, static data beside them, and queries over both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, cast

import pyoxigraph as ox
from rdflib.term import Node
from whorl_oracle.model import Triple
from whorl_workloads.data import Event, Static
from whorl_workloads.plain import MEDIAN, Plain
from whorl_workloads.snapshot import Median, Snapshots, term

from whorl_bench.contestants.windows import Change, Placed

Rows: TypeAlias = Counter[tuple[str | None, ...]]


class Store(Protocol):
    """The interface that a baseline needs."""

    def apply(self, change: Change) -> None:
        """Bring the windows up to date."""

    def ask(self, text: str) -> Rows:
        """The solutions, terms as N-Triples."""


class OxigraphStore:
    """pyoxigraph's store in memory."""

    def __init__(self, plain: Plain, static: Static) -> None:
        self._store = Snapshots(plain, static, bag=False).store

    def apply(self, change: Change) -> None:
        """Remove, then add."""
        for placed in change.went:
            self._store.remove(_quad(placed))
        for placed in change.came:
            self._store.add(_quad(placed))

    def ask(self, text: str) -> Rows:
        """By its own evaluator; MEDIAN is our implementation, as in the tests."""
        answer = self._store.query(text, custom_aggregate_functions={ox.NamedNode(MEDIAN): Median})
        if isinstance(answer, ox.QueryBoolean):
            return Counter({("true" if answer else "false",): 1})
        if isinstance(answer, ox.QueryTriples):
            return Counter((str(one.subject), str(one.predicate), str(one.object)) for one in set(answer))
        return Counter(tuple(None if value is None else str(value) for value in row) for row in answer)


def _quad(placed: Placed) -> ox.Quad:
    window, triple = placed
    subject, predicate, value = (term(part) for part in triple)
    # Subjects and predicates of benchmark data are IRIs.
    return ox.Quad(subject, predicate, value, ox.NamedNode(window))  # type: ignore[arg-type]  # any term


class RdflibStore:
    """rdflib's dataset."""

    def __init__(self, plain: Plain, static: Static) -> None:
        import rdflib

        self._data = rdflib.Dataset(default_union=False)
        self._terms: dict[str, Node] = {}
        for graph in plain.static_graphs(static):
            target = self._data.graph(rdflib.URIRef(graph)) if graph else self._data.default_graph
            target.parse(data=static[graph], format="nt")

    def apply(self, change: Change) -> None:
        """Remove, then add."""
        import rdflib

        for window, triple in change.went:
            self._data.graph(rdflib.URIRef(window)).remove(self._triple(triple))
        for window, triple in change.came:
            self._data.graph(rdflib.URIRef(window)).add(self._triple(triple))

    def _triple(self, triple: Triple) -> tuple[Node, Node, Node]:
        subject, predicate, value = (self._term(part) for part in triple)
        return subject, predicate, value

    def _term(self, text: str) -> Node:
        from rdflib.util import from_n3

        if text not in self._terms:
            self._terms[text] = cast("Node", from_n3(text))
        return self._terms[text]

    def ask(self, text: str) -> Rows:
        """By its own evaluator."""
        rows = [row for row in self._data.query(text) if not isinstance(row, bool)]
        return Counter(tuple(_written(value) for value in row) for row in rows)


def _written(value: Node | None) -> str | None:
    return None if value is None else value.n3()


STORES: dict[str, Callable[[Plain, Static], Store]] = {"pyoxigraph": OxigraphStore, "rdflib": RdflibStore}


def make_terms(events: Iterable[Event]) -> None:
    """Create the terms of events once, before the clock starts."""
    for event in events:
        for triple in event.triples:
            for part in triple:
                term(part)
