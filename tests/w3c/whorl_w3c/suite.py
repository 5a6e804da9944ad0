"""The tests as the manifests list them, read from the archive without unpacking it."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, RdfFormat, Triple, parse
from reference_data import reference_path

from whorl_w3c.graph import RDF, Graph, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whorl_w3c.graph import Term

ARCHIVE = "w3c/rdf-tests.tar.gz"
# Where the suite lives on the web; relative IRIs in queries and data resolve against it.
BASE = "https://w3c.github.io/rdf-tests/sparql/"
MANIFESTS = (
    "sparql10/manifest.ttl",
    "sparql11/manifest-sparql11-query.ttl",
    "sparql11/manifest-sparql11-results.ttl",
    "sparql11/syntax-fed/manifest.ttl",
)

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
FORMATS = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "rdf": RdfFormat.RDF_XML}


class Kind(Enum):
    """What is to be seen in a test."""

    EVALUATION = "evaluation"
    POSITIVE = "positive syntax"
    NEGATIVE = "negative syntax"


KINDS = {
    "QueryEvaluationTest": Kind.EVALUATION,
    "CSVResultFormatTest": Kind.EVALUATION,
    "PositiveSyntaxTest": Kind.POSITIVE,
    "PositiveSyntaxTest11": Kind.POSITIVE,
    "NegativeSyntaxTest": Kind.NEGATIVE,
    "NegativeSyntaxTest11": Kind.NEGATIVE,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One test. Files are paths below `sparql/`; graphs are named by the IRIs of their files."""

    directory: str
    name: str
    kind: Kind
    query: str
    data: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    result: str = ""
    lax: bool = False

    @property
    def id(self) -> str:
        """As `sparql10/algebra/nested-opt-1`."""
        return f"{self.directory}/{self.name}"


class Suite:
    """The files of the archive, by their paths below `sparql/`, and the tests in them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def __contains__(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files

    def content(self, path: str) -> bytes:
        """A file as it is."""
        return self._files[path]

    def triples(self, path: str) -> list[Triple]:
        """An RDF file; blank nodes of two files are different."""
        body, syntax = self._files[path], FORMATS[path.rpartition(".")[2]]
        return [quad.triple for quad in parse(body, syntax, base_iri=BASE + path, rename_blank_nodes=True)]

    def entries(self) -> list[Entry]:
        """All tests, in the order of the manifests."""
        return [entry for manifest in MANIFESTS for entry in self._entries(manifest)]

    def _entries(self, path: str) -> Iterator[Entry]:
        manifest = Graph(self.triples(path))
        for included in manifest.values(MF + "include"):
            for node in manifest.items(included):
                yield from self._entries(path_of(node))
        for entries in manifest.values(MF + "entries"):
            for node in manifest.items(entries):
                yield _entry(manifest, node, path.rpartition("/")[0])


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
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, path = member.name.partition("/sparql/")
            if path and (body := tar.extractfile(member)) is not None:
                files[path] = body.read()
    return Suite(files)


def path_of(node: Term) -> str:
    """The file that an IRI names."""
    iri = text(node)
    if not iri.startswith(BASE):
        raise ValueError(f"{iri} is outside of the suite")
    return iri.removeprefix(BASE)


def _entry(manifest: Graph, node: Term, directory: str) -> Entry:
    action = manifest.one(node, MF + "action")
    result = manifest.optional(node, MF + "result")
    return Entry(
        directory,
        text(node).rpartition("#")[2],
        KINDS[manifest.text(node, RDF + "type").removeprefix(MF)],
        path_of(manifest.optional(action, QT + "query") or action),
        tuple(map(path_of, manifest.objects(action, QT + "data"))),
        tuple(map(path_of, manifest.objects(action, QT + "graphData"))),
        "" if result is None else path_of(result),
        manifest.optional(node, MF + "resultCardinality") == NamedNode(MF + "LaxCardinality"),
    )
