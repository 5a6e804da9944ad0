"""Results as tables and as terms of other libraries, which are imported only when needed."""

from __future__ import annotations

import importlib
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ._json import inner, member
from ._terms import XSD, Binding, JsonTerm, term_of

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyoxigraph
    import rdflib
    from rdflib.term import IdentifiedNode
    from rdflib.term import Literal as RdflibLiteral

    from ._models import Answer

    RdflibTerm: TypeAlias = IdentifiedNode | RdflibLiteral
    OxigraphTerm: TypeAlias = pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple

_STATEMENT = ("subject", "predicate", "object", "graph")
# An Arrow decimal holds 38 digits; a column with longer ones is text.
_DIGITS_MAX = 38


def arrow_of(answer: Answer, *, meta: bool) -> pa.Table:
    """A column per variable, typed by its values."""
    arrow = _library("pyarrow", "arrow")
    signed = [*((1, row) for row in _rows(answer)), *((-1, row) for row in _rows(answer, gone=True))]
    columns: dict[str, Any] = {}
    if meta:
        columns |= {name: arrow.array([value] * len(signed), arrow.int64()) for name, value in answer.meta.items()}
    if "_t" in columns:
        columns["_t"] = columns["_t"].cast(arrow.timestamp("ms", tz="UTC"))
    if meta or answer.has_changes:
        columns["_sign"] = arrow.array([sign for sign, _ in signed], arrow.int8())
    for name in _names(answer):
        columns[name] = _column(arrow, [row.get(name) for _, row in signed])
    return arrow.table(columns)


def polars_of(table: pa.Table) -> pl.DataFrame:
    """The same table in polars."""
    return cast("pl.DataFrame", _library("polars", "polars").from_arrow(table))


def rdflib_of(answer: Answer) -> rdflib.Graph | list[dict[str, RdflibTerm]]:
    """A graph, or rows of terms."""
    library = _library("rdflib", "rdflib")
    if answer.kind == "bindings":
        return [{name: _rdflib_term(library, term) for name, term in row.items()} for row in _bindings(answer)]
    named = any("graph" in row for row in _bindings(answer))
    graph: rdflib.Graph = library.Dataset() if named else library.Graph()
    return graph.parse(data=answer.text, format="nquads" if named else "nt")


def pyoxigraph_of(answer: Answer) -> list[pyoxigraph.Quad] | list[dict[str, OxigraphTerm]]:
    """Quads, or rows of terms."""
    library = _library("pyoxigraph", "pyoxigraph")
    if answer.kind == "bindings":
        return [{name: _oxigraph_term(library, term) for name, term in row.items()} for row in _bindings(answer)]
    return list(library.parse(answer.text, library.RdfFormat.N_QUADS))


def ipc_bytes(data: object) -> bytes:
    """An Arrow IPC stream of a table, a data frame, a reader or a batch."""
    arrow = _library("pyarrow", "arrow")
    table = arrow.table(data)
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed; pip install 'whorl-client[{extra}]'") from error


def _bindings(answer: Answer) -> list[Binding]:
    return answer.bindings() + answer.bindings(gone=True)


def _rows(answer: Answer, *, gone: bool = False) -> list[dict[str, Any]]:
    if answer.kind == "graph":
        return [dict(zip(_STATEMENT, statement, strict=False)) for statement in answer.triples(gone=gone)]
    return [{name: term_of(term) for name, term in row.items()} for row in answer.bindings(gone=gone)]


def _names(answer: Answer) -> tuple[str, ...]:
    if answer.kind == "bindings":
        return answer.variables
    if answer.kind == "graph":
        return _STATEMENT[:3]
    raise TypeError("the result of an ASK is not a table; read boolean")


def _column(arrow: Any, values: list[Any]) -> Any:
    """A column of the type that all values share; else text."""
    kinds = {_kind(value) for value in values if value is not None}
    if kinds <= {"integer"} and kinds and all(-(2**63) <= v < 2**63 for v in values if v is not None):
        return arrow.array(values, arrow.int64())
    if kinds == {"decimal"} and _decimal_fits(values):
        return arrow.array(values)
    if kinds and kinds <= {"integer", "decimal", "double"}:
        return arrow.array([None if value is None else float(value) for value in values], arrow.float64())
    if kinds == {"boolean"}:
        return arrow.array(values, arrow.bool_())
    if kinds == {"instant"}:
        return arrow.array([None if v is None else v.astimezone(UTC) for v in values], arrow.timestamp("us", tz="UTC"))
    if kinds in ({"local"}, {"date"}):
        return arrow.array(values)
    return arrow.array([None if value is None else _text(value) for value in values], arrow.string())


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case Decimal():
            return "decimal"
        case float():
            return "double"
        case datetime():
            return "local" if value.tzinfo is None else "instant"
        case date():
            return "date"
    return "text"


def _decimal_fits(values: list[Any]) -> bool:
    parts = [value.as_tuple() for value in values if value is not None]
    scale = max(max(0, -part.exponent) for part in parts)
    whole = max(len(part.digits) + part.exponent for part in parts)
    return bool(scale + max(whole, 1) <= _DIGITS_MAX)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _rdflib_term(library: Any, term: JsonTerm) -> RdflibTerm:
    found: RdflibTerm
    match term["type"]:
        case "uri":
            found = library.URIRef(term["value"])
        case "bnode":
            found = library.BNode(term["value"])
        case "literal" | "typed-literal":
            found = library.Literal(term["value"], datatype=term.get("datatype"), lang=term.get("xml:lang"))
        case _:
            raise TypeError("rdflib has no triple terms; read rows or to_pyoxigraph()")
    return found


def _oxigraph_term(library: Any, term: JsonTerm) -> OxigraphTerm:
    found: OxigraphTerm
    match term["type"]:
        case "uri":
            found = library.NamedNode(term["value"])
        case "bnode":
            found = library.BlankNode(term["value"])
        case "triple":
            parts = inner(term, "value")
            found = library.Triple(*(_oxigraph_term(library, inner(parts, part)) for part in _STATEMENT[:3]))
        case _ if "xml:lang" in term:
            given = member(term, "its:dir", str)
            direction = None if given is None else getattr(library.BaseDirection, given.upper())
            found = library.Literal(term["value"], language=term["xml:lang"], direction=direction)
        case _:
            datatype = member(term, "datatype", str) or XSD + "string"
            found = library.Literal(term["value"], datatype=library.NamedNode(datatype))
    return found
