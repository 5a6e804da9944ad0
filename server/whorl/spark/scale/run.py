"""A continuous query inside Spark.

    source ─► mapInArrow: route ─► chunks ─► repartition ─► mapInArrow: one engine per virtual partition
                                                                           │ partial results, state files
                                                      driver: merge ─► manifest ─► output ─► Spark's commit

`driver` processes a batch; this module starts a run, waits for it and ends it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Unpack
from weakref import WeakValueDictionary

from whorl.spark.scale.checkpoint import MANIFESTS_MIN, open_checkpoint
from whorl.spark.scale.driver import BatchReport, Driver
from whorl.spark.scale.explain import Partitioning, partitioning_of
from whorl.spark.scale.faults import CheckpointError, ScaleError, cause_of
from whorl.spark.scale.inputs import StreamInput, check_streams, inputs_of, routed
from whorl.spark.scale.spec import QuerySpec

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from whorl.options import QueryOptions
    from whorl.spark.scale.manifest import Manifest
    from whorl.spark.scale.outputs.answers import Output
    from whorl.spark.scale.parquet import ParquetFiles

AVAILABLE_NOW = "available-now"
# The runs of this process, by checkpoint: Spark itself would silently stop the older of two.
_RUNS: WeakValueDictionary[str, ScaledRun] = WeakValueDictionary()


def run(  # noqa: PLR0913 - the options of a run, each by its name
    spark: SparkSession,
    query: str,
    streams: Mapping[str, DataFrame | ParquetFiles | StreamInput],
    *,
    checkpoint: str | os.PathLike[str],
    output: Output,
    partitions: int = 8,
    tasks: int | None = None,
    trigger: str | None = None,
    static: Iterable[tuple[str | None, bytes, str]] = (),
    name: str = "",
    close: bool = False,
    keep: int = MANIFESTS_MIN,
    progress: Callable[[BatchReport], None] | None = None,
    **options: Unpack[QueryOptions],
) -> ScaledRun:
    """Start a continuous query on Spark.

    `streams` has a streaming DataFrame, `parquet_files(…)`, or a `StreamInput` of either, for each stream of the query.
    `checkpoint` is a directory that the driver and all executors can access; a run that starts with a checkpoint
    continues where the last one ended. `partitions` is the number of virtual partitions, which a checkpoint keeps;
    `tasks` Spark tasks process them in parallel, by default one per core. `trigger` is `"available-now"`, or an
    interval such as `"5 seconds"`; without one, a micro-batch starts when the previous one is complete. With
    `close=True` (and `"available-now"`) the streams end with the data, and open windows report. `static` has static
    data: graph, RDF, format. `name` is the query's id for its outputs. `progress` is called with each batch. `options`
    are those of `Engine.register`.
    """
    if close and trigger != AVAILABLE_NOW:
        raise ScaleError("close=True needs a run that ends", code="spark.close", hint=f"add trigger={AVAILABLE_NOW!r}")
    inputs = inputs_of(streams)
    spec, partitioning = plan(query, inputs, partitions, options)
    check_streams(inputs, spec.query().streams)
    place = open_checkpoint(checkpoint, keep=keep)
    spec = place.take(spec, spec.query().fingerprint, static, name)
    n_tasks = min(tasks or spark.sparkContext.defaultParallelism, spec.partitions)
    driver = Driver(spark, spec, place, output, n_tasks, progress=progress)
    run = ScaledRun(driver, partitioning, close=close)
    latest = place.latest()
    if latest is not None and latest.closed:
        run.finish_closed(latest, trigger)
    else:
        run.start(_writer(driver, inputs, trigger))
    return run


def plan(
    query: str, inputs: Mapping[str, StreamInput], partitions: int, options: QueryOptions
) -> tuple[QuerySpec, Partitioning]:
    """The query as it will run, and how it is partitioned. A query that cannot be partitioned has one partition."""
    settings = {iri: one.settings() for iri, one in inputs.items()}
    spec = QuerySpec.of(query, partitions, settings, options)
    partitioning = partitioning_of(spec.query())
    if partitioning.partitions != partitions:
        spec = QuerySpec.of(query, partitioning.partitions, settings, options)
    return spec, partitioning


class ScaledRun:
    """A query that runs on Spark."""

    def __init__(self, driver: Driver, partitioning: Partitioning, *, close: bool) -> None:
        self._driver = driver
        self._close = close
        self._streaming: StreamingQuery | None = None
        self._finished = threading.Lock()
        self.partitioning = partitioning

    def __repr__(self) -> str:
        """Id and state."""
        return f"<whorl.spark.ScaledRun {self.id!r} {'active' if self.is_active else 'ended'}>"

    @property
    def id(self) -> str:
        """The id of the query: the producer, for a Whorl stream."""
        return self._driver.spec.query_id

    @property
    def streaming(self) -> StreamingQuery | None:
        """Spark's own handle; None if there was nothing left to run."""
        return self._streaming

    @property
    def is_active(self) -> bool:
        """Whether it still processes data."""
        return self._streaming is not None and self._streaming.isActive

    @property
    def reports(self) -> list[BatchReport]:
        """The last micro-batches of this run, oldest first."""
        return list(self._driver.reports)

    def explain(self) -> str:
        """How the query is partitioned, and why."""
        return self.partitioning.text()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end; returns whether it was reached. If an error ended the query, a `WhorlError` is raised."""
        if self._streaming is not None and not self._ended(self._streaming, timeout):
            return False
        with self._finished:
            if self._close and self._driver.failure is None:
                self._close_streams()
        return True

    def stop(self) -> None:
        """End after the current batch. A later run can continue from the checkpoint."""
        if self._streaming is not None:
            self._close = False
            self._streaming.stop()

    def start(self, writer: DataStreamWriter) -> None:
        """Start the streaming query; another one on the same checkpoint must have ended."""
        root = self._driver.checkpoint.files.path("")
        other = _RUNS.get(root)
        if other is not None and other.is_active:
            raise CheckpointError(
                f"the query {other.id!r} of this program runs on the checkpoint {root!r} already",
                code="checkpoint.in_use",
                hint="stop() it first, or give each run its own checkpoint",
            )
        self._streaming = writer.start()
        _RUNS[root] = self

    def finish_closed(self, latest: Manifest, trigger: str | None) -> None:
        """Finish a query whose streams ended in an earlier run: its last results may not have reached the output."""
        if trigger != AVAILABLE_NOW:
            raise CheckpointError(
                "the streams of this checkpoint have been closed",
                code="checkpoint.closed",
                hint="start over with an empty checkpoint directory",
            )
        self._driver.deliver(latest, time.perf_counter(), replayed=True)
        self._close = False

    def _ended(self, streaming: StreamingQuery, timeout: float | None) -> bool:
        from pyspark.errors import StreamingQueryException

        try:
            if timeout is None:
                streaming.awaitTermination()
                return True
            # Spark's annotation says int; the JVM takes fractions.
            return bool(streaming.awaitTermination(timeout))  # type: ignore[arg-type]  # Spark's stubs say int, a float works
        except StreamingQueryException as error:
            fault = cause_of(self._driver.failure or error)
            raise fault from None

    def _close_streams(self) -> None:
        latest = self._driver.checkpoint.latest()
        self._close = False
        if latest is not None:
            self._driver.close(latest.batch + 1)


def _writer(driver: Driver, inputs: Mapping[str, StreamInput], trigger: str | None) -> DataStreamWriter:
    chunks = routed(inputs, driver.spec)
    writer = (
        chunks.writeStream.foreachBatch(driver.step)
        .queryName(driver.spec.query_id)
        .option("checkpointLocation", driver.checkpoint.files.path("spark"))
    )
    if trigger == AVAILABLE_NOW:
        return writer.trigger(availableNow=True)
    return writer if trigger is None else writer.trigger(processingTime=trigger)
