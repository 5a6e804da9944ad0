"""Conversion of RDF terms between Python values and SPARQL JSON or N-Quads.

From the server: `Iri`, `BlankNode`, `LangString`; literals of common XSD types are `int`, `float`, `Decimal`, `bool`,
`datetime`, `date` and `str`; any other literal, and one whose text does not fit its type, is a `Literal`. A triple
term is a `Triple`. To the server: the same; a plain `str` is a literal and an IRI is `Iri("…")`; terms of rdflib and
pyoxigraph are accepted as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from ._exceptions import ProtocolError
from ._json import JsonObject

XSD = "http://www.w3.org/2001/XMLSchema#"


class Iri(str):
    """An IRI. Equal to a `str` of the same text.

    >>> Iri("http://example.org/a") == "http://example.org/a"
    True
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """As it would be written in Python."""
        return f"Iri({str.__repr__(self)})"


class BlankNode(str):
    """A blank node, by its label without `_:`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """As it would be written in Python."""
        return f"BlankNode({str.__repr__(self)})"


@dataclass(frozen=True, slots=True)
class LangString:
    """Text in a language.

    >>> str(LangString("Haus", "de"))
    'Haus'
    """

    value: str
    language: str

    def __str__(self) -> str:
        """The text alone."""
        return self.value


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal of a type without a Python value, by its text."""

    value: str
    datatype: str

    def __str__(self) -> str:
        """The text alone."""
        return self.value


class Triple(NamedTuple):
    """A triple; also the triple terms of RDF 1.2."""

    subject: Term
    predicate: Term
    object: Term


class Quad(NamedTuple):
    """A triple in a named graph."""

    subject: Term
    predicate: Term
    object: Term
    graph: Term


Statement: TypeAlias = Triple | Quad
# A term of SPARQL 1.1 Results JSON, and a row of them.
JsonTerm: TypeAlias = JsonObject
Binding: TypeAlias = dict[str, JsonTerm]
Term: TypeAlias = Iri | BlankNode | LangString | Literal | Triple | str | int | float | bool | Decimal | datetime | date


# --- literals ---------------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_BOOLEAN = re.compile(r"true|false|1|0")
_DATETIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_Reader: TypeAlias = tuple[re.Pattern[str], Callable[[str], Term]]

_WHOLE_NUMBERS = [
    "integer",
    "int",
    "long",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "nonPositiveInteger",
    "negativeInteger",
    "unsignedInt",
    "unsignedLong",
    "unsignedShort",
    "unsignedByte",
]
_WHOLE: _Reader = (_INTEGER, int)
_FLOATING: _Reader = (_DOUBLE, float)
# Python's parsers accept more than XSD does (underscores, spaces), so a pattern checks the text first.
_READERS: dict[str, _Reader] = {
    XSD + "decimal": (_DECIMAL, Decimal),
    XSD + "double": _FLOATING,
    XSD + "float": _FLOATING,
    XSD + "boolean": (_BOOLEAN, lambda text: text in {"true", "1"}),
    XSD + "dateTime": (_DATETIME, datetime.fromisoformat),
    XSD + "dateTimeStamp": (_DATETIME, datetime.fromisoformat),
    XSD + "date": (_DATE, date.fromisoformat),
    XSD + "string": (re.compile(r".*", re.DOTALL), str),
    **{XSD + name: _WHOLE for name in _WHOLE_NUMBERS},
}


def literal_of(text: str, datatype: str | None, language: str | None = None) -> Term:
    """The Python value of a literal.

    >>> literal_of("20.5", XSD + "decimal")
    Decimal('20.5')
    >>> literal_of("twenty", XSD + "integer")
    Literal(value='twenty', datatype='http://www.w3.org/2001/XMLSchema#integer')
    """
    if language:
        return LangString(text, language)
    if datatype is None:
        return text
    pattern, read = _READERS.get(datatype, (None, None))
    if pattern is None or read is None or pattern.fullmatch(text) is None:
        return Literal(text, datatype)
    try:
        return read(text)
    except ValueError:  # 30 February, hour 24, more digits than Python accepts.
        return Literal(text, datatype)


# --- SPARQL JSON ------------------------------------------------------------------------------------------------------


def term_of(written: JsonTerm) -> Term:
    """The Python value of one term of SPARQL 1.1 Results JSON."""
    match written:
        case {"type": "uri", "value": str(value)}:
            return Iri(value)
        case {"type": "bnode", "value": str(value)}:
            return BlankNode(value)
        case {"type": "literal" | "typed-literal", "value": str(value)}:
            # Runs for every literal of every row, hence no call per member.
            datatype, language = written.get("datatype"), written.get("xml:lang")
            return literal_of(
                value,
                datatype if isinstance(datatype, str) else None,
                language if isinstance(language, str) else None,
            )
        case {"type": "triple", "value": {"subject": dict(s), "predicate": dict(p), "object": dict(o)}}:
            return Triple(term_of(s), term_of(p), term_of(o))
    raise ProtocolError(f"not a term of SPARQL results: {written!r}")


