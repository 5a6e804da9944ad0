"""Bodies of events: every format, rows by a mapping, what is refused, and that nothing is half taken."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
import whorl
from whorl import Engine, IngestError, QueryError, RdfSyntaxError, TimestampError

EX = "http://ex/"
S = EX + "s"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
QUERY = """
PREFIX : <http://ex/>
SELECT ?s ?p ?o FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s] WHERE { WINDOW :w { ?s ?p ?o } }
"""
# Time, sensor, value and note of each.
READINGS = [(number * 700, f"sensor{number % 3}", number * 1.5, None if number % 4 else "ok") for number in range(40)]
MAPPING = """
PREFIX : <http://ex/>
CONSTRUCT { ?sensor :value ?value ; :note ?note }
WHERE { BIND(IRI(CONCAT("http://ex/", ?name)) AS ?sensor) }
"""


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    engine.declare_stream(S)
    return engine


def ipc(table: pa.Table, compression: str | None = None) -> bytes:
    """The table as an Arrow IPC stream, in several batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=16)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def double(value: float) -> str:
    return f"{value:g}"


def triples_of(reading: tuple[int, str, float, str | None]) -> list[str]:
    _, sensor, value, note = reading
    found = [f'<{EX}{sensor}> <{EX}value> "{double(value)}"^^<{XSD}double>']
    return found if note is None else [*found, f'<{EX}{sensor}> <{EX}note> "{note}"']


def as_nquads() -> bytes:
    lines = []
    for number, reading in enumerate(READINGS):
        graph = f"<{EX}g{number}>"
        lines.append(f'{graph} <{PROV}> "{reading[0]}"^^<{XSD}integer> .')
        lines += [f"{triple} {graph} ." for triple in triples_of(reading)]
    return "\n".join(lines).encode()


def as_trig() -> bytes:
    parts = []
    for number, reading in enumerate(READINGS):
        parts.append(f"<{EX}g{number}> <{PROV}> {reading[0]} .")
        parts.append(f"<{EX}g{number}> {{ {' . '.join(triples_of(reading))} }}")
    return "\n".join(parts).encode()


def as_jsonld() -> bytes:
    nodes: list[dict[str, Any]] = []
    for number, (at, sensor, value, note) in enumerate(READINGS):
        nodes.append({"@id": f"{EX}g{number}", PROV: at, "@graph": [json_ld(sensor, value, note)]})
    return json.dumps(nodes).encode()


def json_ld(sensor: str, value: float, note: str | None) -> dict[str, Any]:
    node: dict[str, Any] = {
        "@id": EX + sensor,
        EX + "value": {"@value": double(value), "@type": XSD + "double"},
    }
    return node if note is None else {**node, EX + "note": note}


def as_ndjson_of_json_ld() -> bytes:
    lines = [json.dumps({"t": at, "event": json_ld(sensor, value, note)}) for at, sensor, value, note in READINGS]
    return "\n".join(lines).encode()


def as_ndjson_of_turtle() -> bytes:
    lines = [json.dumps({"t": reading[0], "data": " . ".join(triples_of(reading)) + " ."}) for reading in READINGS]
    return "\r\n\n".join(lines).encode()


def triple_table() -> pa.Table:
    rows = [
        (at, number, EX + sensor, EX + name, text, datatype)
        for number, (at, sensor, value, note) in enumerate(READINGS)
        for name, text, datatype in [("value", double(value), XSD + "double"), ("note", note, XSD + "string")]
        if text is not None
    ]
    return pa.table(dict(zip(["t", "event", "s", "p", "o", "datatype"], zip(*rows, strict=True), strict=True)))


def row_table() -> pa.Table:
    at, names, values, notes = zip(*READINGS, strict=True)
    return pa.table({"t": at, "name": pa.array(names).dictionary_encode(), "value": values, "note": notes})


def results(push: Any, body: Any, format: str = "turtle", mapping: str | None = None) -> list[bytes]:
    engine = Engine()
    query = engine.register(QUERY)
    if mapping is not None:
        engine.set_mapping(S, mapping)
    report = push(engine, body, format)
    assert report.accepted == report.events == len(READINGS)
    assert report.triples == sum(len(triples_of(reading)) for reading in READINGS)
    engine.close()
    return query.results()


def whole(engine: Engine, body: Any, format: Any) -> whorl.IngestReport:
    return engine.push(S, None, body, format)


