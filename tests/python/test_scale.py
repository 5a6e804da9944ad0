"""A query in partitions, through the binding; more about its results is in `engine-rs/tests/scale`."""

import json
from typing import Any

import pyarrow as pa
import pytest
import whorl
from whorl._engine import MergeEngine, PartitionEngine, ScaledQuery
from whorl.errors import IngestError, UnknownStreamError, WhorlError

STREAM = "http://ex/s"
PREFIX = "PREFIX : <http://ex/> "
GROUPS = (
    PREFIX
    + "SELECT ?room (AVG(?v) AS ?mean) (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s] "
    + "WHERE { WINDOW :w { ?k :temp ?v } ?k :room ?room } GROUP BY ?room"
)
STAR = PREFIX + "SELECT ?k ?v FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE { WINDOW :w { ?k :temp ?v } }"
ROOMS: list[tuple[str | None, bytes, str]] = [
    (None, b"@prefix : <http://ex/> . :k0 :room :r0 . :k1 :room :r1 . :k2 :room :r0 .", "turtle")
]
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def triples(start: int, n: int = 60) -> pa.Table:
    """Readings of three sensors, 50 ms apart."""
    numbers = range(start, start + n)
    return pa.table(
        {
            "t": [50 * number for number in numbers],
            "s": [f"http://ex/k{number % 3}" for number in numbers],
            "p": ["http://ex/temp"] * n,
            "o": [str(number % 7) for number in numbers],
            "datatype": [INTEGER] * n,
        }
    )


