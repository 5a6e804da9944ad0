"""A query spread over partitions says what the embedded engine says, window for window.

Here the stages run one after the other in this process, with the real checkpoint; Spark is in test_scale_run.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from embedded_twin import EmbeddedTwin, Report, reports_of
from scaled_cases import CASES, DOORS, EX, SENSORS, Batch, Case, batches
from whorl._engine import PartitionEngine
from whorl.spark.scale import StreamInput, partition
from whorl.spark.scale.checkpoint import open_checkpoint
from whorl.spark.scale.driver import Driver
from whorl.spark.scale.explain import partitioning_of
from whorl.spark.scale.faults import CheckpointError
from whorl.spark.scale.outputs import Answers
from whorl.spark.scale.partition import Partial, PartitionStage, partials
from whorl.spark.scale.route import RouteStage
from whorl.spark.scale.spec import QuerySpec

SCHEMA = pa.schema([("t", pa.int64()), ("s", pa.string()), ("p", pa.string()), ("o", pa.string())])
LATENESS = {SENSORS: 2_000, DOORS: 1_000}


class Kept:
    """An output that remembers batches, and that a batch that comes again is the same."""

    def __init__(self) -> None:
        self.batches: dict[int, Answers] = {}

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ARG002 - the contract of outputs
        seen = self.batches.setdefault(answers.batch, answers)
        assert seen.data == answers.data

    def reports(self, variables: list[str]) -> list[Report]:
        return reports_of((self.batches[batch].table for batch in sorted(self.batches)), variables)


class DryDriver(Driver):
    """The driver with stages that run here: two tasks per stream, which see the rows in turn."""

    def _partials(self, chunks: Any, stage: PartitionStage) -> list[Partial]:
        present = pa.table({"part": range(self.spec.partitions)}, schema=pa.schema([("part", pa.int32())]))
        rows = [] if chunks is None else list(self.routed(chunks))
        rows += [_no_chunks(batch) for batch in present.to_batches()]
        return partials(pa.Table.from_batches(list(stage(iter(rows)))))

    def routed(self, batch: Batch) -> Iterator[pa.RecordBatch]:
        for idx, stream in enumerate(sorted(batch)):
            for task in range(2):
                rows = batch[stream][task::2]
                if rows:
                    table = pa.Table.from_pylist(rows, SCHEMA)
                    yield RouteStage(self.spec, stream, idx).routed(table, idx << 30 | task, task << 40)


def _no_chunks(batch: pa.RecordBatch) -> pa.RecordBatch:
    n_rows = batch.num_rows
    columns = [batch.column(0), pa.array([-1] * n_rows, pa.int64()), pa.nulls(n_rows, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["part", "origin", "chunk"])


def driver(case: Case, root: Path, partitions: int, output: Any) -> DryDriver:
    streams = {stream: {"lateness_ms": LATENESS[stream]} for stream in case.streams}
    spec = QuerySpec.of(case.query, partitions, streams, case.options)
    checkpoint = open_checkpoint(root)
    spec = checkpoint.take(spec, spec.query().fingerprint, case.static)
    return DryDriver(None, spec, checkpoint, output, 2)  # type: ignore[arg-type]  # no Spark is needed


def twin(case: Case) -> EmbeddedTwin:
    return EmbeddedTwin(case.query, case.streams, LATENESS, case.static, case.options)


def expected(case: Case, data: list[Batch]) -> list[Report]:
    embedded = twin(case)
    return [report for batch in data for report in embedded.take(batch)] + embedded.close()


@pytest.fixture(autouse=True)
def no_engines_in_memory() -> None:
    partition._kept.clear()


@pytest.mark.parametrize("partitions", [1, 2, 8])
@pytest.mark.parametrize("name", CASES)
class TestWindowForWindow:
    def test_partitions_together_say_what_one_engine_says(self, name: str, partitions: int, tmp_path: Path) -> None:
        case, output = CASES[name], Kept()
        data = batches(case, 8)
        scaled = driver(case, tmp_path, partitions, output)
        for number, batch in enumerate(data):
            scaled.take(batch, number)  # type: ignore[arg-type]  # plain batches instead of DataFrames
        scaled.close(len(data))
        found, wanted = output.reports(twin(case).variables), expected(case, data)
        assert found == wanted
        assert any(rows for _, _, rows in wanted)

    def test_a_driver_that_starts_anew_before_each_batch_changes_nothing(
        self, name: str, partitions: int, tmp_path: Path
    ) -> None:
        case, output = CASES[name], Kept()
        data = batches(case, 6)
        for number, batch in enumerate(data):
            partition._kept.clear()
            driver(case, tmp_path, partitions, output).take(batch, number)  # type: ignore[arg-type]  # plain batches instead of DataFrames
        driver(case, tmp_path, partitions, output).close(len(data))
        assert output.reports(twin(case).variables) == expected(case, data)


@pytest.mark.parametrize(("timeout", "reports"), [(None, 0), (60_000, 0), (3_000, 2)])
def test_a_stream_that_falls_silent_is_left_behind_after_its_time_out(timeout: int | None, reports: int) -> None:
    case = CASES["two streams"]
    settings = StreamInput(None, idle_timeout=timeout).settings()  # type: ignore[arg-type]  # no rows are needed
    query = QuerySpec.of(case.query, 1, {DOORS: settings}).query()
    engine = PartitionEngine(query, 0)

    def absorb(**streams: list[int]) -> None:
        chunks = []
        for order, (name, times) in enumerate(streams.items()):
            rows = [{"t": t, "s": f"{EX}x1", "p": f"{EX}{name}", "o": f"{EX}o"} for t in times]
            stream = SENSORS if name == "temp" else DOORS
            chunks += [chunk for _, chunk in query.route(stream, pa.Table.from_pylist(rows, SCHEMA), order=order)]
        engine.absorb(chunks)

    absorb(temp=[1_000], door=[1_000])
    absorb(temp=[8_000, 14_000])
    table = pa.ipc.open_stream(engine.drain()).read_all()
    assert len(set(table["at"].to_pylist())) == reports


@pytest.mark.parametrize("name", CASES)
def test_the_plan_is_the_one_that_was_meant(name: str) -> None:
    case = CASES[name]
    spec = QuerySpec.of(case.query, 4, {stream: {} for stream in case.streams}, case.options)
    found = partitioning_of(spec.query())
    assert (found.partitions, found.variable, found.document["merge"]) == (4, "x", case.merge)
    assert "?x" in found.text()


class TestFaults:
    CASE = CASES["group by another key"]

    def run(self, scaled: DryDriver, data: list[Batch], first: int = 0) -> None:
        for number, batch in enumerate(data[first:], first):
            scaled.take(batch, number)  # type: ignore[arg-type]  # plain batches instead of DataFrames

    def check(self, output: Kept, data: list[Batch], scaled: DryDriver) -> None:
        scaled.close(len(data))
        assert output.reports(twin(self.CASE).variables) == expected(self.CASE, data)

    def test_a_batch_that_is_in_the_manifests_is_handed_out_again_and_not_computed(self, tmp_path: Path) -> None:
        output, data = Kept(), batches(self.CASE, 5)
        scaled = driver(self.CASE, tmp_path, 2, output)
        self.run(scaled, data[:3])
        files = scaled.checkpoint.files.names("state")
        again = driver(self.CASE, tmp_path, 2, output)
        again.take(data[2], 2)  # type: ignore[arg-type]  # plain batches instead of DataFrames
        assert scaled.checkpoint.files.names("state") == files
        assert again.reports[-1].replayed
        self.run(again, data, 3)
        self.check(output, data, again)

    def test_a_batch_whose_manifest_was_not_written_runs_again_to_the_same_answers(self, tmp_path: Path) -> None:
        output, data = Kept(), batches(self.CASE, 5)
        scaled = driver(self.CASE, tmp_path, 2, output)
        self.run(scaled, data[:3])
        scaled.checkpoint.files.delete("manifest/000000000002.json")
        self.run(scaled, data, 2)
        self.check(output, data, scaled)

    def test_a_task_that_fails_after_it_has_written_is_run_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class FailsOnce(PartitionStage):
            failed = False

            def work(self, part: int, chunks: list[bytes]) -> Partial:
                done = PartitionStage.work(self, part, chunks)
                if not FailsOnce.failed and self.batch == 2 and part == 1:
                    FailsOnce.failed = True
                    return PartitionStage.work(self, part, chunks)
                return done

        output, data = Kept(), batches(self.CASE, 5)
        scaled = driver(self.CASE, tmp_path, 2, output)
        monkeypatch.setattr("whorl.spark.scale.driver.PartitionStage", FailsOnce)
        self.run(scaled, data)
        assert FailsOnce.failed
        self.check(output, data, scaled)

    def test_of_two_attempts_the_one_in_the_manifest_counts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class RunsTwice(PartitionStage):
            def work(self, part: int, chunks: list[bytes]) -> Partial:
                first = PartitionStage.work(self, part, chunks)
                second = PartitionStage.work(self, part, chunks)
                assert first.answers == second.answers
                assert not first.file or first.file != second.file
                return first if part % 2 else second

        output, data = Kept(), batches(self.CASE, 6)
        scaled = driver(self.CASE, tmp_path, 8, output)
        monkeypatch.setattr("whorl.spark.scale.driver.PartitionStage", RunsTwice)
        self.run(scaled, data)
        self.check(output, data, scaled)

    def test_an_engine_in_memory_that_is_behind_is_not_used(self, tmp_path: Path) -> None:
        output, data = Kept(), batches(self.CASE, 5)
        scaled = driver(self.CASE, tmp_path, 2, output)
        self.run(scaled, data[:2])
        stale = dict(partition._kept)
        partition._kept.clear()
        self.run(scaled, data[:3], 2)
        partition._kept.clear()
        partition._kept.update(stale)
        self.run(scaled, data, 3)
        self.check(output, data, scaled)

    def test_engines_stay_in_memory_between_batches(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class NeverRestores(PartitionStage):
            def restored(self, files: Any, part: int, before: Any) -> Any:
                assert self.batch == 0
                return PartitionStage.restored(self, files, part, before)

        output, data = Kept(), batches(self.CASE, 5)
        scaled = driver(self.CASE, tmp_path, 2, output)
        monkeypatch.setattr("whorl.spark.scale.driver.PartitionStage", NeverRestores)
        self.run(scaled, data)
        self.check(output, data, scaled)

    def test_snapshots_are_restored_like_logs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("whorl.spark.scale.state._LOG_BYTES_MIN", 0)
        output, data = Kept(), batches(self.CASE, 6)
        for number, batch in enumerate(data):
            partition._kept.clear()
            driver(self.CASE, tmp_path, 2, output).take(batch, number)  # type: ignore[arg-type]  # plain batches instead of DataFrames
        scaled = driver(self.CASE, tmp_path, 2, output)
        assert any(name.endswith(".full") for name in scaled.checkpoint.files.names("state"))
        self.check(output, data, scaled)

    def test_empty_batches_write_no_state(self, tmp_path: Path) -> None:
        output, data = Kept(), batches(self.CASE, 2)
        scaled = driver(self.CASE, tmp_path, 2, output)
        data += [{SENSORS: []}, {SENSORS: []}]
        self.run(scaled, data)
        second, last = scaled.checkpoint.manifest(1), scaled.checkpoint.manifest(3)
        assert second is not None
        assert last is not None
        assert second.parts == last.parts
        self.check(output, data, scaled)

    def test_a_damaged_state_file_is_said_to_be_damaged(self, tmp_path: Path) -> None:
        output, data = Kept(), batches(self.CASE, 3)
        scaled = driver(self.CASE, tmp_path, 2, output)
        self.run(scaled, data[:2])
        partition._kept.clear()
        for name in scaled.checkpoint.files.names("state"):
            if name.endswith(".log"):
                path = tmp_path / name
                path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(CheckpointError, match="damaged"):
            self.run(scaled, data, 2)

    def test_after_the_end_nothing_more_is_taken(self, tmp_path: Path) -> None:
        output, data = Kept(), batches(self.CASE, 2)
        scaled = driver(self.CASE, tmp_path, 2, output)
        self.run(scaled, data)
        scaled.close(2)
        with pytest.raises(CheckpointError, match="closed"):
            scaled.take(data[0], 3)  # type: ignore[arg-type]  # plain batches instead of DataFrames
