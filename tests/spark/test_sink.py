"""The sink on a real Spark and a real server: every row arrives once, whatever is retried, replayed or run again."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from server_process import ServerProcess
from sink_job import (
    EX,
    MAPPING,
    ROWS_PER_FILE,
    counted,
    events,
    files_as_stream,
    once,
    readings,
    register_count,
    run_to_end,
    sink_options,
    write_files,
)
from whorl.spark import WhorlSparkError, plain_errors
from whorl.spark.datasource import WhorlDataSource
from whorl.spark.sink import StreamSink
from whorl_client import Client, Event


def test_rows_of_a_streaming_query_reach_a_subscriber(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    client.streams.create(iri)
    query = client.register(
        f"""PREFIX : <{EX}> SELECT ?s (COUNT(*) AS ?n) (MIN(?at) AS ?first)
            FROM NAMED WINDOW :w ON <{iri}> [RANGE 5s STEP 5s]
            WHERE {{ WINDOW :w {{ ?r :sensor ?s ; :value ?v ; :at ?at }} }} GROUP BY ?s ORDER BY ?s""",
        name="sensors",
    )
    results = query.subscribe(limit=2)
    files = write_files(tmp_path / "files", range(3))
    run_to_end(files_as_stream(spark, files), sink_options(server, iri), tmp_path / "checkpoint")
    found = [[(row["s"], row["n"], seconds(row["first"])) for row in result.rows] for result in results]
    assert found == [[(f"{EX}s/{sensor}", 5, at + sensor / 10) for sensor in range(10)] for at in (0.0, 5.0)]


def seconds(time: object) -> float:
    assert isinstance(time, datetime)
    return time.timestamp()


def test_a_restart_from_the_checkpoint_changes_nothing_and_goes_on(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    client.streams.create(iri)
    register_count(client, iri, "restarted")
    options, checkpoint = sink_options(server, iri), tmp_path / "checkpoint"
    files = write_files(tmp_path / "files", range(2))
    run_to_end(files_as_stream(spark, files), options, checkpoint)
    run_to_end(files_as_stream(spark, files), options, checkpoint)
    assert events(client, iri) == 2 * ROWS_PER_FILE
    write_files(files, range(2, 4))
    run_to_end(files_as_stream(spark, files), options, checkpoint)
    assert counted(client, iri, "restarted") == once(4 * ROWS_PER_FILE)


def test_a_batch_that_is_replayed_changes_nothing(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    client.streams.create(iri)
    register_count(client, iri, "replayed")
    options, checkpoint = sink_options(server, iri), tmp_path / "checkpoint"
    files = write_files(tmp_path / "files", range(3))
    run_to_end(files_as_stream(spark, files), options, checkpoint)
    for path in (checkpoint / "commits" / "2", checkpoint / "commits" / ".2.crc"):
        path.unlink()
    query = run_to_end(files_as_stream(spark, files), options, checkpoint)
    assert [(batch["batchId"], batch["numInputRows"]) for batch in query.recentProgress][:1] == [(2, ROWS_PER_FILE)]
    assert counted(client, iri, "replayed") == once(3 * ROWS_PER_FILE)


def test_a_task_that_fails_after_staging_and_runs_again_writes_once(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    client.streams.create(iri)
    register_count(client, iri, "retried")

    # Inside the test: the workers cannot import it, so it travels as code.
    class FailsOnce(WhorlDataSource):
        @classmethod
        def name(cls) -> str:
            return "whorl-fails-once"

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
            writer = super().streamWriter(schema, overwrite)
            stage = writer.write

            def stage_then_fail(iterator: Iterator[pa.RecordBatch]) -> Any:
                message = stage(iterator)
                task = TaskContext.get()
                if task is not None and task.attemptNumber() == 0:
                    raise RuntimeError("the task fails when all is staged")
                return message

            setattr(writer, "write", stage_then_fail)  # noqa: B010 - an assignment is an error for mypy
            return writer

    spark.dataSource.register(FailsOnce)
    files = write_files(tmp_path / "files", range(2))
    frame = files_as_stream(spark, files).repartition(2)
    writer = frame.writeStream.format("whorl-fails-once").options(**sink_options(server, iri, maxBodyBytes=1024))
    writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    assert counted(client, iri, "retried") == once(2 * ROWS_PER_FILE)


def test_a_task_that_runs_twice_counts_once(server: ServerProcess, client: Client, iri: str) -> None:
    client.streams.create(iri)
    register_count(client, iri, "twice")
    sink = _sink(server, iri, producer="twice", maxBodyBytes=1024)
    attempts = [sink.write(iter(_batches(range(1000)))) for _ in range(2)]
    sink.commit([attempts[1]], 0)
    sink.commit([attempts[0]], 0)
    assert counted(client, iri, "twice") == once(1000)


def test_a_large_task_is_cut_into_bodies(server: ServerProcess, client: Client, iri: str) -> None:
    client.streams.create(iri)
    register_count(client, iri, "cut")
    sink = _sink(server, iri, producer="cut", maxBodyBytes=4096)
    staged = sink.write(iter(_batches(range(1000))))
    assert (len(staged.tokens) > 3, staged.rows) == (True, 1000)  # type: ignore[attr-defined]  # the message of our own writer
    sink.commit([staged], 0)
    assert counted(client, iri, "cut") == once(1000)


def test_a_stage_that_is_never_committed_is_not_seen(server: ServerProcess, client: Client, iri: str) -> None:
    client.streams.create(iri)
    sink = _sink(server, iri, producer="aborted")
    sink.abort([sink.write(iter(_batches(range(10))))], 0)
    sink.commit([], 0)
    assert events(client, iri) == 0


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_a_data_frame_is_written_by_a_mapping(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, compression: str
) -> None:
    options = sink_options(server, iri, createStream=True, lateness="5s", compression=compression)
    readings(spark, 200).write.format("whorl").options(**options).mode("append").save()
    assert events(client, iri) == 200
    settings = client.streams.get(iri).document["settings"]
    assert isinstance(settings, dict)
    assert settings["lateness"] == 5000


def test_a_data_frame_of_triples_needs_no_mapping(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str
) -> None:
    client.streams.create(iri)
    register_count(client, iri, "triples")
    frame = readings(spark, 100).select(
        f.concat(f.lit(f"{EX}r/"), "value").alias("s"),
        f.lit(f"{EX}value").alias("p"),
        f.col("value").alias("o"),
        "timestamp",
    )
    options = {key: value for key, value in sink_options(server, iri).items() if key != "mapping"}
    frame.write.format("whorl").options(**options).mode("append").save()
    assert counted(client, iri, "triples") == once(100)


def test_a_write_under_a_name_and_a_number_is_done_once(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str
) -> None:
    options = sink_options(server, iri, createStream=True, producer="nightly", batch=7)
    for _ in range(2):
        readings(spark, 20).write.format("whorl").options(**options).mode("append").save()
    assert events(client, iri) == 20


def test_instants_are_the_same_in_every_time_zone(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str
) -> None:
    client.streams.create(iri)
    query = client.register(
        f"""PREFIX : <{EX}> SELECT ?at FROM NAMED WINDOW :w ON <{iri}> [RANGE 1s STEP 1s]
            WHERE {{ WINDOW :w {{ ?r :at ?at }} }}""",
        name="zones",
    )
    spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    try:
        frame = readings(spark, 1).withColumn("timestamp", f.col("timestamp") + f.expr("INTERVAL 1234 MICROSECONDS"))
        options = sink_options(server, iri, watermarkDelay="0s")
        frame.write.format("whorl").options(**options).mode("append").save()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    client.stream(iri).watermark(1001)
    (row,) = query.answer(raw=True).rows
    at: Any = row["at"]
    assert at["value"] in {"1970-01-01T00:00:00.001234Z", "1970-01-01T00:00:00.001234+00:00"}


def test_the_watermark_follows_the_greatest_time_where_a_delay_is_given(
    server: ServerProcess, client: Client, iri: str
) -> None:
    client.streams.create(iri, lateness="1h")
    sink = _sink(server, iri, producer="delayed", watermarkDelay="20s")
    sink.commit([sink.write(iter(_batches(range(1000))))], 0)
    assert client.streams.get(iri).watermark == 99_900 - 20_000


def test_a_server_that_is_killed_in_a_run_is_waited_for(
    spark: SparkSession, start_server: Callable[..., ServerProcess], iri: str, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    first = start_server(port=port)
    with Client(first.url, first.token) as client:
        client.streams.create(iri)
        register_count(client, iri, "patient")
    options = {**sink_options(first, iri), "patience": "60s"}
    files = write_files(tmp_path / "files", range(4))
    writer = files_as_stream(spark, files).writeStream.format("whorl").options(**options)
    query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    _wait_for_batch(query, 0)
    first.kill()
    second = start_server(port=port)
    query.awaitTermination()
    with Client(second.url, second.token) as client:
        assert counted(client, iri, "patient") == once(4 * ROWS_PER_FILE)


def test_a_server_that_has_no_room_is_asked_again_when_it_says_so(
    start_server: Callable[..., ServerProcess], iri: str
) -> None:
    full = start_server(stage_bytes_max=6000)
    with Client(full.url, full.token) as client:
        stream = client.streams.create(iri)
        first = stream.stage([Event(f'<urn:a> <urn:p> "{"long " * 1180}" .', t=0)])
        with pytest.raises(WhorlSparkError, match="overloaded: too many staged bodies"):
            _sink(full, iri, producer="hasty", patience="1s").write(iter(_batches(range(10))))
        room = threading.Timer(1, lambda: stream.commit("other", 0, [first]))
        room.start()
        sink = _sink(full, iri, producer="patient", patience="30s")
        sink.commit([sink.write(iter(_batches(range(10))))], 0)
        room.join()
        assert events(client, iri) == 1 + 10


# ---- messages for users ----


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("unknown-stream", {"stream": "http://example.org/nowhere"}, r"unknown stream.*\nhint: .*'createStream'"),
    ("wrong-token", {"token": "wrong"}, r"unauthenticated.*\nhint: set option 'token'"),
    ("server-down", {"url": "http://127.0.0.1:9", "patience": "0s"}, r"no connection to .*\nhint: is the server"),
    ("no-url", {"url": ""}, r"option 'url' is missing\nhint:"),
    ("bad-mapping", {"mapping": "CONSTRUCT { ?s :p } WHERE {}"}, r"option 'mapping': .*line 1, column"),
    (
        "unknown-column",
        {"mapping": "CONSTRUCT { ?a <urn:p> 1 } WHERE {}"},
        r"column \?a .*\nhint: the columns are value, timestamp",
    ),
    ("no-mapping", {"mapping": ""}, r"the columns value, timestamp; without a mapping they need s, p and o"),
    ("no-time", {"timeColumn": ""}, r"no column 't'.*they have value, timestamp\nhint: .*'timeColumn'"),
    ("slip", {"timeColum": "timestamp"}, r"option 'timecolum' does not exist\nhint: did you mean 'timeColumn'\?"),
    ("compression", {"compression": "gzip"}, r"'compression' is 'gzip'\nhint: choose one of zstd, lz4, none"),
    ("lateness", {"lateness": "9s"}, r"has a lateness of 0 ms, option 'lateness' says 9000 ms"),
]


@pytest.mark.parametrize(("options", "told"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_wrong_is_told_with_a_way_out(
    server: ServerProcess, client: Client, options: dict[str, Any], told: str
) -> None:
    client.streams.create(f"{EX}wrong")
    with pytest.raises(WhorlSparkError) as raised:
        _sink(server, f"{EX}wrong", **options)
    assert re.search(told, str(raised.value)), str(raised.value)
    assert len(str(raised.value).splitlines()) <= 4


def test_spark_shows_the_paragraph_and_nothing_else(spark: SparkSession, server: ServerProcess, client: Client) -> None:
    client.streams.create(f"{EX}wrong")
    for number in (0, 4):
        _, options, told = WRONG[number]
        given = {**sink_options(server, f"{EX}wrong"), **options}
        with pytest.raises(WhorlSparkError) as raised, plain_errors():
            readings(spark, 1).write.format("whorl").options(**given).mode("append").save()
        assert re.match(told, str(raised.value)) or re.match("stream <|option", str(raised.value))
        assert len(str(raised.value).splitlines()) <= 4
        assert not re.search("Traceback|SQLSTATE|pyspark", str(raised.value))


def test_rows_that_the_server_refuses_are_told_in_a_paragraph(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    client.streams.create(iri)
    mapping = "CONSTRUCT { ?value <urn:p> 1 } WHERE {}"
    files = write_files(tmp_path / "files", range(1))
    with pytest.raises(WhorlSparkError) as raised:
        run_to_end(files_as_stream(spark, files), sink_options(server, iri, mapping=mapping), tmp_path / "checkpoint")
    assert re.match(rf"stream <{re.escape(iri)}>, batch 0: .*subject", str(raised.value))
    assert events(client, iri) == 0


def test_a_mapping_of_others_is_not_replaced_unasked(
    spark: SparkSession, server: ServerProcess, client: Client, iri: str
) -> None:
    client.streams.create(iri).mapping("CONSTRUCT { <urn:s> <urn:p> ?value } WHERE {}", time_column="timestamp")
    write = readings(spark, 3).write.format("whorl").mode("append")
    with pytest.raises(WhorlSparkError, match="has another mapping"), plain_errors():
        write.options(**sink_options(server, iri)).save()
    write.options(**sink_options(server, iri, replaceMapping=True)).save()
    assert client.streams.get(iri).document["mapping"] == MAPPING


def test_a_new_checkpoint_under_an_old_producer_is_not_lost_in_silence(
    server: ServerProcess, client: Client, iri: str
) -> None:
    client.streams.create(iri)
    sink = _sink(server, iri, producer="kept")
    for batch in range(3):
        sink.commit([sink.write(iter(_batches(range(batch * 10, batch * 10 + 10))))], batch)
    sink.commit([sink.write(iter(_batches(range(20, 30))))], 2)
    with pytest.raises(WhorlSparkError, match=r"batch 0 was left out: producer 'kept' has committed batches up to 2"):
        sink.commit([sink.write(iter(_batches(range(10))))], 0)
    assert events(client, iri) == 30


def test_a_stream_is_not_overwritten(spark: SparkSession, server: ServerProcess, iri: str) -> None:
    with pytest.raises(WhorlSparkError, match="cannot be overwritten"), plain_errors():
        readings(spark, 1).write.format("whorl").options(**sink_options(server, iri)).mode("overwrite").save()


def test_errors_that_are_not_ours_stay_as_they_are(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"), plain_errors():
        spark.sql("SELECT * FROM nowhere")


def _sink(server: ServerProcess, iri: str, **options: Any) -> StreamSink:
    """The sink without Spark around it: as a worker and as the driver."""
    from pyspark.sql.types import LongType, StructField, StructType, TimestampType

    schema = StructType([StructField("value", LongType()), StructField("timestamp", TimestampType())])
    sink = WhorlDataSource(sink_options(server, iri, **options)).streamWriter(schema, overwrite=False)
    assert isinstance(sink, StreamSink)
    return sink


def _batches(values: range) -> list[pa.RecordBatch]:
    times = pa.array([value * 100_000 for value in values], pa.timestamp("us", "UTC"))
    batch = pa.RecordBatch.from_arrays([pa.array(values, pa.int64()), times], names=["value", "timestamp"])
    return [batch.slice(0, 300), batch.slice(300)]


def _wait_for_batch(query: Any, number: int) -> None:
    done = threading.Event()
    while not done.is_set() and query.isActive:
        progress = query.lastProgress
        if progress is not None and progress["batchId"] >= number:
            return
        query.awaitTermination(0.05)