@pytest.mark.parametrize(
    ("body", "format"),
    [
        (as_trig(), "trig"),
        (as_jsonld(), "jsonld"),
        (as_ndjson_of_json_ld(), "ndjson"),
        (as_ndjson_of_turtle(), "ndjson"),
        (ipc(triple_table()), "arrow"),
        (ipc(triple_table(), "lz4"), "arrow"),
        (ipc(triple_table(), "zstd"), "arrow"),
        (triple_table(), "turtle"),
    ],
    ids=["trig", "jsonld", "ndjson", "ndjson-turtle", "arrow", "arrow-lz4", "arrow-zstd", "table"],
)
def test_every_format_gives_the_same_results(body: Any, format: str) -> None:
    expected = results(whole, as_nquads(), "nquads")
    assert expected
    assert results(whole, body, format) == expected


@pytest.mark.parametrize(
    "body", [ipc(row_table()), ipc(row_table(), "zstd"), row_table()], ids=["ipc", "zstd", "table"]
)
def test_mapped_rows_give_the_same_results_as_triples(body: Any) -> None:
    assert results(whole, body, "arrow", MAPPING) == results(whole, as_nquads(), "nquads")


def test_rows_mapped_without_a_stream_are_the_same_events() -> None:
    for data in (row_table(), ipc(row_table())):
        assert results(whole, whorl.map_rows(MAPPING, data), "nquads") == results(whole, as_nquads(), "nquads")


# What is wrong, and what stays outside.


def line(at: object, value: object = 1) -> str:
    return json.dumps({"t": at, "data": f"<{EX}a> <{EX}p> {value} ."})


WRONG_LINES = [
    (b"{", "rdf.syntax"),
    (b"7", "rdf.syntax"),
    (b'{"t": 1}', "rdf.syntax"),
    (b'{"a": 1}', "rdf.syntax"),
    (b'{"t": "yesterday", "data": ""}', "timestamp.invalid"),
    (b'{"t": 1.5, "data": ""}', "timestamp.invalid"),
    (b'{"t": "2024-05-01T12:00:00", "data": ""}', "timestamp.invalid"),
    (b'{"t": null, "data": ""}', "timestamp.missing"),
    (b'{"data": ""}', "timestamp.missing"),
    (b'{"t": 1, "data": 5}', "rdf.syntax"),
    (b'{"t": 1, "data": "<a"}', "rdf.syntax"),
    (b'{"t": 1, "data": "", "event": {}}', "rdf.syntax"),
    (b'{"t": 1, "event": {"@id": 5}}', "rdf.syntax"),
    (b'{"t": 1, "event": {"@context": "http://ex/c", "x": 5}}', "rdf.remote_context"),
    (b'{"watermark": "x"}', "timestamp.invalid"),
    (b'{"watermark": 5}', "watermark.regression"),
    (b'{"end": 1}', "rdf.syntax"),
    (b'{"t": 1, "data": "\xff"}', "rdf.encoding"),
    (b'{"t": 1, "event": ' + b"[" * 70_000 + b"]" * 70_000 + b"}", "limit.depth"),
    (b"[" * 70_000, "limit.depth"),
]


@pytest.mark.parametrize(("bad", "code"), WRONG_LINES)
def test_a_wrong_line_refuses_the_body_or_itself(engine: Engine, bad: bytes, code: str) -> None:
    body = b"\n".join([line(1_000).encode(), b"", bad, line(2_000).encode()])
    with pytest.raises(whorl.WhorlError) as caught:
        engine.push(S, None, body, "ndjson")
    assert (caught.value.code, caught.value.index, caught.value.line) == (code, 1, 3)
    assert engine.stats()["events"] == 0
    report = engine.push(S, None, body, "ndjson", atomic=False)
    assert (report.accepted, [(r.index, r.code, r.line) for r in report.refused]) == (2, [(1, code, 3)])


def test_control_lines_are_obeyed_in_order(engine: Engine) -> None:
    query = engine.register(QUERY)
    lines = [line(1_000), '{"watermark": 20000}', line(3_000), line(21_000), '{"end": true}', line(22_000)]
    report = engine.push(S, None, "\n".join(lines), "ndjson")
    assert (report.accepted, report.late, report.events) == (2, 2, 4)
    assert [answer.at for answer in query][-1] > 21_000


