"""Stage 1, in every task that reads a stream: Arrow batches become one chunk per virtual partition.

Input: the columns `t`, `s`, `p`, `o` … of triples, or the columns of rows with a mapping. Output: rows `(part, origin,
chunk)`. Triples that no pattern of the query matches are pruned here. Every partition gets a chunk each time, possibly
an empty one: its header has the time up to which the stream has been read, so that all partitions have the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.spark.scale.parquet import ParquetRows
    from whorl.spark.scale.spec import QuerySpec

# Spark's types of the columns. `origin` orders the chunks of a partition: stream, task, position in the task.
ROUTED = "part int, origin bigint, chunk binary"
_SCHEMA = pa.schema([("part", pa.int32()), ("origin", pa.int64()), ("chunk", pa.binary())])

# Spark passes about 10,000 rows at a time. Larger chunks compress better, and there are fewer of them.
_CHUNK_ROWS = 262_144
_CHUNK_BYTES = 64 << 20
_TASK_BITS, _CHUNK_BITS = 24, 24
_ORDER_BITS = 40


@dataclass(frozen=True, slots=True)
class RouteStage:
    """The stage for one stream."""

    spec: QuerySpec
    stream: str
    stream_idx: int
    mapping: str | None = None
    time_column: str = "t"
    # Set if the input consists of addresses of files.
    files: ParquetRows | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The body of `mapInArrow`."""
        task_idx = _task_idx()
        n_rows = 0
        if self.files is not None:
            batches = self.files(batches)
        for chunk_idx, table in enumerate(_gathered(batches)):
            origin = (self.stream_idx << _TASK_BITS | task_idx) << _CHUNK_BITS | chunk_idx
            yield self.routed(table, origin, task_idx << _ORDER_BITS | n_rows)
            n_rows += table.num_rows

    def routed(self, table: pa.Table, origin: int, order: int) -> pa.RecordBatch:
        """The chunks of one table; `order` is the position of its first row among rows of equal times."""
        chunks = self.spec.query().route(
            self.stream, table, mapping=self.mapping, time_column=self.time_column, order=order
        )
        parts = pa.array([part for part, _ in chunks], pa.int32())
        bodies = pa.array([chunk for _, chunk in chunks], pa.binary())
        return pa.RecordBatch.from_arrays([parts, pa.array([origin] * len(chunks), pa.int64()), bodies], schema=_SCHEMA)


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in fewer batches."""
    held: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        if n_rows >= _CHUNK_ROWS or n_bytes >= _CHUNK_BYTES:
            yield pa.Table.from_batches(held)
            held, n_rows, n_bytes = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _task_idx() -> int:
    """The number of the task, which a replay of the batch repeats; 0 outside of Spark."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
