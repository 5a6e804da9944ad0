"""What a server needs of the library: envelopes, current answers, one-off queries, validation, documents.

The oracle of `ask` is pyoxigraph on the same data; the oracle of `answer` is what the same query reports as RSTREAM.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pyoxigraph as ox
import pytest
from whorl import (
    Engine,
    GraphError,
    QueryFailedError,
    QuerySyntaxError,
    RdfSyntaxError,
    UnsupportedQueryError,
    WhorlError,
)

EX = "http://ex/"
S = EX + "s"
SELECT = """
PREFIX : <http://ex/>
SELECT ?s ?o FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?s :p ?o } }
"""
CONSTRUCT = SELECT.replace("SELECT ?s ?o", "CONSTRUCT { ?o :of ?s }")


@pytest.fixture
def engine() -> Engine:
    return Engine()


def feed(engine: Engine, seed: int, until: int) -> list[tuple[int, str]]:
    """Random events in order of time; gives time and triple."""
    chance = random.Random(seed)
    events = []
    for t in sorted(chance.randrange(until) for _ in range(40)):
        s, p, o = chance.randrange(4), chance.choice("ppq"), chance.choice(["1", "2", ":n0", ":n1", '"x"@en'])
        triple = f":n{s} :{p} {o} ."
        engine.push(S, t, f"@prefix : <{EX}> . {triple}")
        events.append((t, triple))
    return events


def bindings(document: bytes) -> list[dict[str, Any]]:
    """The solutions of SPARQL Results JSON."""
    found: list[dict[str, Any]] = json.loads(document)["results"]["bindings"]
    return found


def in_some_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_envelopes_have_the_shape_of_the_protocol(engine: Engine) -> None:
    query = engine.register(SELECT, "q1")
    engine.push(S, 1_000, f"<{EX}a> <{EX}p> 7 .")
    engine.advance_to(10_000)
    [(seq, at, envelope)] = query.envelopes("c0ffee")
    assert (seq, at) == (1, 10_000)
    assert json.loads(envelope) == {
        "query": "q1",
        "incarnation": "c0ffee",
        "seq": 1,
        "token": "c0ffee:1",
        "t": 10_000,
        "windows": [{"name": EX + "w", "open": 0, "close": 10_000}],
        "r2s": "RSTREAM",
        "type": "bindings",
        "results": {
            "head": {"vars": ["s", "o"]},
            "results": {
                "bindings": [
                    {
                        "s": {"type": "uri", "value": EX + "a"},
                        "o": {
                            "type": "literal",
                            "value": "7",
                            "datatype": "http://www.w3.org/2001/XMLSchema#integer",
                        },
                    }
                ]
            },
        },
    }
    assert query.envelopes("c0ffee") == []


def test_changes_come_with_both_sides(engine: Engine) -> None:
    query = engine.register(CONSTRUCT, r2s="CHANGES")
    for t in (1_000, 11_000):
        engine.push(S, t, f"<{EX}a> <{EX}p> <{EX}t{t}> .")
    engine.advance_to(20_000)
    last = json.loads(query.envelopes("1")[-1].json)
    assert (last["type"], last["insert"], last["delete"]) == (
        "changes",
        f"<{EX}t11000> <{EX}of> <{EX}a> .\n",
        f"<{EX}t1000> <{EX}of> <{EX}a> .\n",
    )


@pytest.mark.parametrize("r2s", ["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"])
@pytest.mark.parametrize("seed", range(5))
def test_the_current_answer_is_what_rstream_reports(r2s: Any, seed: int) -> None:
    engine = Engine()
    rstream = engine.register(SELECT + " ORDER BY DESC(?o) ?s")
    query = engine.register(SELECT + " ORDER BY DESC(?o) ?s", r2s=r2s, keep_answer=True)
    feed(engine, seed, 30_000)
    engine.advance_to(30_000)
    last = json.loads(rstream.results()[-1])
    assert json.loads(query.answer()) == last["results"]
    assert bindings(query.answer("json")), "the scenario says something"


def test_the_current_answer_comes_in_every_format(engine: Engine) -> None:
    select, construct = engine.register(SELECT), engine.register(CONSTRUCT, r2s="ISTREAM", keep_answer=True)
    engine.push(S, 0, f"<{EX}a> <{EX}p> <{EX}b> .")
    engine.advance_to(10_000)
    results: dict[Any, ox.QueryResultsFormat] = {
        "json": ox.QueryResultsFormat.JSON,
        "xml": ox.QueryResultsFormat.XML,
        "tsv": ox.QueryResultsFormat.TSV,
    }
    for name, kind in results.items():
        [solution] = ox.parse_query_results(select.answer(name), kind)  # type: ignore[misc]  # a SELECT has solutions
        assert (solution["s"], solution["o"]) == (ox.NamedNode(EX + "a"), ox.NamedNode(EX + "b"))
    assert select.answer("csv") == f"s,o\r\n{EX}a,{EX}b\r\n".encode()
    graphs: dict[Any, ox.RdfFormat] = {
        "turtle": ox.RdfFormat.TURTLE,
        "ntriples": ox.RdfFormat.N_TRIPLES,
        "nquads": ox.RdfFormat.N_QUADS,
        "trig": ox.RdfFormat.TRIG,
        "jsonld": ox.RdfFormat.JSON_LD,
    }
    for name, form in graphs.items():
        [quad] = ox.parse(construct.answer(name), form)
        assert quad.triple == ox.Triple(ox.NamedNode(EX + "b"), ox.NamedNode(EX + "of"), ox.NamedNode(EX + "a"))
    assert construct.answer() == construct.answer("turtle")


def test_an_answer_that_cannot_be_given_says_why(engine: Engine) -> None:
    query = engine.register(SELECT, r2s="ISTREAM")
    with pytest.raises(WhorlError, match="keep") as caught:
        query.answer()
    assert (caught.value.code, caught.value.hint) == (
        "query.answer_not_kept",
        "register it with keep_answer, or as RSTREAM",
    )
    with pytest.raises(WhorlError) as caught:
        engine.register(SELECT).answer("turtle")
    assert caught.value.code == "format.mismatch"
    with pytest.raises(ValueError, match="format is one of"):
        query.answer("pdf")  # type: ignore[arg-type]  # the error itself


QUESTIONS = [
    "SELECT * { ?s ?p ?o }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?s ?o { GRAPH :w { ?s :p ?o } }",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT * { GRAPH :w { ?s :p ?o } OPTIONAL { ?s :label ?l } FILTER NOT EXISTS { GRAPH :g { ?s :q ?x } } }",
    "SELECT * FROM :w FROM :g { ?s ?p ?o }",
    "SELECT ?s { ?s (:p|:q)+ :n1 }",
    "SELECT ?o FROM NAMED :w { GRAPH ?g { ?s :p ?o } }",
    "SELECT (SUM(?o) AS ?sum) (CONCAT('a', 'b') AS ?made) { GRAPH :w { ?s :p ?o FILTER(isNumeric(?o)) } }",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_asking_once_agrees_with_another_engine(question: str) -> None:
    told = 0
    for seed in range(6):
        engine, store = Engine(), ox.Store()
        engine.register(SELECT, keep_windows=True)
        events = feed(engine, seed, 27_000)
        engine.advance_to(27_000)
        chance = random.Random(seed)
        statics = [f":n{chance.randrange(4)} :{p} :n{chance.randrange(4)} ." for p in "pqqpq"] + [":n1 :label 'one' ."]
        content = {
            None: statics[:2] + statics[5:],
            EX + "g": statics[2:5],
            EX + "w": [triple for t, triple in events if 10_000 <= t < 20_000],
        }
        for graph, triples in content.items():
            text = f"@prefix : <{EX}> . " + " ".join(triples)
            store.load(text.encode(), ox.RdfFormat.TURTLE, to_graph=None if graph is None else ox.NamedNode(graph))
            if graph != EX + "w":
                engine.load(graph, text)
        text = f"PREFIX : <{EX}> {question}"
        found = store.query(text)
        assert isinstance(found, ox.QuerySolutions)
        theirs = found.serialize(format=ox.QueryResultsFormat.JSON)
        assert theirs is not None
        ours = engine.ask(text)
        assert in_some_order(bindings(ours)) == in_some_order(bindings(theirs)), f"{question} with seed {seed}"
        told += len(bindings(ours))
    assert told, "the scenarios say something"


def test_the_dataset_of_the_request_wins(engine: Engine) -> None:
    for graph, value in ((None, 1), (EX + "g", 2), (EX + "h", 3)):
        engine.load(graph, f"<{EX}a> <{EX}p> {value} .")
    text = "SELECT ?o FROM <http://ex/g> { ?s ?p ?o }"
    assert engine.ask(text, "csv") == b"o\r\n2\r\n"
    assert engine.ask(text, "csv", default_graphs=[EX + "h"]) == b"o\r\n3\r\n"
    assert engine.ask(text, "csv", named_graphs=[EX + "h"]) == b"o\r\n"
    both = "SELECT ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } } ORDER BY ?o"
    assert engine.ask(both, "csv", default_graphs=[EX + "h"], named_graphs=[EX + "g"]) == b"o\r\n2\r\n3\r\n"


def test_graphs_and_truth_have_formats_of_their_own(engine: Engine) -> None:
    engine.load(None, f"<{EX}a> <{EX}p> 1, 2 .")
    assert engine.ask("ASK {}") == b'{"head":{},"boolean":true}'
    made = engine.ask("CONSTRUCT { ?s <http://ex/has> 'some' } { ?s ?p ?o }", "ntriples")
    assert made == f'<{EX}a> <{EX}has> "some" .\n'.encode()
    assert len(list(ox.parse(engine.ask(f"DESCRIBE <{EX}a>"), ox.RdfFormat.TURTLE))) == 2


def test_what_cannot_be_asked_once_is_refused(engine: Engine) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        engine.ask(SELECT)
    assert (caught.value.code, caught.value.line) == ("query.continuous", 3)
    assert "register" in (caught.value.hint or "")
    with pytest.raises(QuerySyntaxError) as caught:
        engine.ask("SELECT * { SERVICE <http://ex/other> { ?s ?p ?o } }")
    assert caught.value.code == "unsupported.service"
    engine.register(SELECT)
    with pytest.raises(GraphError) as error:
        engine.ask("SELECT * { GRAPH <http://ex/w> { ?s ?p ?o } }")
    assert error.value.code == "window.not_kept"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT * {}", "select"),
        ("ASK {}", "ask"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "construct"),
        ("DESCRIBE <x>", "describe"),
    ],
)
def test_the_form_is_known_first(text: str, form: str) -> None:
    assert Engine.query_form(text, base_iri=EX) == form


def test_validation_leaves_nothing_behind(engine: Engine) -> None:
    engine.register(SELECT)
    engine.push(S, 0, f"<{EX}a> <{EX}p> 1 .")
    before, snapshot = engine.stats(), engine.snapshot()
    facts = engine.validate(SELECT.replace(":s ", ":other ") + " ORDER BY ?s", keep_windows=True)
    assert (facts["form"], facts["variables"], facts["streams"]) == ("SELECT", ["s", "o"], [EX + "other"])
    assert facts["windows"][0]["range_ms"] == facts["windows"][0]["step_ms"] == 10_000
    assert facts["plan"]["incremental"] is True
    assert facts["plan"]["root"]["operator"] == "leaf"
    assert [warning["code"] for warning in facts["warnings"]] == ["order.unlimited", "stream.undeclared"]
    with pytest.raises(QuerySyntaxError):
        engine.validate("SELECT")
    with pytest.raises(UnsupportedQueryError):
        engine.validate("SELECT * { ?s ?p ?o }")
    assert engine.stats() == before
    assert engine.snapshot() == snapshot


def test_a_query_describes_itself(engine: Engine) -> None:
    query = engine.register("REGISTER QUERY <http://ex/out> AS " + CONSTRUCT, keep_windows=True, bounds="(]")
    facts = query.describe()
    assert (facts["form"], facts["output"], facts["bounds"]) == ("CONSTRUCT", EX + "out", "(]")
    [window] = facts["windows"]
    engine.push(S, 1, f"<{EX}a> <{EX}p> 1 .")
    engine.advance_to(20_000 - 1)
    assert engine.ask(f"SELECT ?o {{ GRAPH <{window['graph']}> {{ ?s ?p ?o }} }}", "csv") == b"o\r\n1\r\n"


def test_kept_answers_and_windows_survive_a_snapshot(engine: Engine) -> None:
    query = engine.register(SELECT, r2s="ISTREAM", keep_answer=True, keep_windows=True)
    feed(engine, 3, 15_000)
    restored = Engine.restore(engine.snapshot())
    for one in (engine, restored):
        one.advance_to(20_000)
    text = "SELECT * { GRAPH ?g { ?s ?p ?o } }"
    assert bindings(restored.ask(text))
    assert in_some_order(bindings(restored.ask(text))) == in_some_order(bindings(engine.ask(text)))
    assert restored._engine.answer(query.number, "json") == query.answer()


@pytest.mark.parametrize("format", ["turtle", "ntriples", "nquads", "trig", "jsonld"])
def test_a_graph_comes_back_as_it_was_written(engine: Engine, format: Any) -> None:
    engine.load(EX + "g", f"<{EX}a> <{EX}p> 1, 'x'@en, [ <{EX}q> true ] .")
    other = Engine()
    other.replace_graph(EX + "g", engine.graph_text(EX + "g", format), format)
    assert other.graphs() == engine.graphs()
    assert engine.graph_text(None, "ntriples") == b""
    with pytest.raises(GraphError):
        engine.graph_text(EX + "no", format)


def test_json_ld_is_static_data_and_fetches_nothing(engine: Engine) -> None:
    document = {"@context": {"p": EX + "p"}, "@id": EX + "a", "p": [1, {"@id": EX + "b"}]}
    assert engine.load(None, json.dumps(document), "jsonld") == 2
    with pytest.raises(RdfSyntaxError, match="http://ex/context") as caught:
        engine.load(None, json.dumps({"@context": EX + "context", "@id": EX + "a"}), "jsonld")
    assert caught.value.code == "rdf.remote_context"
    with pytest.raises(RdfSyntaxError) as caught:
        engine.load(None, "[" * 70_000 + "]" * 70_000, "jsonld")
    assert caught.value.code == "limit.depth"
    assert engine.graphs() == {None: 2}


def test_errors_of_unknown_queries_are_told(engine: Engine) -> None:
    query = engine.register(SELECT)
    query.unregister()
    for call in (query.answer, query.describe, lambda: query.envelopes("1")):
        with pytest.raises(WhorlError) as caught:
            call()
        assert not isinstance(caught.value, QueryFailedError)
        assert caught.value.code == "query.unknown"