def rows_of(answers: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.ipc.open_stream(answers).read_all().to_pylist()
    return rows


def run(text: str, partitions: int, graphs: list[tuple[str | None, bytes, str]] | None = None) -> list[dict[str, Any]]:
    """Three batches, with a restart of everything after each."""
    query = ScaledQuery(text, partitions=partitions)
    engines = [PartitionEngine(query, number, graphs) for number in range(query.partitions)]
    merge, rows = MergeEngine(query), []
    for batch in range(3):
        chunks = query.route(STREAM, triples(60 * batch), order=60 * batch)
        assert [partition for partition, _ in chunks] == list(range(query.partitions))
        for partition, chunk in chunks:
            absorbed = engines[partition].absorb([chunk])
            assert absorbed["late"] == 0
            assert absorbed["watermark"] == {STREAM: 50 * (60 * batch + 59)} == engines[partition].watermarks
        rows += rows_of(merge.merge([engine.drain() for engine in reversed(engines)]))
        engines = [PartitionEngine.restore(query, number, engine.snapshot()) for number, engine in enumerate(engines)]
        merge = MergeEngine.restore(query, merge.snapshot())
    for engine in engines:
        engine.close()
    return rows + rows_of(merge.merge([engine.drain() for engine in engines]))


def written(term: dict[str, str]) -> str:
    """A term of SPARQL JSON in N-Triples syntax; no text here needs an escape."""
    if term["type"] == "uri":
        return f"<{term['value']}>"
    return f'"{term["value"]}"^^<{term["datatype"]}>'


def embedded(text: str) -> list[dict[str, Any]]:
    """The same batches through one engine, in the same form."""
    engine = whorl.Engine()
    for graph, rdf, _ in ROOMS:
        engine.load(graph, rdf)
    query = engine.register(text, "q")
    for batch in range(3):
        engine.push(STREAM, None, triples(60 * batch))
    engine.close()
    rows = []
    for result in map(json.loads, query.results()):
        windows = result["windows"]
        bounds = {"open": windows[0]["open"], "close": windows[0]["close"]}
        fixed = {"seq": result["seq"], "at": result["t"], **bounds, "windows": windows}
        variables = result["results"]["head"]["vars"]
        bindings = result["results"]["results"]["bindings"]
        for binding in bindings:
            cells = {name: written(binding[name]) if name in binding else None for name in variables}
            rows.append({**fixed, "sign": 1, **cells})
        if not bindings:
            rows.append({**fixed, "sign": 0, **dict.fromkeys(variables)})
    return rows


@pytest.mark.parametrize("partitions", [1, 2, 8])
@pytest.mark.parametrize("text", [GROUPS, STAR, STAR + " ORDER BY DESC(?v) LIMIT 2"], ids=["groups", "star", "top-k"])
def test_partitions_say_what_one_engine_says(text: str, partitions: int) -> None:
    found = [{**row, "windows": json.loads(row["windows"])} for row in run(text, partitions, ROOMS)]
    assert found == embedded(text)


def test_an_answer_says_its_number_its_windows_and_its_terms() -> None:
    first = run(STAR, 2)[0]
    assert list(first) == ["seq", "at", "open", "close", "windows", "sign", "k", "v"]
    assert (first["seq"], first["at"], first["open"], first["close"], first["sign"]) == (1, 1000, 0, 1000, 1)
    assert json.loads(first["windows"]) == [{"name": "http://ex/w", "open": 0, "close": 1000}]
    assert (first["k"], first["v"]) == ("<http://ex/k0>", f'"0"^^<{INTEGER}>')


def test_an_empty_answer_is_a_row_without_sign() -> None:
    last = run(STAR, 2)[-1]
    assert (last["sign"], last["k"], last["v"]) == (0, None, None)


def test_explain_says_by_what_and_why() -> None:
    explained = json.loads(ScaledQuery(GROUPS, partitions=4).explain())
    assert (explained["partitions"], explained["variable"], explained["merge"]) == (4, "k", "groups")
    assert explained["patterns"] == [
        {"stream": STREAM, "window": "http://ex/w", "pattern": "?k <http://ex/temp> ?v", "place": "subject"}
    ]
    assert "partial group by ?room" in explained["partial"]
    assert "final group by ?room" in explained["mergeText"]
    one = json.loads(ScaledQuery(STAR, partitions=4, tick="tuple").explain())
    assert (one["partitions"], one["variable"], one["merge"]) == (1, None, "none")
    assert one["why"].startswith("runs on one partition: with tick tuple")
    assert one["warnings"] == ["4 partitions were requested; one is used"]


def test_equal_arguments_have_equal_fingerprints() -> None:
    lateness = {STREAM: {"lateness_ms": 500}}
    fingerprint = ScaledQuery(STAR, partitions=2, streams=lateness).fingerprint
    assert fingerprint == ScaledQuery(STAR, partitions=2, streams=lateness).fingerprint
    others = [
        ScaledQuery(STAR, partitions=2),
        ScaledQuery(STAR, partitions=3, streams=lateness),
        ScaledQuery(STAR, partitions=2, streams=lateness, r2s="ISTREAM"),
        ScaledQuery(GROUPS, partitions=2, streams=lateness),
    ]
    assert all(other.fingerprint != fingerprint for other in others)


def test_rows_are_routed_by_a_mapping_and_bodies_by_their_format() -> None:
    query = ScaledQuery(STAR, partitions=2)
    mapping = 'CONSTRUCT { ?sensor <http://ex/temp> ?value } WHERE { BIND(IRI(CONCAT("http://ex/", ?id)) AS ?sensor) }'
    rows = pa.table({"when": [10, 20], "id": ["a", "b"], "value": [1, 2]})
    by_mapping = query.route(STREAM, rows, mapping=mapping, time_column="when")
    body = b"<http://ex/a> <http://ex/temp> 1 . <http://ex/b> <http://ex/temp> 2 ."
    by_body = query.route_rdf(STREAM, 20, body, "turtle")
    for chunks in (by_mapping, by_body):
        engines = [PartitionEngine(query, number) for number in range(2)]
        assert sum(engines[number].absorb([chunk])["triples"] for number, chunk in chunks) == 2
        assert all(engine.watermarks == {STREAM: 20} for engine in engines)


def test_what_is_wrong_is_said() -> None:
    query = ScaledQuery(STAR, partitions=2)
    with pytest.raises(UnknownStreamError, match="does not exist"):
        query.route("http://ex/other", triples(0))
    with pytest.raises(IngestError, match="not triples in columns s, p and o"):
        query.route(STREAM, pa.table({"x": [1]}))
    with pytest.raises(ValueError, match="settings of a stream"):
        ScaledQuery(STAR, partitions=2, streams={STREAM: {"late": 5}})
    with pytest.raises(WhorlError) as refused:
        PartitionEngine.restore(query, 1, PartitionEngine(query, 0).snapshot())
    assert refused.value.code == "snapshot.query"
    with pytest.raises(WhorlError) as refused:
        PartitionEngine(query, 0).absorb([b"no chunk"])
    assert refused.value.code == "chunk.damaged"
    with pytest.raises(WhorlError) as refused:
        MergeEngine(query).merge([MergeEngine(query).merge([])])
    assert refused.value.code == "partial.unreadable"
    with pytest.raises(WhorlError) as refused:
        PartitionEngine(query, 2)
    assert refused.value.code == "scale.unsupported"