def test_blank_nodes_have_a_meaning_in_one_line(engine: Engine) -> None:
    query = engine.register(QUERY)
    body = "\n".join(json.dumps({"t": at, "data": f"_:x <{EX}p> 1 ."}) for at in (1_000, 2_000))
    engine.push(S, None, body, "ndjson")
    engine.advance_to(10_000)
    assert len({row["s"] for row in query.answers()[-1].rows}) == 2


def test_an_event_without_wrapper_has_its_time_in_the_data() -> None:
    engine = Engine()
    engine.declare_stream(S, timestamp_predicate=EX + "at")
    bare = {"@id": EX + "a", EX + "at": 1_000}
    graph = {"@id": EX + "g", PROV: 2_000, "@graph": [{"@id": EX + "a", EX + "p": 1}]}
    report = engine.push(S, None, f"{json.dumps(bare)}\n{json.dumps(graph)}", "ndjson")
    assert report.accepted == 2
    assert engine.stats()["streams"][0]["watermark"] == 2_000


def test_wrong_lines_of_nquads_are_refused_alone(engine: Engine) -> None:
    good = f"<{EX}a> <{EX}p> <{EX}b> <{EX}g> ."
    time = f'<{EX}g> <{PROV}> "1000"^^<{XSD}integer> .'
    body = "\n".join([time, good, "<http://ex/a> (((", good.replace("/b>", "/c>")]).encode() + b"\n\xff\n"
    with pytest.raises(RdfSyntaxError):
        engine.push(S, None, body, "nquads")
    report = engine.push(S, None, body, "nquads", atomic=False)
    assert (report.accepted, report.triples) == (1, 2)
    assert [(r.index, r.code, r.line) for r in report.refused] == [(None, "rdf.syntax", 3), (None, "rdf.encoding", 5)]


def test_an_event_without_a_time_is_named(engine: Engine) -> None:
    body = f"<{EX}g> <{PROV}> 5 . <{EX}g> {{ <{EX}a> <{EX}p> 1 }} <{EX}h> {{ <{EX}a> <{EX}p> 2 }}"
    with pytest.raises(TimestampError) as caught:
        engine.push(S, None, body, "trig")
    assert (caught.value.code, caught.value.index) == ("timestamp.missing", 1)
    report = engine.push(S, None, body, "trig", atomic=False)
    assert (report.accepted, [r.index for r in report.refused]) == (1, [1])
    with pytest.raises(RdfSyntaxError):
        engine.push(S, None, "<a", "turtle", atomic=False)


@pytest.mark.parametrize("body", [line(1_000) + "\n" + line(9_000), "table"])
def test_events_after_the_latest_time_are_set_aside(engine: Engine, body: str) -> None:
    table = pa.table({"t": [1_000, 9_000], "s": [EX + "a"] * 2, "p": [EX + "p"] * 2, "o": [1, 2]})
    report = engine.push(S, None, table if body == "table" else body, "ndjson", latest=5_000)
    assert report[:4] == (1, 0, 1, 2)
    assert engine.stats()["streams"][0]["watermark"] == 1_000


def test_a_watermark_after_the_latest_time_goes_as_far_as_that(engine: Engine) -> None:
    engine.push(S, None, '{"watermark": 9000}', "ndjson", latest=5_000)
    assert engine.stats()["streams"][0]["watermark"] == 5_000


# Arrow.


def test_truncated_arrow_is_an_error_and_nothing_is_taken(engine: Engine) -> None:
    for compression in (None, "lz4", "zstd"):
        body = ipc(triple_table(), compression)
        for end in range(0, len(body) - 8, 97):
            with pytest.raises(IngestError):
                engine.push(S, None, body[:end], "arrow")
    assert engine.stats()["events"] == 0


def test_damaged_arrow_is_an_error_or_other_data_and_never_a_crash(engine: Engine) -> None:
    body = ipc(triple_table(), "zstd")
    for at in range(0, len(body), 53):
        damaged = body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]
        try:
            engine.push(S, 1, damaged, "arrow")
        except whorl.WhorlError as error:
            assert error.code != "engine.panic", at  # noqa: PT017 - refusing is one of two right outcomes


