"""The sink on a real Spark and a real server: every row arrives once, whatever is retried, replayed or run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from server_process import ServerProcess
from whorl_client import Client

EX = "http://example.org/"
MAPPING = f"""
    PREFIX : <{EX}>
    CONSTRUCT {{ ?reading :value ?value ; :at ?timestamp ; :sensor ?sensor }}
    WHERE {{
        BIND(IRI(CONCAT("{EX}r/", STR(?value))) AS ?reading)
        BIND(IRI(CONCAT("{EX}s/", STR(?value - 10 * FLOOR(?value / 10)))) AS ?sensor)
    }}
"""
ROWS_PER_BATCH = 100


def rate(spark: SparkSession, rows: int = ROWS_PER_BATCH) -> DataFrame:
    """Batches of 100 rows a second of event time: value 0 … 99 at 0 s, 100 … 199 at 1 s, and so on."""
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 2)
    return stream.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()


def sink_options(server: ServerProcess, iri: str, **further: Any) -> dict[str, str]:
    options = {"url": server.url, "token": server.token, "stream": iri, "patience": "5s", **further}
    return {name: str(value) for name, value in options.items()}


def count_query(client: Client, iri: str, name: str) -> None:
    text = f"""PREFIX : <{EX}>
        SELECT (COUNT(?v) AS ?n) (SUM(?v) AS ?sum) FROM NAMED WINDOW :w ON <{iri}> [RANGE 10000s STEP 10000s]
        WHERE {{ WINDOW :w {{ ?r :value ?v }} }}"""
    client.register(text, name=name, semantics="bag")


def run_batches(writer: Any, batches: int) -> Any:
    """Run a streaming query until it has done so many batches in all."""
    query = writer.start()
    while not (query.lastProgress and query.lastProgress["batchId"] >= batches - 1):
        if not query.isActive:
            query.awaitTermination()
        query.awaitTermination(0.05)
    query.stop()
    return query


def test_rows_of_a_streaming_query_reach_a_subscriber(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    client.streams.create(iri)
    query = client.register(
        f"""PREFIX : <{EX}> SELECT ?s (COUNT(*) AS ?n) (MIN(?at) AS ?first)
            FROM NAMED WINDOW :w ON <{iri}> [RANGE 1s STEP 1s]
            WHERE {{ WINDOW :w {{ ?r :sensor ?s ; :value ?v ; :at ?at }} }} GROUP BY ?s ORDER BY ?s""",
        name="sensors",
    )
    results = query.subscribe(limit=2)
    options = sink_options(server, iri, mapping=MAPPING, timeColumn="timestamp")
    writer = (
        rate(spark).writeStream.format("whorl").options(**options).option("checkpointLocation", str(tmp_path / "c"))
    )
    run_batches(writer, 3)
    found = [[(row["s"], row["n"], row["first"].timestamp()) for row in result.rows] for result in results]
    assert found == [[(f"{EX}s/{sensor}", 10, at) for sensor in range(10)] for at in (0.0, 1.0)]


def test_a_data_frame_is_written_once(spark: SparkSession, server: ServerProcess, client: Client, iri: str) -> None:
    client.streams.create(iri)
    count_query(client, iri, "written")
    frame = spark.range(1000).select(
        (f.col("id") * 1000).alias("t"),
        f.concat(f.lit(f"{EX}r/"), f.col("id")).alias("s"),
        f.lit(f"{EX}value").alias("p"),
        f.col("id").alias("o"),
    )
    frame.write.format("whorl").options(**sink_options(server, iri)).mode("append").save()
    client.stream(iri).watermark(10_000_000)
    (row,) = client.query("written").answer().rows
    assert row == {"n": 1000, "sum": 499_500}
    assert client.streams.get(iri).document["events"] == 1000
