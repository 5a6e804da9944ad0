"""A small graph to read manifests and expected results from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class Graph:
    """Triples by subject and predicate."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._objects: dict[tuple[Term, str], list[Term]] = defaultdict(list)
        for triple in triples:
            self._objects[triple.subject, triple.predicate.value].append(triple.object)

    def subjects(self, predicate: str, value: Term) -> list[Term]:
        """Who has the value."""
        return [subject for (subject, found), values in self._objects.items() if found == predicate and value in values]

    def values(self, predicate: str) -> list[Term]:
        """All values, of whomever."""
        return [value for (_, found), values in self._objects.items() if found == predicate for value in values]

    def objects(self, subject: Term, predicate: str) -> list[Term]:
        """All values."""
        return self._objects.get((subject, predicate), [])

    def optional(self, subject: Term, predicate: str) -> Term | None:
        """The value, if there is one."""
        found = self.objects(subject, predicate)
        if len(found) > 1:
            raise ValueError(f"{subject} has several {predicate}")
        return found[0] if found else None

    def one(self, subject: Term, predicate: str) -> Term:
        """The value."""
        found = self.optional(subject, predicate)
        if found is None:
            raise ValueError(f"{subject} has no {predicate}")
        return found

    def text(self, subject: Term, predicate: str) -> str:
        """The value as text."""
        return text(self.one(subject, predicate))

    def items(self, node: Term) -> Iterator[Term]:
        """The members of a list."""
        while node != NamedNode(RDF + "nil"):
            yield self.one(node, RDF + "first")
            node = self.one(node, RDF + "rest")


def text(term: Term) -> str:
    """An IRI, or the lexical form of a literal."""
    if not isinstance(term, NamedNode | Literal):
        raise TypeError(f"{term} has no text")
    return term.value
