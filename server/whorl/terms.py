"""RDF terms as Python values.

Input: a `str` is an IRI in every position (`_:name` is a blank node); `int`, `float`, `bool`, `Decimal`,
`datetime` and `date` are literals of the matching XSD type; `Literal` is any literal; terms of rdflib and pyoxigraph
are accepted as they are. Output: `Iri`, `BlankNode`, the Python values above (a plain string is a `str`), `TripleTerm`,
and `Literal` for what has no Python value of its own. rdflib has no triple terms and no directions: a triple term
becomes a literal with its text, and a direction is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as TypingLiteral

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib.term

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class Iri(str):
    """An IRI. Equal to a `str` of the same text."""

    __slots__ = ()

    def __repr__(self) -> str:
        """As it would be written."""
        return f"Iri({str.__repr__(self)})"


class BlankNode(str):
    """A blank node, by its label without `_:`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """As it would be written."""
        return f"BlankNode({str.__repr__(self)})"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal by its lexical form; a language makes it a language-tagged string, which may have a direction."""

    value: str
    datatype: str = XSD_STRING
    language: str | None = None
    direction: TypingLiteral["ltr", "rtl"] | None = None


@dataclass(frozen=True, slots=True)
class TripleTerm:
    """A triple as a term: `<<( subject predicate object )>>`."""

    subject: Iri | BlankNode | str
    predicate: Iri | str
    object: Term


Term = Iri | BlankNode | Literal | TripleTerm | str | int | float | bool | Decimal | datetime | date
RdflibTerm: TypeAlias = "rdflib.term.Node"
_OxigraphSubject: TypeAlias = "pyoxigraph.NamedNode | pyoxigraph.BlankNode"
OxigraphTerm: TypeAlias = "_OxigraphSubject | pyoxigraph.Literal | pyoxigraph.Triple"
OxigraphTriple: TypeAlias = "tuple[_OxigraphSubject, pyoxigraph.NamedNode, OxigraphTerm]"
# Input may also be a term of rdflib or pyoxigraph; anything else is a TypeError.
Triple = tuple[object, object, object]
