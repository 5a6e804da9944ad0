"""Running a producer: one streaming query per stream, started and watched together.

The checkpoint directory has everything that a restart needs: Spark's own checkpoint of each stream, the rows of a data
directory in order of time (`rows`), and the options (`job.json`), so that a restart cannot continue with other options.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyarrow import fs
from pyspark.errors import PySparkException

from whorl.spark.datasource import register
from whorl.spark.errors import WhorlSparkError, plain_errors
from whorl.spark.generators import NO_CHANGES
from whorl.spark.jobs.job import TIME_COLUMN
from whorl.spark.pacing import BATCH_ROWS, NAME, ReplaySource, feed_of, replay_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from whorl.spark.feeds import Feed
    from whorl.spark.jobs import Job, JobOptions, Output

DEFAULT_SPEED = 60.0
# How often a paced replay reads its clock.
TRIGGER = "1 second"
_TRIPLES = frozenset({"s", "p", "o"})
# Spark waits ten seconds for a Python worker to start, which is too short on a busy machine. This sentence is the only
# sign of it.
_SLOW_WORKER = "Python worker failed to connect back"
_STARTS_MAX = 30
# After this long without progress, the next stream is started anyway.
_FIRST_PROGRESS_S = 180.0
T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """The server that receives the events."""

    url: str
    token: str | None = None
    replace_mapping: bool = False


@dataclass
class Production:
    """A stream while it is written."""

    output: Output
    query: StreamingQuery
    begin: Callable[[], StreamingQuery]
    last: int | None = None
    rows: int = 0
    batches: int = 0
    position: int | None = None
    starts: int = 1
    _seen: int = -1

    def begin_again(self) -> bool:
        """Start once more if a Python worker was too slow; the checkpoint has the position."""
        error = self.query.exception()
        if error is None or self.starts >= _STARTS_MAX or _SLOW_WORKER not in str(error):
            return False
        self.starts += 1
        self.query = self.begin()
        return True

    def await_first_progress(self, pause_s: float = 0.1) -> None:
        """Wait until the stream runs, because workers that start at the same time delay each other."""
        deadline = time.monotonic() + _FIRST_PROGRESS_S
        while not self.query.recentProgress and time.monotonic() < deadline:
            if not self.query.isActive and not self.begin_again():
                return
            time.sleep(pause_s)

    def update(self) -> None:
        """Add Spark's figures for the finished batches."""
        for progress in self.query.recentProgress:
            batch = int(progress["batchId"])
            self.position = _position(progress["sources"][0]["endOffset"]) or self.position
            if batch > self._seen and progress["numInputRows"]:
                self._seen = batch
                self.rows += int(progress["numInputRows"])
                self.batches += 1

    @property
    def is_done(self) -> bool:
        """Whether all rows have been written."""
        return not self.query.isActive or (
            self.last is not None and self.position is not None and self.position >= self.last
        )


def produce(spark: SparkSession, job: Job, wanted: JobOptions, target: Target, checkpoint: str) -> list[Production]:
    """Start writing all streams of a producer, one after the other."""
    outputs = job.outputs(wanted)
    wanted = settle(job, wanted, checkpoint)
    register(spark)
    spark.dataSource.register(ReplaySource)
    started: list[Production] = []
    with plain_errors():
        sources = _sources(spark, job, outputs, wanted, checkpoint)
        try:
            for source in sources:
                started.append(_start(source, wanted, target, checkpoint))
                if len(sources) > 1:
                    started[-1].await_first_progress()
        except BaseException:
            stop(started)
            raise
    return started


def watch(
    productions: list[Production],
    show: Callable[[list[Production]], None] = lambda _: None,
    *,
    pause_s: float = 0.25,
) -> None:
    """Wait until all rows are written or a stream fails; then stop all streams."""
    try:
        while True:
            for one in productions:
                one.update()
            show(productions)
            if sum(one.begin_again() for one in productions):
                continue
            # In this order, because a failed query has ended, too.
            is_done = all(one.is_done for one in productions)
            failed = next((one.query.exception() for one in productions if one.query.exception() is not None), None)
            if failed is not None:
                with plain_errors():
                    raise failed
            if is_done:
                return
            time.sleep(pause_s)
    finally:
        stop(productions)


def stop(productions: list[Production]) -> None:
    """Stop the streams that are still running."""
    for one in productions:
        if one.query.isActive:
            one.query.stop()
        one.update()


def settle(job: Job, wanted: JobOptions, checkpoint: str) -> JobOptions:
    """A checkpoint keeps the options of its first run; only the speed may change."""
    files, root = fs.FileSystem.from_uri(checkpoint)
    path = f"{root}/job.json"
    asked: dict[str, Any] = {
        "job": job.name, "data": wanted.data, "stream": wanted.stream, "mapping": wanted.mapping, "rows": wanted.rows,
        "seed": wanted.seed, "start": wanted.start_ms, "topic": wanted.topic, "replayed": _is_replayed(job, wanted),
    }  # fmt: skip
    if wanted.changes != NO_CHANGES:
        asked["changes"] = asdict(wanted.changes)
    if files.get_file_info(path).type == fs.FileType.NotFound:
        files.create_dir(root, recursive=True)
        with files.open_output_stream(path) as out:
            out.write(json.dumps(asked, indent=2).encode())
        return wanted
    with files.open_input_stream(path) as recorded:
        known = json.loads(recorded.read())
    # `--start now` means the time of the first run.
    other = [name for name in asked if name != "start" and asked[name] != known.get(name)]
    if other:
        said = ", ".join(f"{name} {known.get(name)!r}, not {asked[name]!r}" for name in other)
        raise WhorlSparkError(f"the checkpoint '{checkpoint}' is of another job: {said}", "use a new directory")
    return replace(wanted, start_ms=known["start"])


