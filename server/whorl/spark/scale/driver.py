"""The work of the driver: one micro-batch after the other.

    stage 2 as a Spark job ─► partial results, state files ─► merge ─► manifest ─► output

Writing the manifest commits a batch. A crash before it leaves files that no manifest names; the batch runs again from
the previous manifest. A crash after it passes the kept results to the output once more.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl._engine import __version__
from whorl.spark.scale.faults import CheckpointError, ScaleError
from whorl.spark.scale.files import read_state
from whorl.spark.scale.manifest import Manifest
from whorl.spark.scale.merge import Merger
from whorl.spark.scale.outputs.answers import Answers, Output
from whorl.spark.scale.partition import PARTIALS, Partial, PartitionStage, partials
from whorl.spark.scale.state import PartState

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from whorl.spark.scale.checkpoint import Checkpoint
    from whorl.spark.scale.spec import QuerySpec

_REPORTS_MAX = 1000


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The outcome of one micro-batch. `replayed` batches were in the manifests already."""

    batch: int
    seconds: float
    reports: int
    rows: int
    watermarks: dict[str, int | None]
    stats: dict[str, int]
    replayed: bool = False


@dataclass
class Driver:
    """The work of the driver: one micro-batch after the other."""

    spark: SparkSession
    spec: QuerySpec
    checkpoint: Checkpoint
    output: Output
    tasks: int
    progress: Callable[[BatchReport], None] | None = None
    reports: deque[BatchReport] = field(default_factory=lambda: deque(maxlen=_REPORTS_MAX))
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        self._merger = Merger(self.spec, self.checkpoint.files)

    def step(self, chunks: DataFrame, batch: int) -> None:
        """The body of `foreachBatch`. It keeps an exception, because Spark would pass on only its text."""
        try:
            self.take(chunks, batch)
        except Exception as error:
            self.failure = error
            raise

    def take(self, chunks: DataFrame, batch: int) -> None:
        """Compute a batch unless it has been computed, then pass it to the output."""
        began = time.perf_counter()
        known = self.checkpoint.manifest(batch)
        manifest = known or self._computed(chunks, batch, closing=False)
        self.deliver(manifest, began, replayed=known is not None)

    def close(self, batch: int) -> None:
        """End all streams, as a batch without data."""
        began = time.perf_counter()
        self.deliver(self._computed(None, batch, closing=True), began)

    def deliver(self, manifest: Manifest, began: float, *, replayed: bool = False) -> None:
        """Pass the results of a batch to the output."""
        data = b"" if manifest.answers is None else read_state(self.checkpoint.files, manifest.answers.name)
        answers = Answers(self.spec.query_id, manifest.batch, data, manifest.closed)
        self.output.write(answers, self.spark)
        taken = time.perf_counter() - began
        facts = (answers.n_reports, answers.rows.num_rows, manifest.watermarks, manifest.stats)
        self.reports.append(BatchReport(manifest.batch, taken, *facts, replayed))
        if self.progress is not None:
            self.progress(self.reports[-1])

    def _computed(self, chunks: DataFrame | None, batch: int, *, closing: bool) -> Manifest:
        before = self.checkpoint.before(batch) or Manifest(-1, (PartState(),) * self.spec.partitions)
        if before.closed:
            raise CheckpointError("the streams of this checkpoint have been closed", code="checkpoint.closed")
        found = self._partials(chunks, PartitionStage(self.spec, batch, before.parts, closing))
        merged = self._merger.merge(batch, before.merge, [partial.answers for partial in found])
        manifest = Manifest(
            batch=batch,
            parts=tuple(one.state_after(part) for one, part in zip(found, before.parts, strict=True)),
            merge=merged.state,
            answers=merged.answers,
            watermarks=_watermarks(found) or before.watermarks,
            stats=_totals(found, before.stats),
            closed=closing,
            engine=__version__,
        )
        self.checkpoint.publish(manifest)
        return manifest

    def _partials(self, chunks: DataFrame | None, stage: PartitionStage) -> list[Partial]:
        """Stage 2 as a Spark job. A row without a chunk makes each partition take part, even without data."""
        present = self.spark.range(0, self.spec.partitions, 1, 1).selectExpr(
            "cast(id as int) as part", "-1L as origin", "cast(null as binary) as chunk"
        )
        rows = present if chunks is None else chunks.union(present)
        table = (
            # By number and not by hash: Spark's hash assigns the labels 0 and 1 to one of two tasks.
            rows.repartitionById(self.tasks, "part").mapInArrow(lambda batches: stage(batches), PARTIALS).toArrow()
        )
        found = partials(table)
        if [partial.part for partial in found] != list(range(self.spec.partitions)):
            raise ScaleError(
                f"{len(found)} of {self.spec.partitions} partitions have responded", code="spark.partitions"
            )
        return found


def _watermarks(found: list[Partial]) -> dict[str, int | None]:
    """The watermarks, which are equal in all partitions; a difference would be a bug in the routing."""
    seen = [partial.facts()["watermark"] for partial in found]
    if any(one != seen[0] for one in seen):
        raise ScaleError("the partitions are at different times", code="spark.watermark")
    return dict(seen[0])


def _totals(found: list[Partial], before: dict[str, int]) -> dict[str, int]:
    """Counters since the beginning, and the current size of the windows."""
    facts = [partial.facts() for partial in found]
    totals = {name: before.get(name, 0) + sum(one[name] for one in facts) for name in ("triples", "late")}
    return totals | {"state": sum(one["state"] for one in facts)}
