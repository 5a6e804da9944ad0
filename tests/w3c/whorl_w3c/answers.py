"""Answers in one shape: as the suite expects them, and as the engine gives them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyoxigraph as ox

from whorl_w3c.graph import RDF, Graph, Term, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl import ResultOf
    from whorl.terms import OxigraphTerm

    from whorl_w3c.suite import Suite

RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
FORMATS = {
    "srx": ox.QueryResultsFormat.XML,
    "srj": ox.QueryResultsFormat.JSON,
    "tsv": ox.QueryResultsFormat.TSV,
}

Row: TypeAlias = tuple[Term | None, ...]
_Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Solutions, a graph or a boolean. The values of a row stand in the order of the sorted variables."""

    kind: Literal["bindings", "graph", "boolean"]
    variables: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    boolean: bool | None = None
    # Whether the order of the rows means something.
    in_order: bool = False
    # CSV knows neither datatypes nor the difference of literals and IRIs.
    plain: bool = False


class RetractionError(Exception):
    """Something went that had not come."""


def expected_answer(suite: Suite, path: str) -> Answer:
    """What a result file says; an RDF file describes a table or is a graph."""
    extension = path.rpartition(".")[2]
    if extension == "csv":
        return _from_csv(suite.content(path).decode())
    if extension in FORMATS:
        return _parsed(suite.content(path), FORMATS[extension])
    triples = suite.triples(path)
    graph = Graph(triples)
    tables = graph.subjects(RDF + "type", ox.NamedNode(RS + "ResultSet"))
    return _described(graph, tables[0]) if tables else graph_answer(triples)


def bindings(variables: Iterable[str], rows: Iterable[Mapping[str, Term | None]], *, in_order: bool = True) -> Answer:
    """Solutions as an answer."""
    ordered = tuple(sorted(variables))
    return Answer(
        "bindings", ordered, tuple(tuple(row.get(name) for name in ordered) for row in rows), in_order=in_order
    )


def graph_answer(triples: Iterable[ox.Triple | tuple[Term, Term, Term]]) -> Answer:
    """A graph as an answer."""
    return Answer("graph", rows=tuple(tuple(triple) for triple in triples))


def from_envelope(envelope: bytes) -> Answer:
    """The result in a JSON envelope, parsed by the standard library."""
    parts = json.loads(envelope)
    if parts["type"] == "graph":
        return graph_answer(quad.triple for quad in ox.parse(parts["results"], ox.RdfFormat.N_TRIPLES))
    return _parsed(json.dumps(parts["results"]).encode(), ox.QueryResultsFormat.JSON)


def from_document(body: bytes) -> Answer:
    """The answer in a document of results in JSON."""
    return _parsed(body, ox.QueryResultsFormat.JSON)


def from_result(result: ResultOf[OxigraphTerm]) -> Answer:
    """The answer of RSTREAM."""
    return _answer(result, result.inserted)


def accumulated(results: Iterable[ResultOf[OxigraphTerm]]) -> Answer | None:
    """What is left of CHANGES when what came is added and what went is taken away; None when nothing was said."""
    counts: Counter[_Key] = Counter()
    last: ResultOf[OxigraphTerm] | None = None
    for last in results:
        counts.update(map(_key, last.inserted))
        counts.subtract(map(_key, last.deleted))
        _check(counts, f"at {last.at}")
    return None if last is None else _answer(last, counts.elements())


def difference(came: Iterable[ResultOf[OxigraphTerm]], went: Iterable[ResultOf[OxigraphTerm]]) -> Answer | None:
    """The sum of ISTREAM minus the sum of DSTREAM; None when nothing was said."""
    counts: Counter[_Key] = Counter()
    last: ResultOf[OxigraphTerm] | None = None
    for last in came:
        counts.update(map(_key, last.inserted))
    for result in went:
        counts.subtract(map(_key, result.deleted))
    _check(counts, "in the end")
    return None if last is None else _answer(last, counts.elements())


def _check(counts: Counter[_Key], when: str) -> None:
    missing = [key for key, count in counts.items() if count < 0]
    if missing:
        raise RetractionError(f"{when} something had gone that had not come: {missing[0]}")


def _key(row: Any) -> _Key:
    return tuple(row.items()) if isinstance(row, dict) else tuple(row)


def _answer(result: ResultOf[OxigraphTerm], rows: Iterable[Any]) -> Answer:
    if result.kind == "boolean":
        return Answer("boolean", boolean=result.boolean)
    if result.kind == "graph":
        return graph_answer(rows)
    return bindings(result.variables, (dict(row) for row in rows))


def _parsed(body: bytes, syntax: ox.QueryResultsFormat) -> Answer:
    found = ox.parse_query_results(body, syntax)
    if isinstance(found, ox.QueryBoolean):
        return Answer("boolean", boolean=bool(found))
    variables = [variable.value for variable in found.variables]
    return bindings(variables, [{name: solution[name] for name in variables} for solution in found])


def _described(graph: Graph, table: Term) -> Answer:
    """A table in the vocabulary of result sets."""
    boolean = graph.optional(table, RS + "boolean")
    if boolean is not None:
        return Answer("boolean", boolean=text(boolean) == "true")
    variables = [text(name) for name in graph.objects(table, RS + "resultVariable")]
    solutions = graph.objects(table, RS + "solution")
    in_order = all(graph.objects(solution, RS + "index") for solution in solutions)
    if in_order:
        solutions = sorted(solutions, key=lambda solution: int(graph.text(solution, RS + "index")))
    return bindings(variables, [_solution(graph, solution) for solution in solutions], in_order=in_order)


def _solution(graph: Graph, solution: Term) -> dict[str, Term]:
    found = graph.objects(solution, RS + "binding")
    return {graph.text(node, RS + "variable"): graph.one(node, RS + "value") for node in found}


def _from_csv(body: str) -> Answer:
    variables, *rows = csv.reader(body.splitlines())
    found = bindings(variables, [dict(zip(variables, map(_plain, row), strict=True)) for row in rows])
    return Answer("bindings", found.variables, found.rows, in_order=True, plain=True)


def _plain(cell: str) -> Term | None:
    if cell.startswith("_:"):
        return ox.BlankNode(cell.removeprefix("_:"))
    return ox.Literal(cell) if cell else None
