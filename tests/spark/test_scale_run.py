"""Queries on real Spark: the same answers as the embedded engine, across restarts, replays and failing tasks."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from embedded_twin import EmbeddedTwin, Report, reports_of
from pyspark import cloudpickle
from scaled_cases import CASES, DOORS, EX, SENSORS, Batch, Case, batches
from server_process import ServerProcess
from whorl import UnknownStreamError
from whorl.spark.scale import (
    Answers,
    CallbackOutput,
    CheckpointError,
    FilesOutput,
    KafkaOutput,
    ParquetFiles,
    ScaledRun,
    ScaleError,
    StreamInput,
    WhorlStreamOutput,
    parquet_files,
    run,
)
from whorl.spark.scale.checkpoint import open_checkpoint
from whorl.spark.scale.inspect import inspect
from whorl.spark.scale.partition import Partial, PartitionStage
from whorl_client import Client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([("t", pa.int64()), ("s", pa.string()), ("p", pa.string()), ("o", pa.string())])
COLUMNS = "t bigint, s string, p string, o string"
LATENESS = {SENSORS: 2_000, DOORS: 1_000}


class Job:
    """A query over directories; each file that is added is a micro-batch of its stream."""

    def __init__(self, spark: SparkSession, root: Path, case: Case, partitions: int = 2) -> None:
        self.spark, self.root, self.case, self.partitions = spark, root, case, partitions
        # Whether the tasks read the files, or Spark does.
        self.reads_files = False
        self.seen: dict[int, Answers] = {}
        self.handed_out: list[int] = []
        self.n_files = 0

    def add(self, data: list[Batch]) -> None:
        for batch in data:
            for stream, rows in batch.items():
                folder = self.root / stream.rpartition("/")[2]
                folder.mkdir(exist_ok=True)
                path = folder / f"{self.n_files:04d}.parquet"
                pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
                # Spark reads files in the order of their times.
                os.utime(path, (1_700_000_000 + self.n_files, 1_700_000_000 + self.n_files))
            self.n_files += 1

    def start(self, **changes: Any) -> ScaledRun:
        options: dict[str, Any] = {
            "checkpoint": self.root / "checkpoint",
            "output": CallbackOutput(self.take, form="arrow"),
            "partitions": self.partitions,
            "trigger": "available-now",
            "static": self.case.static,
            **self.case.options,
            **changes,
        }
        return run(self.spark, options.pop("query", self.case.query), self.streams(), **options)

    def run(self, **changes: Any) -> ScaledRun:
        started = self.start(**changes)
        assert started.await_termination(120)
        return started

    def streams(self) -> dict[str, StreamInput]:
        rows = self.files if self.reads_files else self.frame
        return {stream: StreamInput(rows(stream), lateness=LATENESS[stream]) for stream in self.case.streams}

    def frame(self, stream: str) -> DataFrame:
        reader = self.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.root / stream.rpartition("/")[2]))

    def files(self, stream: str) -> ParquetFiles:
        return parquet_files(
            self.spark, self.root / stream.rpartition("/")[2], schema=COLUMNS, options={"maxFilesPerTrigger": "1"}
        )

    def take(self, answers: Answers) -> None:
        self.handed_out.append(answers.batch)
        assert self.seen.setdefault(answers.batch, answers).data == answers.data

    def twin(self) -> EmbeddedTwin:
        return EmbeddedTwin(self.case.query, self.case.streams, LATENESS, self.case.static, self.case.options)

    def found(self) -> list[Report]:
        return reports_of((self.seen[batch].table for batch in sorted(self.seen)), self.twin().variables)

    def wanted(self, data: list[Batch]) -> list[Report]:
        twin = self.twin()
        return [report for batch in data for report in twin.take(batch)] + twin.close()

    @property
    def commits(self) -> Path:
        return self.root / "checkpoint" / "spark" / "commits"


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Callable[..., Job]:
    def make(name: str, partitions: int = 2) -> Job:
        return Job(spark, tmp_path, CASES[name], partitions)

    return make


def drop_commit(job: Job) -> None:
    """As if the driver had been killed between the output and Spark's commit."""
    newest = max((path for path in job.commits.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    newest.unlink()
    (job.commits / f".{newest.name}.crc").unlink(missing_ok=True)


class TestEqualsTheEmbeddedEngine:
    @pytest.mark.parametrize(
        ("name", "partitions"),
        [
            ("star join", 8),
            ("group by the variable", 2),
            ("group by another key", 8),
            ("static data", 2),
            ("distinct", 2),
            ("top-k", 1),
            ("top-k", 2),
            ("rows without the variable, changes", 2),
            ("two streams", 2),
        ],
    )
    def test_window_for_window(self, job: Callable[..., Job], name: str, partitions: int) -> None:
        here = job(name, partitions)
        here.reads_files = partitions != 1 and name != "star join"
        data = batches(here.case, 3)
        here.add(data)
        done = here.run(close=True)
        assert here.found() == here.wanted(data)
        assert done.partitioning.partitions == partitions
        assert [report.batch for report in done.reports] == [0, 1, 2, 3]
        assert not done.is_active

    def test_rows_become_events_by_a_mapping(self, spark: SparkSession, tmp_path: Path) -> None:
        # Columns in the names of directories, and names that need care in addresses.
        for room, times in {"a": [1_000, 7_000], "b": [2_000]}.items():
            folder = tmp_path / "some rows" / f"room={room}"
            folder.mkdir(parents=True)
            at = pa.array(times, pa.timestamp("ms", "UTC"))
            pq.write_table(pa.table({"at": at, "celsius": [20, 23][: len(times)]}), folder / "50% ä.parquet")
        frame = parquet_files(spark, tmp_path / "some rows")
        assert frame.rows.schema.names == ["at", "celsius", "room"]
        mapping = f"""PREFIX : <{EX}> CONSTRUCT {{ ?x :temp ?celsius }}
            WHERE {{ BIND(IRI(CONCAT("{EX}", ?room)) AS ?x) }}"""
        seen: list[Answers] = []
        run(
            spark,
            CASES["group by the variable"].query.replace("HAVING (COUNT(*) > 1)", ""),
            {SENSORS: StreamInput(frame, mapping=mapping, time_column="at")},
            checkpoint=tmp_path / "checkpoint",
            output=CallbackOutput(seen.append, form="arrow"),
            trigger="available-now",
            close=True,
        ).await_termination()
        rows_seen = [(row["at"], row["x"], row["n"]) for one in seen for row in one.rows.to_pylist()]
        integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
        assert (10_000, f"<{EX}a>", f'"2"{integer}') in rows_seen


class TestRestart:
    def test_a_run_goes_on_where_the_last_one_ended(self, job: Callable[..., Job]) -> None:
        here = job("group by another key")
        data = batches(here.case, 4)
        here.add(data[:2])
        first = here.run()
        here.add(data[2:])
        second = here.run(close=True)
        assert here.handed_out == [0, 1, 2, 3, 4]
        assert first.id == second.id
        assert here.found() == here.wanted(data)

    @pytest.mark.parametrize("has_manifest", [True, False])
    def test_a_batch_that_spark_runs_again_changes_nothing(self, job: Callable[..., Job], has_manifest: bool) -> None:
        here = job("star join")
        data = batches(here.case, 3)
        here.add(data[:2])
        here.run()
        drop_commit(here)
        if not has_manifest:
            (here.root / "checkpoint" / "manifest" / "000000000001.json").unlink()
        here.add(data[2:])
        done = here.run(close=True)
        assert here.handed_out == [0, 1, 1, 2, 3]
        assert [report.replayed for report in done.reports] == [has_manifest, False, False]
        assert here.found() == here.wanted(data)

    def test_a_closed_checkpoint_hands_out_its_last_batch_and_takes_no_more(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        here.add(batches(here.case, 1))
        here.run(close=True)
        here.run(close=True)
        assert here.handed_out == [0, 1, 1]
        with pytest.raises(CheckpointError, match="closed"):
            here.start(trigger=None)

    def test_a_second_run_on_the_checkpoint_of_one_that_runs_is_refused(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        data = batches(here.case, 2)
        here.add(data[:1])
        first = here.start(trigger="100 milliseconds")
        try:
            with pytest.raises(CheckpointError, match="of this program runs on the checkpoint") as told:
                here.start()
            assert told.value.code == "checkpoint.in_use"
            assert "stop() it first" in str(told.value)
            assert first.is_active, "the one that ran goes on"
        finally:
            first.stop()
        here.add(data[1:])
        here.run(close=True)
        assert here.found() == here.wanted(data)

    def test_the_checkpoint_of_another_query_is_refused(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        here.add(batches(here.case, 1))
        here.run()
        with pytest.raises(CheckpointError, match="another query"):
            here.start(query=here.case.query.replace("RANGE 10s", "RANGE 20s"))
        with pytest.raises(CheckpointError, match="2 partitions, not 4"):
            here.start(partitions=4)

    def test_a_checkpoint_says_what_is_in_it(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        here.add(batches(here.case, 2))
        done = here.run()
        facts = inspect(here.root / "checkpoint")
        assert facts["query"] == done.id
        assert facts["text"] == here.case.query
        assert facts["batches"] == [0, 1]
        assert facts["latest"]["missing"] == []
        assert facts["latest"]["watermarks"] == done.reports[-1].watermarks
        assert [part["logFiles"] for part in facts["latest"]["parts"]] == [2, 2]


class TestTasks:
    """Stage 2 with faults in it, run by real tasks. The session lets a task fail once."""

    def run_with(self, here: Job, stage: type[PartitionStage], monkeypatch: pytest.MonkeyPatch) -> None:
        # Workers cannot import this file.
        import sys

        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # no stubs
        monkeypatch.setattr("whorl.spark.scale.driver.PartitionStage", stage)
        here.run(close=True)

    def test_a_task_that_fails_after_writing_its_state_is_run_again(
        self, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = job("group by another key")
        data = batches(here.case, 3)
        here.add(data)
        marker = here.root / "failed"

        class FailsOnce(PartitionStage):
            def work(self, part: int, chunks: list[bytes]) -> Partial:
                done = PartitionStage.work(self, part, chunks)
                if self.batch == 1 and part == 1 and not marker.exists():
                    marker.touch()
                    raise OSError("the disk is gone")
                return done

        self.run_with(here, FailsOnce, monkeypatch)
        assert marker.exists()
        assert here.found() == here.wanted(data)

    def test_a_task_that_runs_twice_counts_once(self, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
        here = job("group by another key")
        data = batches(here.case, 3)
        here.add(data)

        class RunsTwice(PartitionStage):
            def work(self, part: int, chunks: list[bytes]) -> Partial:
                PartitionStage.work(self, part, chunks)
                return PartitionStage.work(self, part, chunks)

        self.run_with(here, RunsTwice, monkeypatch)
        assert here.found() == here.wanted(data)

    def test_a_fault_is_told_in_its_own_words(self, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
        here = job("star join")
        here.add(batches(here.case, 1))

        class Fails(PartitionStage):
            def work(self, part: int, chunks: list[bytes]) -> Partial:  # noqa: ARG002 - it fails before it looks
                raise OSError("the disk is gone")

        with pytest.raises(ScaleError, match=r"^the disk is gone$"):
            self.run_with(here, Fails, monkeypatch)


class TestWrongUse:
    def test_a_stream_that_the_query_does_not_read(self, job: Callable[..., Job], spark: SparkSession) -> None:
        here = job("star join")
        here.add(batches(here.case, 1))
        frames = {SENSORS: here.frame(SENSORS), EX + "other": here.frame(SENSORS)}
        with pytest.raises(UnknownStreamError, match=r"<http://example\.org/other> does not exist"):
            run(spark, here.case.query, frames, checkpoint=here.root / "c", output=CallbackOutput(print))

    def test_a_stream_that_is_missing(self, job: Callable[..., Job], spark: SparkSession) -> None:
        here = job("two streams")
        here.add(batches(here.case, 1))
        with pytest.raises(ScaleError, match=r"reads <http://example\.org/doors>"):
            run(spark, here.case.query, {SENSORS: here.frame(SENSORS)}, checkpoint="c", output=CallbackOutput(print))

    def test_a_frame_that_does_not_stream(self, spark: SparkSession) -> None:
        frame = spark.createDataFrame([(1, "a", "b", "c")], COLUMNS)
        with pytest.raises(ScaleError, match="not a streaming DataFrame"):
            run(spark, CASES["top-k"].query, {SENSORS: frame}, checkpoint="c", output=CallbackOutput(print))

    def test_columns_that_are_not_there(self, spark: SparkSession) -> None:
        frame = spark.readStream.format("rate").load()
        with pytest.raises(ScaleError, match="no column 't'"):
            run(spark, CASES["top-k"].query, {SENSORS: frame}, checkpoint="c", output=CallbackOutput(print))

    def test_closing_a_run_without_end(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        here.add(batches(here.case, 1))
        with pytest.raises(ScaleError, match="close=True"):
            here.start(trigger=None, close=True)


class TestOutputs:
    def test_files(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        data = batches(here.case, 2)
        here.add(data)
        here.run(output=FilesOutput(here.root / "out"), close=True)
        tables = [pq.read_table(path) for path in sorted((here.root / "out").iterdir())]
        assert reports_of(tables, here.twin().variables) == here.wanted(data)
        assert all(name in tables[0].column_names for name in ("query", "batch", "seq"))

    def test_lines(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        data = batches(here.case, 2)
        here.add(data)
        out = here.root / "out"
        here.run(output=FilesOutput(out, "ndjson"), close=True)
        lines = [json.loads(line) for path in sorted(out.iterdir()) for line in path.read_text().splitlines()]
        rows = [(line["at"], line["row"]["x"]) for line in lines if line["row"] is not None]
        assert rows == [(at, terms[0]) for at, _, found in here.wanted(data) for _, terms in found]

    def test_a_stream_of_a_server(
        self, job: Callable[..., Job], server: ServerProcess, client: Client, iri: str
    ) -> None:
        here = job("star join")
        data = batches(here.case, 2)
        here.add(data)
        client.streams.create(iri)
        text = f"""SELECT ?x ?t FROM NAMED WINDOW <urn:w> ON <{iri}> [RANGE 1h STEP 1h] WHERE {{ WINDOW <urn:w> {{
            ?row <urn:whorl:variable:x> ?x ; <urn:whorl:variable:t> ?t ; <urn:whorl:variable:h> ?h }} }}"""
        query = client.queries.register(text, semantics="bag")
        here.run(output=WhorlStreamOutput(server.url, iri, server.token), close=True)
        rows = [terms for _, _, found in here.wanted(data) for _, terms in found]
        assert client.streams.get(iri).document["triples"] == 3 * len(rows)
        # The last batch once more: the server has it.
        here.run(output=WhorlStreamOutput(server.url, iri, server.token), close=True)
        assert client.streams.get(iri).document["triples"] == 3 * len(rows)
        client.stream(iri).watermark(3_600_000)
        assert len(query.answer().rows) == len(rows)

    def test_a_server_that_refuses_is_told_in_its_words(
        self, job: Callable[..., Job], server: ServerProcess, iri: str
    ) -> None:
        here = job("star join")
        here.add(batches(here.case, 2))
        with pytest.raises(ScaleError, match="unknown"):
            here.run(output=WhorlStreamOutput(server.url, iri, server.token), close=True)

    def test_a_frame_for_a_function(self, job: Callable[..., Job]) -> None:
        here = job("star join")
        data = batches(here.case, 2)
        here.add(data)
        counts: dict[int, int] = {}

        def count(frame: DataFrame, batch: int) -> None:
            counts[batch] = frame.where("sign <> 0").count()

        here.run(output=CallbackOutput(count), close=True)
        assert sum(counts.values()) == sum(len(rows) for _, _, rows in here.wanted(data))

    def test_records_for_kafka_say_where_they_belong(self, spark: SparkSession) -> None:
        table = pa.table(
            {"seq": [4], "at": [1], "open": [0], "close": [1], "windows": ["[]"], "sign": pa.array([1], pa.int8())}
        ).append_column("x", pa.array(["<a:b>"]))
        out = io.BytesIO()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        (record,) = KafkaOutput("host:9092", "topic").records(Answers("hot", 3, out.getvalue()), spark).collect()
        assert record["key"] == "hot"
        assert json.loads(record["value"])["x"] == "<a:b>"
        headers = {header["key"]: bytes(header["value"]) for header in record["headers"]}
        assert headers == {"query": b"hot", "batch": b"3", "seq": b"4"}


def test_the_directory_of_a_long_run_does_not_grow(job: Callable[..., Job]) -> None:
    here = job("star join")
    here.add(batches(here.case, 6))
    here.run()
    checkpoint = open_checkpoint(here.root / "checkpoint")
    assert checkpoint.batches() == [3, 4, 5]
    # Three answers, three merges, and the logs, of which all manifests share the beginning; one batch was empty.
    assert len(checkpoint.files.names("state")) == 3 + 3 + 2 * 5
