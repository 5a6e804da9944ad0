"""Every public call of `whorl` once, for type checkers; nothing here runs. See `typed_client.py`.

No call gives an `Any`, but for `to_arrow`: pyarrow has no types of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import assert_type

import pandas as pd
from rdflib.term import Node
from whorl import (
    GUARDED_LIMITS,
    BlankNode,
    Engine,
    Envelope,
    IngestReport,
    Iri,
    Limits,
    Literal,
    Query,
    QueryError,
    Refusal,
    Result,
    ResultOf,
    Term,
    TripleTerm,
    UpdateReport,
    WhorlError,
    WindowBounds,
    map_rows,
)
from whorl.documents import PlanNode, QueryWarning, Validation
from whorl.results import Statement
from whorl.terms import OxigraphTerm, OxigraphTriple

AT = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "SELECT ?room ?t …"
S = "http://example.org/s"


def show(*values: object) -> None:
    """Use values."""
    del values


def use_engine() -> None:
    limits: Limits = {**GUARDED_LIMITS, "work": 1000}
    with Engine(hash_seed=1, retraction="auto", sharing=True, result_rows_max=9, limits=limits) as engine:
        engine.declare_stream(S, lateness=timedelta(seconds=5), idle_timeout=1000, timestamp_predicate=None)
        assert_type(engine.register(TEXT, "hot", dialect="rspql", report=["close"], t0=AT, r2s="CHANGES"), Query)
        assert_type(engine.push(S, AT, "<urn:a> <urn:p> 1 .", "turtle", latest=AT, atomic=False), IngestReport)
        assert_type(
            engine.push(S, 1000, [(Iri("urn:a"), "urn:p", Literal("x")), (BlankNode("b"), "urn:p", 1)]), IngestReport
        )
        assert_type(engine.queries(), list[Query])
        assert_type(engine.mapping(S), str | None)
        engine.set_mapping(S, "CONSTRUCT { } WHERE { }", time_column="t")
        engine.advance_to(AT, S)
        engine.mark_idle(S)
        engine.close_stream(S)
        assert_type(engine.evaluation_seconds(), dict[int, float])
        assert_type(engine.state_size(), int)
        assert_type(engine.validate(TEXT, semantics="bag"), Validation)
        assert_type(engine.validate(TEXT)["warnings"][0]["hint"], str)
        assert_type(engine.stats()["streams"][0]["watermark"], int | None)
        assert_type(Engine.restore(engine.snapshot(), sharing=True), Engine)
        engine.close()


def use_static_data(engine: Engine) -> None:
    assert_type(engine.load(None, "<urn:a> <urn:p> 1 .", "turtle"), int)
    assert_type(engine.replace_graph("urn:g", b""), UpdateReport)
    assert_type(engine.drop_graph("urn:g").deleted, int)
    assert_type(engine.update("CLEAR ALL", base_iri=None).inserted, int)
    assert_type(engine.graphs(), dict[str | None, int])
    assert_type(engine.graph_text(None, "ntriples"), bytes)
    assert_type(engine.ask(TEXT, "csv", base_iri=None, default_graphs=["urn:g"], named_graphs=None), bytes)
    form: str = Engine.query_form(TEXT)
    assert_type(engine.graph(None), list[Statement])
    assert_type(engine.graph(None, "pyoxigraph"), list[OxigraphTriple])
    show(form, engine.graph(None, "rdflib"))


def use_query(query: Query) -> None:
    assert_type(query.results(), list[bytes])
    assert_type(query.envelopes("a1"), list[Envelope])
    assert_type(query.answers("python"), list[Result])
    assert_type(query.answer("json"), bytes)
    assert_type(query.explain(), str)
    assert_type(query.to_pandas(), pd.DataFrame)
    assert_type(query.describe()["windows"][0]["range_ms"], int | None)
    assert_type(query.explain("json")["root"]["inputs"], list[PlanNode])
    assert_type(query.rows(), list[dict[str, Term | None]])
    assert_type(query.answers("pyoxigraph"), list[ResultOf[OxigraphTerm]])
    assert_type(query.rows("rdflib"), list[dict[str, Node | None]])
    show(query.number, query.name, query.text)
    assert_type(query.warnings, list[QueryWarning])
    for result in query:
        assert_type(result.time, datetime)
        assert_type(result.windows, tuple[WindowBounds, ...])
        assert_type(result.rows, tuple[dict[str, Term | None], ...])
        assert_type(result.triples, tuple[Statement, ...])
        assert_type(result.quads, tuple[tuple[Term, Term, Term, Term | None], ...])
        show(result.deleted_rows, result.deleted_triples, result.deleted_quads)
        if result.skipped is not None:
            show(result.skipped.start, result.skipped.end, result.skipped.windows)
        show(result.seq, result.at, result.kind, result.variables, result.boolean, result.inserted, result.deleted)
    query.unregister()


def use_untyped(query: Query) -> object:
    """The one call whose type another package would have to say."""
    return query.to_arrow()  # type: ignore[misc]  # pyarrow has no types


def use_term(term: Term) -> str:
    return term.language or term.value if isinstance(term, Literal) else str(term)


def use_literal(literal: Literal) -> None:
    show(literal.value, literal.datatype, literal.language, literal.direction)


def use_triple_term(triple: TripleTerm) -> None:
    assert_type(triple.object, Term)
    show(triple.subject, triple.predicate)


def use_reports(report: IngestReport, envelope: Envelope, bounds: WindowBounds) -> None:
    assert_type(report.refused, tuple[Refusal, ...])
    show(report.accepted, report.late, report.ahead, report.events, report.triples)
    for refusal in report.refused:
        show(refusal.index, refusal.code, refusal.message, refusal.line, refusal.column)
    show(envelope.seq, envelope.at, envelope.json, bounds.name, bounds.open, bounds.close)
    assert_type(map_rows("CONSTRUCT { } WHERE { }", b"", time_column="t", t=AT), bytes)


def use_errors(engine: Engine) -> None:
    try:
        engine.register(TEXT)
    except QueryError as error:
        assert_type(error.line, int | None)
        show(error.column, error.index, error.hint)
    except WhorlError as error:
        show(error.message, error.code)
