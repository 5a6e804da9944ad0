"""The source on a real Spark and a real server: typed rows, each once, resumption, and reported losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as t
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from server_process import ServerProcess
from sink_job import EX
from whorl.spark import WhorlSparkError, await_termination, plain_errors
from whorl.spark.datasource import WhorlDataSource
from whorl.spark.source import ResultRange, StreamSource
from whorl.spark.terms import XSD, kind, lexical, reader_of
from whorl_client import Client


def register(client: Client, iri: str, name: str, **options: Any) -> None:
    """A stream of readings, and a query that reports each second what came in it."""
    client.streams.create(iri)
    text = f"""PREFIX : <{EX}> SELECT ?s ?v FROM NAMED WINDOW :w ON <{iri}> [RANGE 1s STEP 1s]
        WHERE {{ WINDOW :w {{ ?s :value ?v }} }} ORDER BY ?v"""
    client.register(text, name=name, **options)


def push(client: Client, iri: str, seconds: range) -> None:
    """Two readings in each second, and the end of the last one."""
    lines = [
        f'{{"t": {second * 1000 + tenth * 100}, "data": "<{EX}{tenth}> <{EX}value> {second}.{tenth} ."}}'
        for second in seconds
        for tenth in (1, 2)
    ]
    client.stream(iri).send("\n".join(lines), format="ndjson")
    client.stream(iri).watermark(seconds.stop * 1000 + 1)


def options_of(server: ServerProcess, query: str, **further: Any) -> dict[str, str]:
    options = {"url": server.url, "token": server.token, "query": query, "patience": "5s", **further}
    return {name: str(value) for name, value in options.items()}


def follow(spark: SparkSession, server: ServerProcess, query: str, **options: Any) -> DataFrame:
    schema = "_seq long, _close timestamp, s string, v decimal(10,1), v_lexical string"
    return spark.readStream.format("whorl").options(**options_of(server, query, **options)).schema(schema).load()


def read_to_end(frame: DataFrame, directory: Path) -> list[tuple[int, str]]:
    """Run over what is there, and say all that was ever written beside the checkpoint: number and value."""
    writer = frame.writeStream.format("json").option("checkpointLocation", str(directory / "checkpoint"))
    await_termination(writer.option("path", str(directory / "rows")).trigger(availableNow=True).start())
    rows = frame.sparkSession.read.schema("_seq long, v_lexical string").json(str(directory / "rows")).collect()
    return sorted((row["_seq"], row["v_lexical"]) for row in rows)


def test_rows_come_typed_and_each_once_across_restarts(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    register(client, iri, "followed")
    push(client, iri, range(3))
    frame = follow(spark, server, "followed", maxResultsPerBatch=2, numPartitions=2)
    expected = [(second + 1, f"{second}.{tenth}") for second in range(3) for tenth in (1, 2)]
    assert read_to_end(frame, tmp_path) == expected
    assert read_to_end(frame, tmp_path) == expected
    push(client, iri, range(3, 5))
    expected += [(second + 1, f"{second}.{tenth}") for second in range(3, 5) for tenth in (1, 2)]
    assert read_to_end(frame, tmp_path) == expected


def test_kept_results_and_the_current_answer_are_read_at_once(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str
) -> None:
    register(client, iri, "at-once")
    push(client, iri, range(2))
    reader = spark.read.format("whorl").options(**options_of(server, "at-once"))
    answer = reader.load().select("s", "s_type", "v", "v_type", "_sign", "_seq").collect()
    assert answer == [
        Row(s=f"{EX}1", s_type="iri", v="1.1", v_type=f"{XSD}decimal", _sign=1, _seq=None),
        Row(s=f"{EX}2", s_type="iri", v="1.2", v_type=f"{XSD}decimal", _sign=1, _seq=None),
    ]
    kept = reader.option("read", "results").load().select("_seq", "_at", "_open", "_close", "_windows", "v").collect()
    assert [(row["_seq"], row["v"]) for row in kept] == [(1, "0.1"), (1, "0.2"), (2, "1.1"), (2, "1.2")]
    first = kept[0]
    assert [_ms(first[name]) for name in ("_at", "_open", "_close")] == [1000, 0, 1000]
    assert [(window["name"], _ms(window["close"])) for window in first["_windows"]] == [(f"{EX}w", 1000)]


def test_results_of_a_query_become_events_of_another_stream(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    register(client, iri, "upstream")
    push(client, iri, range(4))
    client.streams.create(f"{iri}/down")
    down = client.register(
        f"""PREFIX : <{EX}> SELECT (SUM(?v) AS ?sum) FROM NAMED WINDOW :w ON <{iri}/down> [RANGE 10s STEP 10s]
            WHERE {{ WINDOW :w {{ ?s :seen ?v }} }}""",
        name="downstream",
    )
    mapping = f"CONSTRUCT {{ ?i <{EX}seen> ?v }} WHERE {{ BIND(IRI(CONCAT(?s, '/', STR(?_seq))) AS ?i) }}"
    options = {"url": server.url, "token": server.token, "stream": f"{iri}/down", "mapping": mapping}
    writer = follow(spark, server, "upstream").writeStream.format("whorl").options(**options, timeColumn="_close")
    await_termination(writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start())
    client.stream(f"{iri}/down").watermark(10_001)
    assert down.answer().rows == [{"sum": Decimal("13.2")}]


def test_a_gap_is_an_error_that_names_the_numbers(
    spark: SparkSession, start_server: Callable[..., ServerProcess], iri: str, tmp_path: Path
) -> None:
    small = start_server(ring_bytes_max=4096)
    with Client(small.url, small.token) as client:
        register(client, iri, "gone")
        push(client, iri, range(2))
        frame = follow(spark, small, "gone")
        assert [seq for seq, _ in read_to_end(frame, tmp_path)] == [1, 1, 2, 2]
        push(client, iri, range(2, 40))
        kept = client.query("gone").poll(limit=1)[0][0].seq
        with pytest.raises(WhorlSparkError, match=rf"query 'gone': results 3 to {kept - 1} are lost.*\n.*'allowGaps'"):
            read_to_end(frame, tmp_path)
        rows = read_to_end(follow(spark, small, "gone", allowGaps=True), tmp_path)
    assert [seq for seq, _ in rows] == [1, 1, 2, 2, *(seq for seq in range(kept, 41) for _ in range(2))]


def test_spark_shows_what_is_wrong_in_a_paragraph(spark: SparkSession, server: ServerProcess) -> None:
    with (
        pytest.raises(WhorlSparkError, match="query 'nowhere': unknown query: query 'nowhere' does not exist"),
        plain_errors(),
    ):
        spark.readStream.format("whorl").options(**options_of(server, "nowhere")).load()


# ---- the reader without Spark around it ----


def test_offsets_move_by_the_limit_and_stay_where_nothing_is_new(source_of: Sources, client: Client, iri: str) -> None:
    register(client, iri, "offsets")
    source = source_of("offsets")
    start = source.initialOffset()
    assert start["seq"] == 0
    push(client, iri, range(5))
    end = source.latestOffset(start, ReadMaxRows(3))
    assert end == {**start, "seq": 3}
    end = source.latestOffset(end, ReadAllAvailable())
    assert end == {**start, "seq": 5}
    assert source.latestOffset(end, ReadAllAvailable()) == end
    parts = source_of("offsets", numPartitions=2).partitions(start, end)
    ranges = [part for part in parts if isinstance(part, ResultRange)]
    assert len(ranges) == len(parts)
    assert [(part.after.seq, part.to_seq) for part in ranges] == [(0, 2), (2, 5)]
    assert source_of("offsets", startingFrom="latest").initialOffset() == end


def test_a_restarted_query_is_a_gap(source_of: Sources, client: Client, iri: str) -> None:
    register(client, iri, "begun-anew")
    push(client, iri, range(2))
    source = source_of("begun-anew")
    start = source.latestOffset(source.initialOffset(), ReadAllAvailable())
    client.queries.restart("begun-anew")
    with pytest.raises(WhorlSparkError, match="it was restarted: results after 2 of its former run"):
        source.latestOffset(start, ReadAllAvailable())
    push(client, iri, range(2, 4))
    lenient = source_of("begun-anew", allowGaps=True)
    end = lenient.latestOffset(start, ReadAllAvailable())
    assert end["incarnation"] != start["incarnation"]
    (part,) = lenient.partitions(start, end)
    assert [batch.to_pydict()["v"] for batch in lenient.read(part)][-1] == ["3.1", "3.2"]


def test_changes_have_signs_and_other_forms_have_columns_of_their_own(
    source_of: Sources, client: Client, iri: str
) -> None:
    register(client, iri, "signed", r2s="CHANGES")
    window = f"FROM NAMED WINDOW :w ON <{iri}> [RANGE 1s STEP 1s]"
    client.register(f"PREFIX : <{EX}> ASK {window} WHERE {{ WINDOW :w {{ ?s :value 0.1 }} }}", name="asked")
    construct = f'CONSTRUCT {{ ?s :was "0{{}}"@en }} {window} WHERE {{ WINDOW :w {{ ?s :value ?v }} }}'
    client.register(f"PREFIX : <{EX}> " + construct.replace("{}", ""), name="constructed")
    push(client, iri, range(2))
    signed = rows_of(source_of("signed"))
    assert [(row["_seq"], row["_sign"], row["v"]) for row in signed] == [
        (1, 1, "0.1"), (1, 1, "0.2"), (2, 1, "1.1"), (2, 1, "1.2"), (2, -1, "0.1"), (2, -1, "0.2"),
    ]  # fmt: skip
    assert [(row["_seq"], row["boolean"]) for row in rows_of(source_of("asked"))] == [(1, True), (2, False)]
    statement = rows_of(source_of("constructed"))[0]
    assert {name: statement[name] for name in ("subject", "subject_type", "object", "object_type", "graph")} == {
        "subject": f"{EX}1", "subject_type": "iri", "object": "0", "object_type": "@en", "graph": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("x string", "column 'x' is not a variable of the query, which has s, v, _seq"),
        ("v array<string>", "column 'v' of type array<string> cannot hold an RDF term"),
        ("v_type int", "column 'v_type' is text"),
        ("_seq string", "column '_seq' has the type bigint"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_a_schema_that_cannot_be_filled_is_refused(source_of: Sources, client: Client, schema: str, told: str) -> None:
    register(client, f"{EX}refused", "refused")
    chosen = t._parse_datatype_string(schema)
    with pytest.raises(WhorlSparkError) as raised:
        source_of("refused", schema=chosen)
    assert str(raised.value).startswith(told)


Sources = Callable[..., StreamSource]


@pytest.fixture
def source_of(server: ServerProcess) -> Iterator[Sources]:
    """Readers of queries, as the driver makes them."""
    made: list[StreamSource] = []

    def make(query: str, schema: t.StructType | None = None, **options: Any) -> StreamSource:
        source = WhorlDataSource(options_of(server, query, **options))
        reader = source.streamReader(schema or source.schema())
        assert isinstance(reader, StreamSource)
        made.append(reader)
        return reader

    yield make
    for reader in made:
        reader.stop()


def rows_of(source: StreamSource) -> list[dict[str, Any]]:
    start = source.initialOffset()
    (part,) = source.partitions(start, source.latestOffset(start, ReadAllAvailable()))
    return [row for batch in source.read(part) for row in batch.to_pylist()]


def literal(text: str, datatype: str) -> dict[str, str]:
    return {"type": "literal", "value": text, "datatype": XSD + datatype}


VALUES: list[tuple[t.DataType, dict[str, str], Any]] = [
    (t.LongType(), literal("+07", "integer"), 7),
    (t.LongType(), literal("9223372036854775808", "integer"), None),
    (t.ByteType(), literal("-128", "byte"), -128),
    (t.IntegerType(), literal("2.0", "decimal"), None),
    (t.IntegerType(), {"type": "literal", "value": "7"}, None),
    (t.DoubleType(), literal("7", "integer"), 7.0),
    (t.DoubleType(), literal("-INF", "double"), float("-inf")),
    (t.DoubleType(), literal("1_0", "double"), None),
    (t.DoubleType(), literal("seven", "double"), None),
    (t.DecimalType(5, 2), literal("123.455", "decimal"), Decimal("123.46")),
    (t.DecimalType(5, 2), literal("1234.5", "decimal"), None),
    (t.DecimalType(5, 2), literal("999.999", "decimal"), None),
    (t.DecimalType(38, 18), literal("0", "integer"), Decimal("0E-18")),
    (t.DecimalType(5, 2), literal("1e2", "double"), None),
    (t.BooleanType(), literal("1", "boolean"), True),
    (t.BooleanType(), literal("1", "integer"), None),
    (
        t.TimestampType(),
        literal("2026-01-31T12:00:00.5+01:00", "dateTime"),
        datetime(2026, 1, 31, 11, 0, 0, 500_000, UTC),
    ),
    (t.TimestampType(), literal("2026-01-31T12:00:00", "dateTime"), None),
    (t.TimestampNTZType(), literal("2026-01-31T12:00:00", "dateTime"), datetime(2026, 1, 31, 12)),  # noqa: DTZ001 - the type has no zone
    (t.TimestampNTZType(), literal("2026-01-31T12:00:00Z", "dateTime"), None),
    (t.DateType(), literal("2026-01-31", "date"), date(2026, 1, 31)),
    (t.DateType(), literal("2026-02-31", "date"), None),
    (t.StringType(), {"type": "uri", "value": EX}, EX),
    (t.LongType(), {"type": "uri", "value": "7"}, None),
]


@pytest.mark.parametrize(("column", "member", "value"), VALUES)
def test_a_typed_column_takes_what_its_type_allows(column: t.DataType, member: dict[str, str], value: Any) -> None:
    assert reader_of("v", column)(member) == value


def test_a_term_says_what_it_is() -> None:
    members: list[dict[str, Any]] = [
        {"type": "uri", "value": EX},
        {"type": "bnode", "value": "b0"},
        {"type": "literal", "value": "a"},
        {"type": "literal", "value": "a", "xml:lang": "en"},
        {"type": "triple", "value": {"subject": 1}},
    ]
    assert [kind(member) for member in members] == ["iri", "bnode", f"{XSD}string", "@en", "triple"]
    assert [lexical(member) for member in members] == [EX, "b0", "a", "a", '{"subject":1}']


def _ms(value: datetime) -> int:
    """Spark hands out instants on the clock of this machine."""
    return round(value.timestamp() * 1000)
