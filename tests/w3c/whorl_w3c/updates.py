"""The tests of SPARQL 1.1 Update, as their manifests list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyoxigraph as ox

from whorl_w3c.graph import RDF, Graph, text
from whorl_w3c.suite import MF, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl_w3c.graph import Term
    from whorl_w3c.suite import Suite

DIRECTORIES = (
    "basic-update",
    "delete",
    "delete-data",
    "delete-insert",
    "delete-where",
    "clear",
    "drop",
    "add",
    "move",
    "copy",
    "update-silent",
    "syntax-update-1",
    "syntax-update-2",
)
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

Kind: TypeAlias = Literal["evaluation", "positive", "negative"]
KINDS: dict[str, Kind] = {
    "UpdateEvaluationTest": "evaluation",
    "PositiveUpdateSyntaxTest11": "positive",
    "NegativeUpdateSyntaxTest11": "negative",
    "NegativeSyntaxTest11": "negative",
}
# What is in the graphs: files by the names of graphs, None for the default graph.
Store: TypeAlias = tuple[tuple[str | None, str], ...]


@dataclass(frozen=True, slots=True)
class Update:
    """One test."""

    id: str
    kind: Kind
    request: str
    before: Store = ()
    after: Store = ()


def updates(suite: Suite) -> list[Update]:
    """All tests, in the order of the manifests."""
    return [update for directory in DIRECTORIES for update in _updates(suite, directory)]


def dataset(suite: Suite, store: Store) -> ox.Dataset:
    """The graphs as one dataset; blank nodes of two files are different."""
    found = ox.Dataset()
    for name, path in store:
        graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
        for triple in suite.triples(path):
            found.add(ox.Quad(triple.subject, triple.predicate, triple.object, graph))
    return found


def _updates(suite: Suite, directory: str) -> Iterator[Update]:
    manifest = Graph(suite.triples(f"sparql11/{directory}/manifest.ttl"))
    for entries in manifest.values(MF + "entries"):
        for node in manifest.items(entries):
            kind = KINDS[manifest.text(node, RDF + "type").removeprefix(MF)]
            action = manifest.one(node, MF + "action")
            name = f"{directory}/{text(node).rpartition('#')[2]}"
            if kind == "evaluation":
                request = path_of(manifest.one(action, UT + "request"))
                after = _store(manifest, manifest.one(node, MF + "result"))
                yield Update(name, kind, request, _store(manifest, action), after)
            else:
                yield Update(name, kind, path_of(action))


def _store(manifest: Graph, node: Term) -> Store:
    default = [(None, path_of(file)) for file in manifest.objects(node, UT + "data")]
    named = [
        (manifest.text(graph, RDFS + "label"), path_of(manifest.one(graph, UT + "graph")))
        for graph in manifest.objects(node, UT + "graphData")
    ]
    return (*default, *named)
