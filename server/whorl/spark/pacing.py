"""Replay by event time: the Spark source `whorl-replay`.

The source offers the rows up to the current event time, which advances by `speed` seconds per second of the clock.
Spark records the positions of every micro-batch before it runs; a restarted job reads the interrupted batch again, with
the same rows, and its clock continues from there. The speed affects how rows are divided into batches, never which rows
are read.
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from whorl.spark.feeds import Feed, StoredFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME = "whorl-replay"
BATCH_ROWS = 50_000
# The number of rows that one task reads; several tasks read a larger batch.
TASK_ROWS = 12_500


class Pace:
    """The current event time. The clock starts when it is first read, at the given position."""

    def __init__(self, speed: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._speed = speed
        self._clock = clock
        self._origin: tuple[int, float] | None = None

    def now(self, position: int) -> float:
        """The event time; infinite if the speed is unlimited."""
        if math.isinf(self._speed):
            return math.inf
        if self._origin is None:
            self._origin = (position, self._clock())
        began_at, clock_s = self._origin
        return began_at + (self._clock() - clock_s) * 1000 * self._speed


class Span(InputPartition):
    """The rows that one task reads: after a time, up to another."""

    def __init__(self, after: int, until: int) -> None:
        super().__init__((after, until))
        self.after = after
        self.until = until


class ReplayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and rows of a feed, as Spark requests them. An offset is `{"t": …}`: read up to this time."""

    def __init__(self, feed: Feed, pace: Pace, *, origin: int | None = None, batch_rows: int = BATCH_ROWS) -> None:
        self._feed = feed
        self._pace = pace
        self._origin = origin
        self._batch_rows = batch_rows

    def initialOffset(self) -> dict[str, int]:
        """Before the first row; or before another instant, when several feeds begin together."""
        begin = self._feed.first if self._origin is None else self._origin
        return {"t": (begin or 0) - 1}

    def getDefaultReadLimit(self) -> ReadLimit:
        """The maximum number of rows in a batch."""
        return ReadMaxRows(self._batch_rows)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The end of the next batch; `start` itself if nothing is due yet."""
        after = start["t"]
        # Without a limit Spark would request everything at once, and a feed may be endless.
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else self._batch_rows
        now = self._pace.now(after)
        stop = self._feed.stop(after, rows)
        if stop is None:
            return start
        if stop <= now:
            return {"t": stop}
        due = self._feed.stop(after, 1)
        return {"t": math.floor(now)} if due is not None and due <= now else start

    def reportLatestOffset(self) -> dict[str, int] | None:
        """The end of the feed, if it has one."""
        return None if self._feed.last is None else {"t": self._feed.last}

    def prepareForTriggerAvailableNow(self) -> None:
        """A feed does not grow: all of it is available now."""

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Span]:
        """Spans of about equally many rows, in order of time."""
        spans, after = [], start["t"]
        while (stop := self._feed.stop(after, TASK_ROWS)) is not None and after < end["t"]:
            until = min(stop, end["t"])
            spans.append(Span(after, until))
            after = until
        return spans

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a span."""
        after, until = partition.value
        for batch in self._feed.read(after, until):
            # Spark requires exactly its own types: it does not accept nanoseconds for microseconds.
            yield batch.cast(self._schema)

    @property
    def _schema(self) -> pa.Schema:
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(spark_schema(self._feed.schema))


class ReplaySource(DataSource):
    """`spark.readStream.format("whorl-replay")`; its options are made by `replay_options`."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return NAME

    def schema(self) -> StructType:
        """The columns of the feed."""
        return spark_schema(self._feed().schema)

    def streamReader(self, schema: StructType) -> ReplayReader:  # noqa: ARG002 - Spark's signature
        """The feed at its pace."""
        origin = self.options.get("origin")
        return ReplayReader(
            self._feed(),
            Pace(float(self.options["speed"])),
            origin=None if origin is None else int(origin),
            batch_rows=int(self.options.get("batchRows", BATCH_ROWS)),
        )

    def _feed(self) -> Feed:
        return feed_of(json.loads(self.options["feed"]))


def replay_options(
    feed: Mapping[str, Any], *, speed: float, origin: int | None, batch_rows: int = BATCH_ROWS
) -> dict[str, str]:
    """Options of the source: the feed (see `feed_of`), the speed, and the first event time."""
    options = {"feed": json.dumps(feed), "speed": str(speed), "batchRows": str(batch_rows)}
    return options if origin is None else {**options, "origin": str(origin)}


def feed_of(described: Mapping[str, Any]) -> Feed:
    """A feed by its description: `{"stored": uri}`, or `{"job", "output", "start", "rows", "seed", "changes"}`."""
    if "stored" in described:
        return StoredFeed(described["stored"])
    from whorl.spark.generators import Changes
    from whorl.spark.jobs import find

    output = find(described["job"]).output(described["output"])
    changes = Changes(**described.get("changes", {}))
    return output.generated(
        start_ms=described["start"], rows=described["rows"], seed=described["seed"], changes=changes
    )


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as types of Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