def test_an_arrow_body_cannot_ask_for_memory_it_does_not_pay_for(engine: Engine) -> None:
    table = pa.table({"t": [1], "s": [EX + "a"], "p": [EX + "p"], "o": ["x" * 5_000]})
    body = ipc(table, "zstd")
    stated = (5_000).to_bytes(8, "little")
    assert stated in body
    with pytest.raises(IngestError, match="MiB"):
        engine.push(S, None, body.replace(stated, (1 << 45).to_bytes(8, "little")), "arrow")
    # A length below −1 must not wrap the sum of them: the process would end in an allocation.
    for negative in (-2, -3, -(1 << 40), -(1 << 63)):
        with pytest.raises(IngestError, match="MiB"):
            engine.push(S, None, body.replace(stated, negative.to_bytes(8, "little", signed=True)), "arrow")
    with pytest.raises(IngestError, match="stream format"):
        engine.push(S, None, b"ARROW1\0\0" + body, "arrow")


def test_an_arrow_body_of_millions_of_equal_rows_is_refused_unread(engine: Engine) -> None:
    n = 2_000_000
    same = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int8()), [EX + "a"])
    batch = pa.record_batch({"t": pa.array([0] * n, pa.int64()), "s": same, "p": same, "o": same})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    body = sink.getvalue().to_pybytes()
    assert len(body) < 20_000
    with pytest.raises(IngestError, match=r"cannot be read: the body has 20000\d\d rows in \d+ bytes; send at most"):
        engine.push(S, None, body, "arrow")


