"""The W3C tests of SPARQL 1.1 Update, as their manifests list them, read from the archive without unpacking it."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyoxigraph as ox
from reference_data import reference_path

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE = "w3c/rdf-tests.tar.gz"
INSIDE = "rdf-tests/sparql/sparql11/"
# Where the suite lives on the web; relative IRIs in requests and data resolve against it.
BASE = "https://w3c.github.io/rdf-tests/sparql/sparql11/"
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

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

# A term of pyoxigraph, which has no name for all of them.
Node: TypeAlias = Any
Kind: TypeAlias = Literal["evaluation", "positive", "negative"]
KINDS: dict[str, Kind] = {
    "UpdateEvaluationTest": "evaluation",
    "PositiveUpdateSyntaxTest11": "positive",
    "NegativeUpdateSyntaxTest11": "negative",
    "NegativeSyntaxTest11": "negative",
}


@dataclass(frozen=True, slots=True)
class Store:
    """What is in the graphs: files by the names of graphs, None for the default graph."""

    graphs: tuple[tuple[str | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One test. Files are paths below `sparql11/`."""

    id: str
    kind: Kind
    request: str
    before: Store = Store()
    after: Store = Store()


class Suite:
    """The files of the archive and the tests in them."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def content(self, path: str) -> bytes:
        """A file as it is."""
        return self._files[path]

    def dataset(self, store: Store) -> ox.Dataset:
        """The graphs as one dataset; blank nodes of two files are different."""
        dataset = ox.Dataset()
        for name, path in store.graphs:
            graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
            for triple in self._triples(path):
                dataset.add(ox.Quad(triple.subject, triple.predicate, triple.object, graph))
        return dataset

    def entries(self) -> list[Entry]:
        """All tests, in the order of the manifests."""
        return [entry for directory in DIRECTORIES for entry in self._entries(directory)]

    def _triples(self, path: str) -> list[ox.Triple]:
        quads = ox.parse(self._files[path], ox.RdfFormat.TURTLE, base_iri=BASE + path, rename_blank_nodes=True)
        return [quad.triple for quad in quads]

    def _entries(self, directory: str) -> Iterator[Entry]:
        manifest = _Manifest(self._triples(f"{directory}/manifest.ttl"))
        for node in manifest.listed(manifest.subject(MF + "entries"), MF + "entries"):
            kind = KINDS[manifest.one(node, RDF + "type").value.removeprefix(MF)]
            action = manifest.one(node, MF + "action")
            name = f"{directory}/{node.value.partition('#')[2]}"
            if kind != "evaluation":
                yield Entry(name, kind, _path(action))
                continue
            request = _path(manifest.one(action, UT + "request"))
            after = manifest.store(manifest.one(node, MF + "result"))
            yield Entry(name, kind, request, manifest.store(action), after)


class _Manifest:
    """Questions about the triples of a manifest."""

    def __init__(self, triples: list[ox.Triple]) -> None:
        self._triples = triples

    def values(self, subject: Node, predicate: str) -> list[Node]:
        return [t.object for t in self._triples if t.subject == subject and t.predicate.value == predicate]

    def one(self, subject: Node, predicate: str) -> Node:
        (value,) = self.values(subject, predicate)
        return value

    def subject(self, predicate: str) -> Node:
        (found,) = [t.subject for t in self._triples if t.predicate.value == predicate]
        return found

    def listed(self, subject: Node, predicate: str) -> Iterator[Node]:
        node = self.one(subject, predicate)
        while node.value != RDF + "nil":
            yield self.one(node, RDF + "first")
            node = self.one(node, RDF + "rest")

    def store(self, node: Node) -> Store:
        default = [(None, _path(file)) for file in self.values(node, UT + "data")]
        named = [
            (self.one(graph, RDFS + "label").value, _path(self.one(graph, UT + "graph")))
            for graph in self.values(node, UT + "graphData")
        ]
        return Store((*default, *named))


def _path(node: Node) -> str:
    return str(node.value).removeprefix(BASE)


def find_archive() -> Path | None:
    """The archive; None when it is not there."""
    path = reference_path("data", ARCHIVE)
    return path if path is not None and path.is_file() else None


@cache
def load_suite() -> Suite | None:
    """The suite; None when the archive is absent."""
    archive = find_archive()
    if archive is None:
        return None
    with tarfile.open(archive) as tar:
        inside = [
            (member.name.partition(INSIDE)[2], tar.extractfile(member)) for member in tar if INSIDE in member.name
        ]
        return Suite({name: file.read() for name, file in inside if file is not None})