# --- N-Triples, N-Quads -----------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?: <(?P<iri>[^<>]*)> | _:(?P<blank>[^\s<>"]*[^\s<>".])
      | "(?P<text>(?:[^"\\]|\\.)*)" (?: \^\^<(?P<datatype>[^>]*)> | @(?P<language>[A-Za-z0-9-]+) )?
      | (?P<open><<\(?) | (?P<close>\)?>>) | (?P<end>\.) )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_MUST_ESCAPE = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def statements_of(text: str) -> Iterator[Statement]:
    """The statements of N-Quads text, as the server writes it: one per line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _statement(line, number)


def members_of(text: str) -> Iterator[Binding]:
    """The statements of N-Quads text as rows of SPARQL JSON, whose literals keep their lexical form."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            members = (_written_member(found) for found in _written_terms(line, number))
            yield dict(zip(("subject", "predicate", "object", "graph"), members, strict=False))


def _statement(line: str, number: int) -> Statement:
    terms = [_written_term(found) for found in _written_terms(line, number)]
    if len(terms) == 3:
        return Triple(*terms)
    if len(terms) == 4:
        return Quad(*terms)
    raise ProtocolError(f"line {number} is not a statement of N-Quads: {line[:80]!r}")


def _written_terms(line: str, number: int) -> Iterator[re.Match[str]]:
    position = 0
    while (found := _TOKEN.match(line, position)) is not None and found["end"] is None:
        position = found.end()
        if found["open"] is not None:
            raise ProtocolError(f"this client does not support triple terms in N-Quads (line {number})")
        yield found


def _written_member(found: re.Match[str]) -> JsonTerm:
    if found["iri"] is not None:
        return {"type": "uri", "value": _unescape(found["iri"])}
    if found["blank"] is not None:
        return {"type": "bnode", "value": found["blank"]}
    literal: JsonTerm = {"type": "literal", "value": _unescape(found["text"])}
    literal |= {"xml:lang": found["language"]} if found["language"] is not None else {}
    literal |= {"datatype": found["datatype"]} if found["datatype"] is not None else {}
    return literal


def _written_term(found: re.Match[str]) -> Term:
    if found["iri"] is not None:
        return Iri(_unescape(found["iri"]))
    if found["blank"] is not None:
        return BlankNode(found["blank"])
    return literal_of(_unescape(found["text"]), found["datatype"], found["language"])


def _unescape(text: str) -> str:
    return text if "\\" not in text else _ESCAPE.sub(_unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])


def ntriples_of(term: object) -> str:
    """A term in N-Triples.

    >>> ntriples_of(Iri("http://example.org/a")), ntriples_of(21), ntriples_of("so")
    ('<http://example.org/a>', '"21"^^<http://www.w3.org/2001/XMLSchema#integer>', '"so"')
    """
    match term:
        case Iri():
            return f"<{_iri_text(term)}>"
        case BlankNode():
            return f"_:{term}"
        case LangString(value, language):
            return f"{_quoted(value)}@{language}"
        case Literal(value, datatype):
            return f"{_quoted(value)}^^<{_iri_text(datatype)}>"
        case Triple(subject, predicate, object_):
            return f"<<( {ntriples_of(subject)} {ntriples_of(predicate)} {ntriples_of(object_)} )>>"
        case _ if hasattr(term, "n3"):  # a term of rdflib; it is a str as well.
            return str(term.n3())
        case str():
            return _quoted(term)
        case _ if type(term).__module__.partition(".")[0] == "pyoxigraph":
            return str(term)
    return _value_text(term)


def _value_text(value: object) -> str:
    match value:
        case bool():
            return f'"{str(value).lower()}"^^<{XSD}boolean>'
        case int():
            return f'"{value}"^^<{XSD}integer>'
        case Decimal():
            return f'"{value:f}"^^<{XSD}decimal>'
        case float():
            return f'"{_double_text(value)}"^^<{XSD}double>'
        case datetime():
            return f'"{value.isoformat()}"^^<{XSD}dateTime>'
        case date():
            return f'"{value.isoformat()}"^^<{XSD}date>'
    raise TypeError(f"{value!r} is not an RDF term; an IRI is Iri('…'), a blank node BlankNode('…')")


def _double_text(value: float) -> str:
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return "NaN" if math.isnan(value) else repr(value)


def _quoted(text: str) -> str:
    return '"' + "".join(_MUST_ESCAPE.get(character, character) for character in text) + '"'


def _iri_text(iri: str) -> str:
    if any(character <= " " or character in '<>"{}|^`\\' for character in iri):
        raise ValueError(f"not an IRI: {iri!r}")
    return iri