def test_an_lz4_body_that_unfolds_to_more_than_it_says_is_refused_unread(engine: Engine) -> None:
    batch = pa.record_batch({"o": ["x" * 4_000_000]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        for _ in range(70):
            writer.write_batch(batch)
    body, stated = sink.getvalue().to_pybytes(), (4_000_000).to_bytes(8, "little")
    assert body.count(stated) >= 70
    with pytest.raises(IngestError, match=r"cannot be read: the body expands to more than \d\d MiB"):
        engine.push(S, None, body.replace(stated, (8).to_bytes(8, "little")), "arrow")


def test_an_arrow_body_of_many_columns_or_deep_ones_is_refused_unread(engine: Engine) -> None:
    wide = pa.table({f"c{n}": pa.nulls(1, pa.string()) for n in range(1025)})
    deep, nested = pa.int64(), pa.struct({f"f{n}": pa.int64() for n in range(1024)})
    for _ in range(17):
        deep = pa.list_(deep)
    for table in (wide, pa.table({"c": pa.nulls(1, deep)}), pa.table({"c": pa.nulls(1, nested)})):
        with pytest.raises(IngestError, match="more than 1024 columns and fields, or nests them more than 16 deep"):
            engine.push(S, None, ipc(table), "arrow")
    columns = {"t": [1], "s": [EX + "a"], "p": [EX + "p"], "o": [EX + "o"]}
    some = pa.table({**columns, **{f"c{n}": [n] for n in range(1000)}})
    assert engine.push(S, None, ipc(some), "arrow").accepted == 1


def one_batch(columns: dict[str, Any], compression: str | None = None) -> bytes:
    sink, batch = pa.BufferOutputStream(), pa.record_batch(columns)
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def test_an_arrow_body_of_many_empty_values_is_refused_unread(engine: Engine) -> None:
    body = one_batch({"t": list(range(20_000)), **{f"c{n}": pa.nulls(20_000) for n in range(200)}})
    with pytest.raises(IngestError, match=r"the body has 4020000 values in \d+ bytes; send at most"):
        engine.push(S, None, body, "arrow")


def test_a_small_arrow_body_has_no_million_rows(engine: Engine) -> None:
    body = one_batch({"t": [0] * 400_000}, "zstd")
    assert len(body) < 65_000
    with pytest.raises(IngestError, match=r"the body has 400000 rows in \d+ bytes; send at most"):
        engine.push(S, None, body, "arrow")


@pytest.mark.parametrize(
    ("column", "value", "match"),
    [
        ("s", "no iri", "row 2: 'no iri' is not an absolute IRI"),
        ("s", None, "row 2: column 's' is empty"),
        ("p", "_:x", "a predicate is an IRI"),
        ("t", None, "row 2: column 't' is empty"),
        ("o", '"open', "is not a term"),
    ],
)
def test_one_wrong_row_refuses_all_or_its_event(engine: Engine, column: str, value: object, match: str) -> None:
    columns: dict[str, list[Any]] = {"t": [1, 2, 3, 4], "s": [EX + "a"] * 4, "p": [EX + "p"] * 4, "o": [EX + "o"] * 4}
    columns[column][2] = value
    for body in (pa.table(columns), ipc(pa.table(columns))):
        with pytest.raises(IngestError, match=match) as caught:
            engine.push(S, None, body, "arrow")
        assert caught.value.index == 2
    assert engine.stats()["events"] == 0
    report = engine.push(S, None, ipc(pa.table(columns)), "arrow", atomic=False)
    assert (report.accepted, [(r.index, r.code) for r in report.refused]) == (3, [(2, "arrow.row")])


@pytest.mark.parametrize(
    "times",
    [
        pa.array([1_000, 2_000], pa.int32()),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([1_000_000, 2_000_999], pa.timestamp("us", "Europe/Berlin")),
        pa.array(["1970-01-01T00:00:01Z", "1970-01-01T01:00:02+01:00"]),
        pa.array(["1000", "2000"]).dictionary_encode(),
    ],
)
def test_times_of_arrow(engine: Engine, times: pa.Array) -> None:
    engine.push(S, None, pa.table({"t": times, "s": [EX + "a"] * 2, "p": [EX + "p"] * 2, "o": [1, 2]}))
    assert engine.stats()["streams"][0]["watermark"] == 2_000


def test_times_of_no_time_type_are_refused(engine: Engine) -> None:
    table = pa.table({"t": [1.5], "s": [EX + "a"], "p": [EX + "p"], "o": [1]})
    with pytest.raises(IngestError, match="holds no times"):
        engine.push(S, None, table)


# Mappings.


def mapped(construct: str, **columns: object) -> set[str]:
    """The triples of mapped rows, without graphs and times."""
    text = whorl.map_rows(construct, pa.table(columns), t=0).decode()
    return {line.rsplit(" ", 2)[0] for line in text.splitlines() if PROV not in line}


@pytest.mark.parametrize(
    ("column", "term"),
    [
        (pa.array([7], pa.uint8()), f'"7"^^<{XSD}integer>'),
        (pa.array([2**63], pa.uint64()), f'"9223372036854775808"^^<{XSD}integer>'),
        (pa.array([0.1], pa.float32()), f'"0.1"^^<{XSD}double>'),
        (pa.array([float("inf")]), f'"INF"^^<{XSD}double>'),
        (pa.array([True]), f'"true"^^<{XSD}boolean>'),
        (pa.array(["x"], pa.large_string()), '"x"'),
        (pa.array(["x"]).dictionary_encode(), '"x"'),
        (pa.array([1_500], pa.timestamp("ms", "UTC")), f'"1970-01-01T00:00:01.5Z"^^<{XSD}dateTime>'),
        (pa.array([1], pa.timestamp("us", "UTC")), f'"1970-01-01T00:00:00.000001Z"^^<{XSD}dateTime>'),
        (pa.array([1], pa.timestamp("s")), f'"1970-01-01T00:00:01"^^<{XSD}dateTime>'),
        (pa.array([1], pa.date32()), f'"1970-01-02"^^<{XSD}date>'),
        (pa.array([150], pa.int32()).cast(pa.decimal128(12, 2)), f'"150.00"^^<{XSD}decimal>'),
    ],
)
def test_columns_are_literals_of_their_type(column: pa.Array, term: str) -> None:
    assert mapped("CONSTRUCT { <http://ex/a> <http://ex/p> ?v }", v=column) == {f"<{EX}a> <{EX}p> {term}"}


def test_empty_values_leave_their_triples_out() -> None:
    construct = "CONSTRUCT { <http://ex/a> <http://ex/p> ?v ; <http://ex/q> ?w } WHERE {}"
    assert mapped(construct, v=[1, None], w=pa.array([None, None], pa.int64())) == {
        f'<{EX}a> <{EX}p> "1"^^<{XSD}integer>'
    }


def test_filters_conditions_and_tables_work_on_a_row() -> None:
    construct = """
        PREFIX : <http://ex/>
        CONSTRUCT { ?s :state ?state ; :name ?name }
        WHERE {
            VALUES (?code ?name) { ("a" "Anna") ("b" "Berta") }
            BIND(IRI(CONCAT(STR(:), ?code)) AS ?s)
            BIND(IF(?v > 10, "high", "low") AS ?state)
            FILTER(?v != 13)
        }"""
    found = mapped(construct, code=["a", "b", "c", "a"], v=[5, 20, 30, 13])
    low = {f'<{EX}a> <{EX}name> "Anna"', f'<{EX}a> <{EX}state> "low"'}
    assert found == low | {f'<{EX}b> <{EX}name> "Berta"', f'<{EX}b> <{EX}state> "high"'}


def test_blank_nodes_of_the_template_are_fresh_for_each_row() -> None:
    found = mapped("CONSTRUCT { _:x <http://ex/p> ?v . _:x <http://ex/q> ?v }", v=[1, 1])
    assert len(found) == 4
    assert len({triple.split()[0] for triple in found}) == 2


@pytest.mark.parametrize(
    ("construct", "code", "place"),
    [
        ("CONSTRUCT { ?s ?p }", "parse.unexpected_token", (1, 19)),
        ("CONSTRUCT { ?s :p ?o }", "prefix.unknown", (1, 16)),
        ("SELECT * WHERE {}", "mapping.form", (1, 1)),
        ("CONSTRUCT { ?s ?p ?o }\nWHERE { ?s ?p ?o }", "mapping.unsupported", (2, 1)),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "mapping.unsupported", (1, 11)),
        ("CONSTRUCT { ?s ?p ?o } WHERE { OPTIONAL { ?s ?p ?o } }", "mapping.unsupported", (1, 32)),
        ("CONSTRUCT { ?s ?p ?o } WHERE { { BIND(1 AS ?s) } UNION {} }", "mapping.unsupported", (1, 50)),
        ("CONSTRUCT { ?s ?p ?o } WHERE { BIND(?s + 1 AS ?s) }", "mapping.unsupported", (1, 47)),
        ("CONSTRUCT { ?s ?p ?o } WHERE { BIND(<urn:f>(1) AS ?s) }", "expr.unknown_function", (1, 37)),
        ("CONSTRUCT { ?s ?p ?o } WHERE {} LIMIT 1", "mapping.unsupported", (1, 33)),
        ("CONSTRUCT { ?s ?p ?o } WHERE { FILTER EXISTS { ?s ?p ?o } }", "expr.exists_not_allowed", (1, 39)),
    ],
)
def test_a_wrong_mapping_is_refused_at_once_with_its_place(
    engine: Engine, construct: str, code: str, place: tuple[int, int]
) -> None:
    engine.set_mapping(S, MAPPING)
    with pytest.raises(QueryError) as caught:
        engine.set_mapping(S, construct)
    assert (caught.value.code, (caught.value.line, caught.value.column)) == (code, place)
    assert caught.value.hint
    assert engine.mapping(S) == MAPPING


def test_a_column_that_is_not_there_is_named_with_what_is(engine: Engine) -> None:
    engine.set_mapping(S, MAPPING)
    with pytest.raises(IngestError) as caught:
        engine.push(S, None, row_table().rename_columns(["t", "nam", "value", "note"]))
    assert caught.value.code == "mapping.unknown_column"
    assert caught.value.hint == "did you mean nam? the columns are t, nam, value, note"
    engine.set_mapping(S, None)
    assert engine.mapping(S) is None
    with pytest.raises(IngestError, match="'o' is missing"):
        engine.push(S, None, row_table())


def test_a_literal_in_the_place_of_a_subject_is_said_and_not_dropped(engine: Engine) -> None:
    engine.set_mapping(S, "CONSTRUCT { ?name <http://ex/p> ?value }")
    with pytest.raises(IngestError, match=r"row 0: \?name is \"sensor0\", which cannot be a subject"):
        engine.push(S, None, row_table())
    assert engine.stats()["events"] == 0


def test_triples_pass_by_the_mapping(engine: Engine) -> None:
    engine.set_mapping(S, MAPPING)
    assert engine.push(S, None, triple_table()).accepted == len(READINGS)


def test_rows_are_timed_by_the_column_that_was_named(engine: Engine) -> None:
    engine.set_mapping(S, MAPPING, time_column="when")
    table = row_table().rename_columns(["when", "name", "value", "note"])
    assert engine.push(S, None, ipc(table), "arrow").accepted == len(READINGS)
    assert engine.stats()["streams"][0]["watermark"] == READINGS[-1][0]
