"""The library as its users see it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib
import whorl
from whorl import (
    BlankNode,
    Engine,
    GraphError,
    Iri,
    Literal,
    QuerySyntaxError,
    TimestampError,
    TripleTerm,
    UpdateReport,
)

EX = "http://ex/"
S = EX + "s"
EVERYTHING = """
PREFIX : <http://ex/>
SELECT ?s ?p ?o FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?s ?p ?o } }
"""


@pytest.fixture
def engine() -> Engine:
    return Engine()


def objects(engine: Engine, push: Any, format: Any = "turtle", terms: Any = "python") -> list[object]:
    """What comes back as ?o for one event, by its lexical order."""
    query = engine.register(EVERYTHING)
    engine.push(S, 1_000, push, format)
    engine.close()
    return [row["o"] for row in query.rows(terms)]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("turtle", "@prefix : <http://ex/> . :a :p 7 ."),
        ("ntriples", f'<{EX}a> <{EX}p> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .'),
        ("nquads", f'<{EX}a> <{EX}p> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .'),
        ("trig", "PREFIX : <http://ex/> :a :p 7 ."),
    ],
)
@pytest.mark.parametrize("kind", [str, bytes, bytearray])
def test_every_format_as_text_and_bytes(engine: Engine, format: str, text: str, kind: type) -> None:
    body = text if kind is str else kind(text.encode())
    assert objects(engine, body, format) == [7]


def test_named_graphs_are_events_with_their_own_times(engine: Engine) -> None:
    query = engine.register(EVERYTHING)
    text = """
    PREFIX : <http://ex/> PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    :g1 prov:generatedAtTime "1970-01-01T00:00:01Z"^^xsd:dateTime .
    :g2 prov:generatedAtTime "1970-01-01T00:00:12Z"^^xsd:dateTime .
    :g1 { :a :p 1 } :g2 { :a :p 2 }
    """
    assert engine.push(S, None, text, "trig").accepted == 2
    engine.close()
    assert [(result.at, [row["o"] for row in result.rows]) for result in query][:2] == [
        (10_000, [1]),
        (20_000, [2]),
    ]


PYTHON_TERMS = [
    (EX + "b", Iri(EX + "b")),
    (Iri(EX + "b"), Iri(EX + "b")),
    (7, 7),
    (2**80, 2**80),
    (True, True),
    (2.5, 2.5),
    (Decimal("1.50"), Decimal("1.50")),
    (Literal("some text"), "some text"),
    (
        Literal("chat", language="fr"),
        Literal("chat", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "fr"),
    ),
    (Literal("x", EX + "type"), Literal("x", EX + "type")),
    (datetime(2024, 2, 29, 12, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC)),
    (rdflib.URIRef(EX + "b"), Iri(EX + "b")),
    (rdflib.Literal(7), 7),
    (
        rdflib.Literal("chat", lang="fr"),
        Literal("chat", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "fr"),
    ),
    (ox.NamedNode(EX + "b"), Iri(EX + "b")),
    (ox.Literal(7), 7),
    (ox.Literal("x"), "x"),
]


@pytest.mark.parametrize(("given", "expected"), PYTHON_TERMS, ids=lambda value: repr(value)[:40])
def test_python_terms_go_in_and_come_out(engine: Engine, given: object, expected: object) -> None:
    (found,) = objects(engine, [(EX + "a", EX + "p", given)])
    assert found == expected
    assert type(found) is type(expected)


def test_terms_of_rdflib_and_pyoxigraph_come_out(engine: Engine) -> None:
    triple = [(EX + "a", EX + "p", Literal("01", "http://www.w3.org/2001/XMLSchema#integer"))]
    (found,) = objects(engine, triple, terms="rdflib")
    assert isinstance(found, rdflib.Literal)
    assert (str(found), found.datatype) == ("01", rdflib.XSD.integer)
    (again,) = objects(Engine(), triple, terms="pyoxigraph")
    assert again == ox.Literal("01", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))


def test_lexical_forms_are_terms_and_numbers_are_values(engine: Engine) -> None:
    """`01` and `1` are two terms (DISTINCT, GROUP BY) and one value (FILTER)."""
    head = "PREFIX : <http://ex/>"
    tail = "FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?s :p ?o }"
    distinct = engine.register(f"{head} SELECT DISTINCT ?o {tail} }}")
    equal = engine.register(f"{head} SELECT ?o {tail} FILTER(?o = 1) }}")
    engine.push(S, 1, f"<{EX}a> <{EX}p> 1, 01 .")
    engine.close()
    assert sorted(str(row["o"]) for row in distinct.rows("pyoxigraph")) == sorted(
        str(row["o"]) for row in equal.rows("pyoxigraph")
    )
    assert engine.stats()["events"] == 1


def test_blank_nodes_are_scoped_to_one_message(engine: Engine) -> None:
    query = engine.register(EVERYTHING)
    for _ in range(2):
        engine.push(S, 1, "_:b <http://ex/p> 1 .")
    engine.close()
    subjects = [row["s"] for row in query.rows()]
    assert len(set(subjects)) == 2
    assert all(isinstance(subject, BlankNode) for subject in subjects)


@pytest.mark.parametrize(
    "bad",
    [
        [("http://ex/a", "http://ex/p")],
        [("http://ex/a", "http://ex/p", object)],
        [(1, "http://ex/p", 1)],
        [("http://ex/a", Literal("p"), 1)],
        ["http://ex/a"],
        7,
    ],
    ids=repr,
)
def test_what_is_no_triple_is_a_type_error(engine: Engine, bad: Any) -> None:
    engine.declare_stream(S)
    with pytest.raises(TypeError):
        engine.push(S, 1, bad)


def test_a_string_is_not_taken_for_an_iri(engine: Engine) -> None:
    engine.declare_stream(S)
    with pytest.raises(ValueError, match=r"whorl\.Literal"):
        engine.push(S, 1, [(EX + "a", EX + "p", "some text")])


def test_times_are_milliseconds_or_aware_datetimes(engine: Engine) -> None:
    query = engine.register(EVERYTHING)
    engine.declare_stream(EX + "other", lateness=timedelta(seconds=3), idle_timeout=500)
    engine.push(S, datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), [(EX + "a", EX + "p", 1)])
    engine.advance_to(datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC))
    (result,) = query
    assert (result.at, result.time) == (10_000, datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC))
    assert result.windows == (whorl.WindowBounds(EX + "w", 0, 10_000),)
    with pytest.raises(TimestampError) as caught:
        engine.push(S, datetime(1970, 1, 1), [])  # noqa: DTZ001 - the error itself
    assert caught.value.code == "timestamp.naive"


@pytest.mark.parametrize("wrong", [1_714_564_800.5, 1.0, "2026-01-01T00:00:00Z", None])
def test_a_time_in_seconds_or_as_text_is_refused_with_the_way_to_write_it(engine: Engine, wrong: Any) -> None:
    engine.register(EVERYTHING)
    with pytest.raises(TypeError, match=r"milliseconds since 1970.*int\(time\.time\(\) \* 1000\)"):
        engine.advance_to(wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match=r"not .*; write int"):
            engine.push(S, wrong, [(EX + "a", EX + "p", 1)])


def test_late_events_are_counted(engine: Engine) -> None:
    engine.register(EVERYTHING)
    assert engine.push(S, 25_000, [(EX + "a", EX + "p", 1)])[:2] == (1, 0)
    assert engine.push(S, 3_000, [(EX + "a", EX + "p", 2)])[:2] == (0, 1)
    (stream,) = engine.stats()["streams"]
    assert (stream["late"], stream["watermark"]) == (1, 25_000)


def test_results_are_standard_json_in_an_envelope(engine: Engine) -> None:
    query = engine.register(EVERYTHING, "all")
    engine.push(S, 1, [(EX + "a", EX + "p", 1)])
    engine.advance_to(10_000)
    (envelope,) = (json.loads(one) for one in query.results())
    assert (envelope["query"], envelope["seq"], envelope["t"], envelope["type"]) == (
        "all",
        1,
        10_000,
        "bindings",
    )
    assert envelope["results"]["head"]["vars"] == ["s", "p", "o"]
    assert envelope["results"]["results"]["bindings"][0]["s"] == {"type": "uri", "value": EX + "a"}
    assert query.results() == []


def test_ask_and_construct(engine: Engine) -> None:
    window = "FROM NAMED WINDOW :w ON :s [RANGE 10s]"
    ask = engine.register(f"PREFIX : <http://ex/> ASK {window} WHERE {{ WINDOW :w {{ ?s :p 1 }} }}")
    construct = engine.register(
        f"PREFIX : <http://ex/> CONSTRUCT {{ ?s :q ?o }} {window} WHERE {{ WINDOW :w {{ ?s :p ?o }} }}"
    )
    engine.push(S, 1, [(EX + "a", EX + "p", 1)])
    engine.advance_to(10_000)
    assert [result.boolean for result in ask] == [True]
    (result,) = construct
    assert result.kind == "graph"
    assert result.inserted == ((Iri(EX + "a"), Iri(EX + "q"), 1),)


def test_static_data_joins_streams(engine: Engine) -> None:
    assert engine.load(None, "@prefix : <http://ex/> . :a :type :Room . :b :type :Hall .") == 2
    query = engine.register(
        "PREFIX : <http://ex/> SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10s]"
        " WHERE { WINDOW :w { ?s :p ?o } ?s :type :Room }"
    )
    engine.push(S, 1, [(EX + name, EX + "p", 1) for name in "abc"])
    engine.close()
    assert query.rows() == [{"s": Iri(EX + "a")}]


def test_running_queries_follow_changes_of_static_data(engine: Engine) -> None:
    engine.load(EX + "g", "<http://ex/a> <http://ex/name> 'A' .")
    query = engine.register(
        "PREFIX : <http://ex/> SELECT ?n FROM NAMED WINDOW :w ON :s [RANGE 10ms STEP 1ms]"
        " WHERE { WINDOW :w { ?s :p ?o } GRAPH :g { ?s :name ?n } }",
        r2s="CHANGES",
    )
    engine.push(S, 9, [(EX + "a", EX + "p", 1)])
    engine.advance_to(10)
    assert engine.replace_graph(EX + "g", "<http://ex/a> <http://ex/name> 'B' .") == (1, 1)
    engine.advance_to(11)
    assert engine.update("DELETE WHERE { GRAPH ?g { ?s ?p 'B' } }") == UpdateReport(inserted=0, deleted=1)
    engine.advance_to(12)
    assert engine.graphs() == {None: 0, EX + "g": 0}
    seen = [(result.rows, result.deleted_rows) for result in query]
    a, b = {"n": "A"}, {"n": "B"}
    assert seen == [((a,), ()), ((b,), (a,)), ((), (b,))]


def test_static_graphs_can_be_read_in_the_terms_of_choice(engine: Engine) -> None:
    engine.load(None, "<http://ex/b> <http://ex/p> 01, 'x'@en . <http://ex/a> <http://ex/p> [] .")
    subjects = [subject for subject, _, _ in engine.graph(None)]
    assert subjects == [EX + "a", EX + "b", EX + "b"]
    objects = {str(obj) for _, _, obj in engine.graph(None, terms="pyoxigraph")[1:]}
    assert objects == {'"01"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"@en'}
    unknown: Any = "other"
    with pytest.raises(ValueError, match="terms are"):
        engine.graph(None, terms=unknown)


def test_an_update_that_cannot_be_done_says_why_and_changes_nothing(engine: Engine) -> None:
    engine.update("INSERT DATA { <http://ex/a> <http://ex/p> 1 }")
    with pytest.raises(GraphError) as unknown:
        engine.update("CLEAR ALL ; DROP GRAPH <http://ex/g>")
    assert unknown.value.code == "graph.unknown"
    with pytest.raises(GraphError):
        engine.drop_graph(EX + "g")
    with pytest.raises(GraphError):
        engine.graph(EX + "g")
    with pytest.raises(QuerySyntaxError) as wrong:
        engine.update("CLEAR ALL ;\nCLEAR SOME")
    assert (wrong.value.code, wrong.value.line, wrong.value.column) == ("parse.unexpected_token", 2, 7)
    assert engine.graphs() == {None: 1}


def test_unregistered_queries_are_gone_and_the_others_stay(engine: Engine) -> None:
    first, second = engine.register(EVERYTHING), engine.register(EVERYTHING)
    first.unregister()
    engine.push(S, 1, [(EX + "a", EX + "p", 1)])
    engine.advance_to(10_000)
    assert len(second.rows()) == 1
    with pytest.raises(whorl.UnknownQueryError):
        first.rows()


def test_explain_and_context_manager() -> None:
    with Engine() as engine:
        query = engine.register(EVERYTHING)
        assert query.explain()
        engine.push(S, 1, [(EX + "a", EX + "p", 1)])
    assert len(query.rows()) == 1


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "plans").glob("*.plan")), ids=lambda path: path.stem
)
def test_plans_are_json_too(path: Path) -> None:
    sections = dict(part.split("\n", 1) for part in path.read_text().split("\n== ")[1:])
    query = Engine().register(sections["query"])
    plan = query.explain(format="json")
    assert list(plan) == ["query", "windows", "incremental", "root", "warnings"]
    text = query.explain()
    windows = {window["name"] for window in plan["windows"]}
    nodes = [plan["root"]]
    for node in nodes:
        nodes.extend(node["inputs"])
        assert node["mode"] in {"incremental", "static", "instant", "re-evaluated"}
        assert ("reason" in node) == (node["mode"] == "re-evaluated")
        assert node["detail"] in text
        for role, buffer in enumerate(node.get("buffers", [])):
            assert buffer["role"] == role
            assert buffer["window"] in windows if "window" in buffer else buffer["input"] < len(node["inputs"])
    assert plan["incremental"] == all(node["mode"] in {"incremental", "static"} for node in nodes)
    assert ("re-evaluated" in text) == any(node["mode"] == "re-evaluated" for node in nodes)


def test_a_plan_is_text_or_json(engine: Engine) -> None:
    with pytest.raises(ValueError, match="yaml"):
        engine.register(EVERYTHING).explain("yaml")  # type: ignore[call-overload]  # the error itself


# Arrow.


def test_arrow_rows_with_times_are_events(engine: Engine) -> None:
    query = engine.register(EVERYTHING)
    table = pa.table({"s": [EX + "a", EX + "b"], "p": [EX + "p"] * 2, "o": [1, 2], "t": [1_000, 12_000]})
    assert engine.push(S, None, table)[:2] == (2, 0)
    engine.close()
    assert [(result.at, len(result.inserted)) for result in query][:2] == [(10_000, 1), (20_000, 1)]


def test_arrow_with_one_time_is_one_event(engine: Engine) -> None:
    batch = pa.record_batch({"s": [EX + "a", "_:b"], "p": [EX + "p"] * 2, "o": [EX + "x", '"text"@en']})
    found = objects(engine, batch)
    assert len(found) == 2
    assert engine.stats()["events"] == 1


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([7], pa.int32()), 7),
        (pa.array([2.5], pa.float32()), 2.5),
        (pa.array([True]), True),
        (pa.array([EX + "x"], pa.large_string()), Iri(EX + "x")),
        (pa.array([EX + "x"]).dictionary_encode(), Iri(EX + "x")),
        (pa.array([Decimal("1.50")]), Decimal("1.50")),
    ],
    ids=["int", "float", "bool", "large_string", "dictionary", "decimal"],
)
def test_arrow_column_types(engine: Engine, column: pa.Array, expected: object) -> None:
    table = pa.table({"s": [EX + "a"], "p": [EX + "p"], "o": column})
    assert objects(engine, table) == [expected]


def test_arrow_datatype_and_language_columns(engine: Engine) -> None:
    table = pa.table(
        {
            "s": [EX + "a"] * 3,
            "p": [EX + "p"] * 3,
            "o": ["5", "chat", EX + "x"],
            "datatype": ["http://www.w3.org/2001/XMLSchema#integer", None, None],
            "lang": [None, "fr", None],
        }
    )
    found = objects(engine, table, terms="pyoxigraph")
    assert set(found) == {ox.Literal(5), ox.Literal("chat", language="fr"), ox.NamedNode(EX + "x")}


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"s": [EX + "a"], "p": [EX + "p"]}, "'o' is missing"),
        ({"s": ["no iri"], "p": [EX + "p"], "o": [1]}, "row 0"),
        ({"s": [None], "p": [EX + "p"], "o": [1]}, "column 's' is empty"),
    ],
)
def test_arrow_that_holds_no_triples_is_refused(engine: Engine, columns: dict[str, list[object]], match: str) -> None:
    engine.declare_stream(S)
    with pytest.raises(whorl.IngestError, match=match):
        engine.push(S, 1, pa.table(columns))


def test_answers_as_arrow_and_pandas(engine: Engine) -> None:
    text = "PREFIX : <http://ex/> SELECT ?s ?o FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?s :p ?o } }"
    typed, plain, frame = (engine.register(text) for _ in range(3))
    engine.push(S, 1, [(EX + "a", EX + "p", 1), (EX + "b", EX + "p", 2.5)])
    engine.advance_to(10_000)
    table = typed.to_arrow()
    assert table.column_names == ["@seq", "@t", "@sign", "s", "o"]
    assert table.schema.field("o").type == pa.float64()
    assert sorted(table["o"].to_pylist()) == [1.0, 2.5]
    assert plain.to_arrow("text").schema.field("o").type == pa.string()
    assert list(frame.to_pandas()["@t"]) == [10_000, 10_000]
    assert typed.to_arrow().num_rows == 0


def test_columns_of_arrow_never_clash_with_variables(engine: Engine) -> None:
    pattern = "FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?t :p ?seq . ?t ?sign ?seq } }"
    query = engine.register(f"PREFIX : <http://ex/> SELECT * {pattern}")
    engine.push(S, 1, [(EX + "a", EX + "p", 1)])
    engine.advance_to(10_000)
    assert query.to_arrow().to_pylist() == [
        {"@seq": 1, "@t": 10_000, "@sign": 1, "t": EX + "a", "seq": 1, "sign": EX + "p"}
    ]


def test_rows_and_triples_are_the_two_forms_of_a_result(engine: Engine) -> None:
    window = f"FROM NAMED WINDOW <{EX}w> ON <{S}> [RANGE 1s] WHERE {{ WINDOW <{EX}w> {{ ?s ?p ?o }} }}"
    select = engine.register(f"SELECT ?o {window}", r2s="CHANGES")
    construct = engine.register(f"CONSTRUCT {{ ?s ?p ?o }} {window}", r2s="CHANGES")
    engine.push(S, 1, [(EX + "a", EX + "p", 1)])
    engine.advance_to(2_000)
    triple = (Iri(EX + "a"), Iri(EX + "p"), 1)
    came, went = select.answers()
    assert (came.rows, came.deleted_rows, went.rows, went.deleted_rows) == (({"o": 1},), (), (), ({"o": 1},))
    assert (came.triples, went.deleted_triples) == ((), ())
    came, went = construct.answers()
    assert (came.triples, came.deleted_triples, went.triples, went.deleted_triples) == ((triple,), (), (), (triple,))
    assert (came.rows, went.deleted_rows) == ((), ())


RARE_TERMS = '<urn:a> <urn:p> "x"@en--ltr, "y"@ar--rtl, <<( <urn:a> <urn:p> "z"@he--rtl )>> .'


def test_directions_and_triple_terms_as_python_terms(engine: Engine) -> None:
    found = objects(engine, RARE_TERMS)
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"
    inner = TripleTerm(Iri("urn:a"), Iri("urn:p"), Literal("z", rdf, "he", "rtl"))
    assert found == [Literal("x", rdf, "en", "ltr"), Literal("y", rdf, "ar", "rtl"), inner]


def test_directions_and_triple_terms_as_pyoxigraph_terms(engine: Engine) -> None:
    a, p = ox.NamedNode("urn:a"), ox.NamedNode("urn:p")
    right, left = ox.BaseDirection.RTL, ox.BaseDirection.LTR
    inner = ox.Triple(a, p, ox.Literal("z", language="he", direction=right))
    assert objects(engine, RARE_TERMS, terms="pyoxigraph") == [
        ox.Literal("x", language="en", direction=left),
        ox.Literal("y", language="ar", direction=right),
        inner,
    ]


def test_directions_and_triple_terms_go_in_as_they_come_out() -> None:
    for terms in ("python", "pyoxigraph"):
        found = objects(Engine(), RARE_TERMS, terms=terms)
        triples = [("urn:a", "urn:p", term) for term in found]
        assert objects(Engine(), triples, terms=terms) == found
