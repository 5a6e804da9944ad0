"""One evaluation: plain SPARQL over the content of the windows, by pyoxigraph or by rdflib."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyoxigraph as ox
import rdflib

from whorl_oracle.model import Dialect, Triple
from whorl_oracle.query import Query, element_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl_oracle.run import Row
    from whorl_oracle.windows import Content


@lru_cache(maxsize=100_000)
def term(text: str) -> ox.NamedNode | ox.Literal:
    """The term with this N-Triples text."""
    quad = next(iter(ox.parse(f"<x:s> <x:p> {text} .", ox.RdfFormat.N_TRIPLES)))
    assert isinstance(quad.object, ox.NamedNode | ox.Literal)
    return quad.object


def quads(query: Query, static: Sequence[Triple], contents: dict[str, Content]) -> Iterator[tuple[Triple, str | None]]:
    """The dataset: static triples in the default graph, windows (or their elements) in named graphs."""
    for triple in static:
        yield triple, None
    for window, content in contents.items():
        for triple, number in content:
            if query.dialect is Dialect.CSPARQL:
                yield triple, None
            elif query.options.bag:
                yield triple, element_graph(window, number)
            else:
                yield triple, window


def by_pyoxigraph(query: Query, static: Sequence[Triple] = ()) -> Callable[[dict[str, Content]], list[Row]]:
    """An evaluator by pyoxigraph; equal contents are evaluated once."""
    text = query.plain_text()
    known: dict[object, list[Row]] = {}

    def evaluate(contents: dict[str, Content]) -> list[Row]:
        key = tuple(sorted(contents.items()))
        if key not in known:
            store = ox.Store()
            for (s, p, o), graph in quads(query, static, contents):
                name = ox.NamedNode(graph) if graph is not None else ox.DefaultGraph()
                subject, predicate = term(s), term(p)
                assert isinstance(subject, ox.NamedNode)
                assert isinstance(predicate, ox.NamedNode)
                store.add(ox.Quad(subject, predicate, term(o), name))
            solutions = store.query(text)
            assert isinstance(solutions, ox.QuerySolutions)
            known[key] = [tuple(None if value is None else str(value) for value in row) for row in solutions]
        return known[key]

    return evaluate


def by_rdflib(query: Query, static: Sequence[Triple] = ()) -> Callable[[dict[str, Content]], list[Row]]:
    """An evaluator by rdflib: slow, and no relation of the engine's."""
    text = query.plain_text()

    def evaluate(contents: dict[str, Content]) -> list[Row]:
        dataset = rdflib.Dataset()
        for triple, graph in quads(query, static, contents):
            target = dataset.graph(rdflib.URIRef(graph)) if graph is not None else dataset.default_graph
            s, p, o = (rdflib_term(part) for part in triple)
            target.add((s, p, o))
        rows = dataset.query(text)
        return [tuple(None if value is None else value.n3() for value in row) for row in rows]  # type: ignore[union-attr]

    return evaluate


@lru_cache(maxsize=100_000)
def rdflib_term(text: str) -> rdflib.term.Identifier:
    """The same term for rdflib, without normalising its lexical form."""
    value = term(text)
    if isinstance(value, ox.NamedNode):
        return rdflib.URIRef(value.value)
    if value.language is not None:
        return rdflib.Literal(value.value, lang=value.language)
    if value.datatype.value == str(rdflib.XSD.string):
        return rdflib.Literal(value.value)
    return rdflib.Literal(value.value, datatype=rdflib.URIRef(value.datatype.value), normalize=False)
