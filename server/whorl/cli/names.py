"""IRIs and other terms, abbreviated for tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = re.compile(r"(?:@prefix|PREFIX)\s+([^\s:]*):\s*<([^>]*)>", re.IGNORECASE)
_LOCAL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "prov": "http://www.w3.org/ns/prov#",
}


class Names:
    """Abbreviates IRIs by the prefixes of a query."""

    def __init__(self, query_text: str = "") -> None:
        prefixes = {**_KNOWN, **{name: iri for name, iri in _PREFIX.findall(query_text) if iri}}
        # The longest namespace wins.
        self._prefixes = sorted(prefixes.items(), key=lambda item: (-len(item[1]), item[0]))

    def iri(self, iri: str) -> str:
        """`ex:kitchen` if a prefix matches, `<http://…>` otherwise."""
        for prefix, namespace in self._prefixes:
            local = iri.removeprefix(namespace)
            if local != iri and _LOCAL.fullmatch(local):
                return f"{prefix}:{local}"
        return f"<{iri}>"

    def term(self, term: Mapping[str, Any] | None) -> str:
        """A term of SPARQL 1.1 Results JSON; empty for an unbound variable."""
        if term is None:
            return ""
        value = str(term["value"])
        if term["type"] == "uri":
            return self.iri(value)
        if term["type"] == "bnode":
            return f"_:{value}"
        return f'"{value}"@{term["xml:lang"]}' if "xml:lang" in term else value
