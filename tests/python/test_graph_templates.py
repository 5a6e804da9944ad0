"""GRAPH in the template of a CONSTRUCT: quads in results and documents, and a query of RSP4J as it is published."""

from __future__ import annotations

import pytest
from whorl import Engine, QueryError

SENSORS = "http://sensor-stream.org/"
CITY = "http://dbpedia.org/resource/"
LOC = "http://example.org/local/vocabulary/"
PROV = "http://www.w3.org/ns/prov#"
# https://github.com/streamreasoning/RSP-QL, sample queries: the first one.
BELOW_TEN = """
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX dbp: <http://dbpedia.org/resource/>
PREFIX loc: <http://example.org/local/vocabulary/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

REGISTER ISTREAM <stream-below-10-degrees> AS
CONSTRUCT {
    _:b prov:generatedAtTime ?time .
    GRAPH _:b {
        ?city loc:hasPointTempC ?temp .
    }
}
FROM NAMED WINDOW <w> ON <http://sensor-stream.org/> [RANGE PT10S STEP PT1S]
WHERE {
   WINDOW <w> {
      ?city loc:hasPointTempC ?temp .
   }
   FILTER(?temp < 10)
   BIND(NOW() AS ?time)
}
"""
# Events of the same page.
PUBLISHED = """
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix dbp: <http://dbpedia.org/resource/> .
@prefix loc: <http://example.org/local/vocabulary/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

_:b7 prov:generatedAtTime "2018-01-01T01:08:00Z"^^xsd:dateTimeStamp .
_:b7 { dbp:Berlin loc:hasPointTempC "9.0"^^xsd:decimal . }
_:b8 prov:generatedAtTime "2018-01-01T01:10:00Z"^^xsd:dateTimeStamp .
_:b8 { dbp:Berlin loc:hasPointTempC "8.5"^^xsd:decimal . }
"""
MINUTE_8 = 1_514_768_880_000
BY_ROOM = """PREFIX : <http://ex/>
REGISTER ISTREAM :rooms AS CONSTRUCT { :all :has ?room . GRAPH ?room { ?room :t ?t } }
FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?room :t ?t } }"""


def reading(t: int) -> list[tuple[str, str, int]]:
    return [("http://ex/hall", "http://ex/t", t)]


def test_a_published_query_constructs_a_graph_for_each_reading() -> None:
    engine = Engine()
    query = engine.register(BELOW_TEN, base_iri="http://example.org/")
    for minute, city, celsius in [(0, "Berlin", 12), (1, "London", 9), (2, "Berlin", 8)]:
        engine.push(SENSORS, minute * 60_000, [(CITY + city, LOC + "hasPointTempC", celsius)])
    engine.close()
    first = next(result for result in query if result.inserted)
    [(subject, predicate, _, _)] = [quad for quad in first.quads if quad[3] is None]
    [(place, _, below, graph)] = [quad for quad in first.quads if quad[3] is not None]
    assert str(predicate) == PROV + "generatedAtTime"
    assert (str(place), below) == (CITY + "London", 9)
    assert graph == subject
    assert len(first.triples) == 2


def test_published_events_have_their_own_times() -> None:
    engine = Engine()
    query = engine.register(BELOW_TEN, base_iri="http://example.org/")
    engine.push(SENSORS, None, PUBLISHED, format="trig")
    engine.close()
    made = [(result.at, quad[2]) for result in query for quad in result.quads if quad[3] is not None]
    # ?time is another one at each close, so that each of the ten that show a reading has something new to say.
    shown = [
        (first_ms + 1000 * n, celsius) for first_ms, celsius in [(1_000, "9.0"), (121_000, "8.5")] for n in range(10)
    ]
    assert [(at - MINUTE_8, str(celsius)) for at, celsius in made] == shown


def test_documents_have_the_names_of_graphs() -> None:
    engine = Engine()
    query = engine.register(BY_ROOM, r2s="RSTREAM", keep_answer=True)
    engine.push("http://ex/s", 1, reading(5))
    engine.advance_to(10_000)
    assert query.answer("nquads").decode().splitlines() == [
        "<http://ex/all> <http://ex/has> <http://ex/hall> .",
        '<http://ex/hall> <http://ex/t> "5"^^<http://www.w3.org/2001/XMLSchema#integer> <http://ex/hall> .',
    ]
    assert "<http://ex/hall> {" in query.answer("trig").decode()
    assert len(query.answer("ntriples").decode().splitlines()) == 2


def test_a_notebook_shows_the_names_of_graphs() -> None:
    engine = Engine()
    query = engine.register(BY_ROOM)
    engine.push("http://ex/s", 1, reading(5))
    engine.close()
    [result] = [one for one in query if one.inserted]
    assert "<th>graph</th>" in result._repr_html_()


def test_a_query_further_down_reads_graph_by_graph() -> None:
    engine = Engine()
    engine.register(BY_ROOM)
    below = engine.register(
        "PREFIX : <http://ex/> SELECT ?g ?t FROM NAMED WINDOW :v ON :rooms [RANGE 10s] "
        "WHERE { WINDOW :v { GRAPH ?g { ?room :t ?t } ?all :has ?g } }"
    )
    engine.push("http://ex/s", 1, reading(5))
    engine.push("http://ex/s", 30_000, reading(6))
    engine.close()
    rows = [(str(row["g"]), row["t"]) for result in below for row in result.rows]
    assert rows == [("http://ex/hall", 5), ("http://ex/hall", 6)]


def test_a_query_that_is_evaluated_once_constructs_one_graph() -> None:
    with pytest.raises(QueryError, match="GRAPH in a CONSTRUCT template"):
        Engine().ask("CONSTRUCT { GRAPH ?g { ?s ?p ?o } } WHERE { ?s ?p ?o }")
