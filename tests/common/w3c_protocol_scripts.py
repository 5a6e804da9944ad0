"""The W3C's tests of protocols as scripts of HTTP requests, read from their manifests.

A script is a list of requests with what their responses must be. Paths begin with `/sparql/` or `/gsp`, which the
manifests tell runners to replace; `$LOCATION$` stands for what an earlier response said.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import cache

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Store, Triple
from reference_data import reference_path

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
HT = "http://www.w3.org/2011/http#"
CNT = "http://www.w3.org/2011/content#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_ARCHIVE = ("data", "w3c", "rdf-tests.tar.gz")

Term = NamedNode | BlankNode | Literal | Triple


@dataclass(frozen=True)
class Exchange:
    """One request, and what its response must be; what is None does not matter."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    statuses: frozenset[str]
    boolean: bool | None
    form: str | None
    answer: str | None
    media_type: str | None


@dataclass(frozen=True)
class Script:
    name: str
    exchanges: tuple[Exchange, ...]


@cache
def scripts(manifest: str) -> tuple[Script, ...]:
    """The scripts of a manifest below `sparql11/`; none where the archive is not there."""
    archive = reference_path(*_ARCHIVE)
    if archive is None:
        return ()
    base = f"https://w3c.github.io/rdf-tests/sparql/sparql11/{manifest}"
    with tarfile.open(archive) as files:
        member = files.extractfile(f"rdf-tests/sparql/sparql11/{manifest}")
        assert member is not None
        store = Store()
        store.load(member.read(), format=RdfFormat.TURTLE, base_iri=base)
    reader = _Reader(store)
    return tuple(reader.script(entry) for entry in reader.list(reader.one(NamedNode(base), MF + "entries")))


class _Reader:
    def __init__(self, store: Store) -> None:
        self._store = store

    def script(self, entry: Term) -> Script:
        name = str(entry).rpartition("#")[2].rstrip(">")
        requests = self.one(self.one(entry, MF + "action"), HT + "requests")
        return Script(name, tuple(self._exchange(request) for request in self.list(requests)))

    def _exchange(self, request: Term) -> Exchange:
        response = self.one(request, HT + "resp")
        expected = self._headers(response)
        boolean = self._text(response, MF + "expectedBoolean")
        return Exchange(
            method=self._text(request, HT + "methodName") or "GET",
            path=self._text(request, HT + "absolutePath") or "",
            headers=self._headers(request),
            body=self._body(request),
            statuses=frozenset(
                str(status).rpartition("#")[2].rstrip(">") for status in self.all(response, MF + "expectedStatus")
            ),
            boolean=None if boolean is None else boolean == "true",
            form=self._text(response, MF + "expectedFormat"),
            answer=self._body(response).decode() or None,
            media_type=expected.get("content-type"),
        )

    def _body(self, message: Term) -> bytes:
        bodies = self.all(message, HT + "body")
        if not bodies:
            return b""
        text = self._text(bodies[0], CNT + "chars") or ""
        return text.encode(self._text(bodies[0], CNT + "characterEncoding") or "utf-8")

    def _headers(self, message: Term) -> dict[str, str]:
        lists = self.all(message, HT + "headers")
        fields = self.list(lists[0]) if lists else []
        named = [(self._text(one, HT + "fieldName"), self._text(one, HT + "fieldValue")) for one in fields]
        return {name.lower(): value for name, value in named if name is not None and value is not None}

    def all(self, subject: Term, predicate: str) -> list[Term]:
        assert not isinstance(subject, Literal)
        return [quad.object for quad in self._store.quads_for_pattern(subject, NamedNode(predicate), None, None)]

    def one(self, subject: Term, predicate: str) -> Term:
        (found,) = self.all(subject, predicate)
        return found

    def _text(self, subject: Term, predicate: str) -> str | None:
        found = self.all(subject, predicate)
        return found[0].value if found and isinstance(found[0], Literal | NamedNode) else None

    def list(self, head: Term) -> list[Term]:
        items = []
        while not (isinstance(head, NamedNode) and head.value == RDF + "nil"):
            items.append(self.one(head, RDF + "first"))
            head = self.one(head, RDF + "rest")
        return items
