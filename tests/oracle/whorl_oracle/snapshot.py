"""One evaluation: plain SPARQL over the content of the windows, by pyoxigraph or by rdflib."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

import pyoxigraph as ox
import rdflib

from whorl_oracle.compare import orderly
from whorl_oracle.model import Dialect, Graphs, Static, Triple, changed
from whorl_oracle.query import Form, Query
from whorl_oracle.spelling import element_graph, event_graph, plain_text, time_function
from whorl_oracle.standard import order_functions, standard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl_oracle.run import Row
    from whorl_oracle.windows import Reading

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")
NONE: Graphs = {}
Functions = dict[ox.NamedNode, "Callable[..., Term | None]"]


@lru_cache(maxsize=100_000)
def term(text: str) -> ox.NamedNode | ox.Literal:
    """The term with this N-Triples text."""
    quad = next(iter(ox.parse(f"<x:s> <x:p> {text} .", ox.RdfFormat.N_TRIPLES)))
    assert isinstance(quad.object, ox.NamedNode | ox.Literal)
    return quad.object


@lru_cache(maxsize=100_000)
def quad(triple: Triple, graph: str | None) -> ox.Quad:
    subject, predicate, value = map(term, triple)
    assert isinstance(subject, ox.NamedNode)
    assert isinstance(predicate, ox.NamedNode)
    return ox.Quad(subject, predicate, value, ox.NamedNode(graph) if graph is not None else ox.DefaultGraph())


def named_graphs(query: Query, static: Graphs) -> list[str]:
    if query.from_graphs is not None or query.from_named is not None:
        return list(query.from_named or ())
    return [name for name in static if name is not None]


def static_quads(query: Query, static: Graphs) -> Iterator[tuple[Triple, str | None]]:
    """The static graphs the query can see: all, or what FROM and FROM NAMED say; a default window hides the first."""
    chosen = query.from_graphs is not None or query.from_named is not None
    # CQELS-QL names graphs by FROM NAMED and reads the default graph beside them.
    beside = query.dialect is Dialect.CQELS and not query.from_graphs
    defaults: tuple[str | None, ...] = (query.from_graphs or ()) if chosen and not beside else (None,)
    for name in defaults if query.default_window is None else ():
        yield from ((triple, None) for triple in static.get(name, ()))
    for name in named_graphs(query, static):
        yield from ((triple, name) for triple in static.get(name, ()))


def quads(query: Query, static: Graphs, reading: Reading) -> Iterator[tuple[Triple, str | None]]:
    """The dataset: static data, and windows (or their elements, and the graphs of their events) in named graphs."""
    yield from static_quads(query, static)
    for window, content in reading.items():
        bare = query.dialect is Dialect.CSPARQL or window == query.default_window
        for triple, number in content:
            yield triple, None if bare and not query.options.bag else window
            if query.options.bag:
                yield triple, element_graph(window, number)
            elif reading.events and (graph := reading.events[number].graph) is not None:
                yield triple, event_graph(window, graph)


def times(reading: Reading) -> Functions:
    """Functions that know the time of the newest copy of a triple or of a graph, in one window or in all."""
    found: Functions = {}
    everywhere = tuple(one for content in reading.values() for one in content)
    for window, content in (*reading.items(), (None, everywhere)):
        newest: dict[tuple[str, ...], int] = {}
        for triple, number in content:
            event = reading.events[number]
            for key in (triple, (f"<{event.graph}>",)):
                newest[key] = max(newest.get(key, event.at), event.at)
        for arguments in (1, 3):
            found[ox.NamedNode(time_function(window, arguments))] = time_among(newest)
    return found


def time_among(newest: dict[tuple[str, ...], int]) -> Callable[..., Term | None]:
    def time(*terms: Term) -> Term | None:
        at = newest.get(tuple(map(str, terms)))
        return ox.Literal(False) if at is None else ox.Literal(str(at), datatype=INTEGER)

    return time


def instant_text(at: int) -> str:
    """An instant as SPARQL writes it, without needless digits."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
    fraction = f"{at % 1000:03}".rstrip("0")
    return f'"{moment:%Y-%m-%dT%H:%M:%S}{"." + fraction if fraction else ""}Z"^^xsd:dateTime'


