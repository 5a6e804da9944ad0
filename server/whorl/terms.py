"""RDF terms as Python values.

Going in: a `str` is an IRI in every position (`_:name` is a blank node); `int`, `float`, `bool`, `Decimal`,
`datetime` and `date` are literals of the matching XSD type; `Literal` is any literal; terms of rdflib and pyoxigraph
are taken as they are. Coming out: `Iri`, `BlankNode`, the Python values above (a plain string is a `str`), and
`Literal` for what has no Python value of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class Iri(str):
    """An IRI. Equal to the same text."""

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
    """A literal by its lexical form; a language makes it a language-tagged string."""

    value: str
    datatype: str = XSD_STRING
    language: str | None = None


Term = Iri | BlankNode | Literal | str | int | float | bool | Decimal | datetime | date
# Also terms of rdflib and pyoxigraph, whose types are not known here.
Triple = tuple[Any, Any, Any]