@dataclass(frozen=True)
class _Source:
    """The rows of an output, as Spark will read them."""

    output: Output
    rows: DataFrame
    feed: Feed | None


def _is_replayed(job: Job, wanted: JobOptions) -> bool:
    return wanted.speed is not None or any(output.follow is None for output in job.outputs(wanted))


def _sources(
    spark: SparkSession, job: Job, outputs: tuple[Output, ...], wanted: JobOptions, checkpoint: str
) -> list[_Source]:
    if not _is_replayed(job, wanted):
        return [_Source(output, output.follow(spark), None) for output in outputs if output.follow is not None]
    described = [_described(spark, job, output, wanted, checkpoint) for output in outputs]
    feeds = [feed_of(one) for one in described]
    firsts = [feed.first for feed in feeds if feed.first is not None]
    speed = DEFAULT_SPEED if wanted.speed is None else wanted.speed
    found = []
    for output, one, feed in zip(outputs, described, feeds, strict=True):
        # All streams begin at the same instant, so that none gets ahead of the others.
        options = replay_options(one, speed=speed, origin=min(firsts, default=None))
        reader = spark.readStream.format(NAME).options(**options)
        found.append(_Source(output, _patiently(reader.load, reader.load), feed))
    return found


def _described(spark: SparkSession, job: Job, output: Output, wanted: JobOptions, checkpoint: str) -> Mapping[str, Any]:
    if wanted.data is None and output.generator is None:
        raise WhorlSparkError(f"'{job.name}' is followed live and cannot be replayed", "leave --speed out")
    if wanted.data is None:
        feed = {"job": job.name, "output": output.name, "start": wanted.start_ms, "rows": wanted.rows}
        return {**feed, "seed": wanted.seed, "changes": asdict(wanted.changes)}
    if output.load is None:
        raise WhorlSparkError(f"'{job.name}' reads no files", "leave --data out")
    if wanted.changes != NO_CHANGES:
        raise WhorlSparkError("--rate, --skew, --disorder and --bad-rows are for made-up data", "leave --data out")
    return {"stored": stored(output.load(spark, wanted.data), f"{checkpoint}/rows/{output.name}", wanted.rows)}


def stored(rows: DataFrame, path: str, most: int | None = None) -> str:
    """The rows in order of time, as Parquet; files of an earlier run are used as they are."""
    from pyspark.sql import functions as f

    files, root = fs.FileSystem.from_uri(path)
    if files.get_file_info(f"{root}/_SUCCESS").type == fs.FileType.NotFound:
        # Rows of one instant keep the order in which they were read.
        ordered = rows.withColumn("_order", f.monotonically_increasing_id()).orderBy(TIME_COLUMN, "_order")
        wanted = ordered if most is None else ordered.limit(most)
        wanted.drop("_order").write.mode("overwrite").parquet(path)
    return path


def _start(source: _Source, wanted: JobOptions, target: Target, checkpoint: str) -> Production:
    output = source.output
    options = {
        "url": target.url,
        "stream": output.stream,
        "createStream": "true",
        "timeColumn": TIME_COLUMN,
        "checkpointLocation": f"{checkpoint}/streams/{output.name}",
    }
    if target.token is not None:
        options["token"] = target.token
    # Rows that are triples need no mapping.
    if output.mapping is not None and not set(source.rows.columns) >= _TRIPLES:
        options |= {"mapping": output.mapping, "replaceMapping": str(target.replace_mapping).lower()}
    writer = source.rows.writeStream.format("whorl").queryName(output.name).options(**options)
    begin = _triggered(writer, source.feed, wanted).start

    def again() -> StreamingQuery:
        """Stop a query of this name that a failed start has left, because Spark allows only one per name."""
        _end_query(source.rows.sparkSession, output.name)
        return begin()

    production = Production(output, _patiently(begin, again), partial(_patiently, again, again))
    if source.feed is not None:
        production.last = source.feed.last
        # Without rows, the end is the beginning.
        production.position = production.last if source.feed.first is None else None
    return production


def _end_query(spark: SparkSession, name: str) -> None:
    for query in spark.streams.active:
        if query.name == name:
            query.stop()


def _patiently(call: Callable[[], T], again: Callable[[], T]) -> T:
    """The result of a call or, if a Python worker was too slow, that of `again`."""
    for _ in range(_STARTS_MAX - 1):
        try:
            return call()
        except PySparkException as error:
            if _SLOW_WORKER not in str(error):
                raise
        call = again
    return call()


def _triggered(writer: DataStreamWriter, feed: Feed | None, wanted: JobOptions) -> DataStreamWriter:
    """The trigger of batches: at once until everything is read, or by the clock."""
    at_once = wanted.once if feed is None else feed.last is not None and wanted.speed == math.inf
    if at_once:
        return writer.trigger(availableNow=True)
    return writer if wanted.speed == math.inf else writer.trigger(processingTime=TRIGGER)


def _position(offset: Any) -> int | None:  # noqa: ANN401 - JSON of a source
    told = json.loads(offset) if isinstance(offset, str) else offset
    return int(told["t"]) if isinstance(told, dict) and isinstance(told.get("t"), int) else None


__all__ = ["BATCH_ROWS", "Production", "Target", "produce", "settle", "stop", "stored", "watch"]