class Snapshots:
    """Evaluations by pyoxigraph over static data that may change; equal contents are evaluated once."""

    def __init__(self, query: Query, static: Graphs = NONE) -> None:
        self.query = query
        self.static = static
        self.text = standard(plain_text(query))
        self.known: dict[object, list[Row]] = {}
        self.timed = "urn:time:" in self.text

    def change(self, action: Static) -> None:
        self.static = changed(self.static, action)
        self.known = {}

    def __call__(self, reading: Reading) -> list[Row]:
        key = (*sorted(reading.items()), reading.at if "NOW()" in self.text else None)
        if key not in self.known:
            self.known[key] = self.evaluate(reading)
        return self.known[key]

    def evaluate(self, reading: Reading) -> list[Row]:
        store = ox.Store()
        store.extend([quad(triple, graph) for triple, graph in quads(self.query, self.static, reading)])
        # A graph or a window without triples is there too.
        for name in (*reading, *named_graphs(self.query, self.static)):
            store.add_graph(ox.NamedNode(name))
        text = self.text.replace("NOW()", instant_text(reading.at))
        functions = order_functions() | (times(reading) if self.timed else {})
        if self.query.form is Form.DESCRIBE:
            return described(self.query, store, text, functions)
        found = store.query(text, custom_functions=functions)
        match found:
            case ox.QuerySolutions():
                names = [name.value for name in found.variables]
                rows = [tuple(None if value is None else str(value) for value in row) for row in found]
                return [orderly(by_name(names, row) if self.query.select.projection == ("*",) else row) for row in rows]
            case ox.QueryTriples():
                return sorted({(str(one.subject), str(one.predicate), str(one.object)) for one in found})
        return [("true" if found else "false",)]


def by_name(names: list[str], row: Row) -> Row:
    """A row of `SELECT *` in the order of its names, without those of the spelling."""
    found = {name: value for name, value in zip(names, row, strict=True) if not name.startswith("_")}
    return tuple(found[name] for name in sorted(found))


def described(query: Query, store: ox.Store, text: str, functions: Functions) -> list[Row]:
    """The triples of the default graph and of all windows that begin with what was found or named."""
    head = "DESCRIBE " + " ".join(query.described)
    variables = [name for name in query.described if name.startswith("?")]
    found = {ox.NamedNode("http://ex/" + name[1:]) for name in query.described if name.startswith(":")}
    if variables:
        solutions = store.query(text.replace(head, "SELECT " + " ".join(variables)), custom_functions=functions)
        assert isinstance(solutions, ox.QuerySolutions)
        found |= {value for row in solutions for value in row if isinstance(value, ox.NamedNode)}
    places: list[ox.NamedNode | ox.DefaultGraph] = [
        ox.DefaultGraph(),
        *(ox.NamedNode(window.name) for window in query.windows),
    ]
    triples = {
        (str(one.subject), str(one.predicate), str(one.object))
        for subject in found
        for place in places
        for one in store.quads_for_pattern(subject, None, None, place)
    }
    return sorted(triples)


def by_rdflib(query: Query, static: Graphs = NONE) -> Callable[[Reading], list[Row]]:
    """An evaluator by rdflib: slow, and no relation of the engine's."""
    text = plain_text(query)

    def evaluate(reading: Reading) -> list[Row]:
        dataset = rdflib.Dataset()
        for triple, graph in quads(query, static, reading):
            target = dataset.graph(rdflib.URIRef(graph)) if graph is not None else dataset.default_graph
            s, p, o = (rdflib_term(part) for part in triple)
            target.add((s, p, o))
        rows = dataset.query(text)
        return [tuple(None if value is None else value.n3() for value in row) for row in rows]  # type: ignore[union-attr]  # rdflib terms

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
