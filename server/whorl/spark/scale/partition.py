"""Stage 2: the engine of each virtual partition absorbs the chunks of the micro-batch and emits partial results.

Input: rows `(part, origin, chunk)`, all rows of a partition in one task. Output: one row per partition with the file of
its state, its partial results and its watermarks. A worker may keep an engine in memory for the next batch; it is used
only if its version is the one that the manifest names. Otherwise the engine is restored from files, because Spark
decides which worker gets which partition.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from whorl.spark.scale.files import files_at, read_state
from whorl.spark.scale.state import PartState, StateFile, new_name, read_log, write_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl._engine import PartitionEngine
    from whorl.spark.scale.files import Files
    from whorl.spark.scale.spec import QuerySpec
    from whorl.spark.scale.state import Kind

PARTIALS = "part int, kind string, file string, file_bytes bigint, answers binary, report string"
_SCHEMA = pa.schema(
    [
        ("part", pa.int32()),
        ("kind", pa.string()),
        ("file", pa.string()),
        ("file_bytes", pa.int64()),
        ("answers", pa.binary()),
        ("report", pa.string()),
    ]
)


class Kept(NamedTuple):
    """An engine in memory, and the file with the same state."""

    version: str
    engine: PartitionEngine


# By checkpoint and partition. An engine is removed while it works, so that a failing task loses it.
_kept: dict[tuple[str, int], Kept] = {}


class Partial(NamedTuple):
    """The output of a partition for a batch. Without a file, its state is unchanged."""

    part: int
    kind: str
    file: str
    file_bytes: int
    answers: bytes
    report: str

    def state_after(self, before: PartState) -> PartState:
        """The state of the partition once this output is committed."""
        if not self.file:
            return before
        kind: Kind = "full" if self.kind == "full" else "log"
        return before.after(kind, StateFile(self.file, self.file_bytes))

    def facts(self) -> dict[str, Any]:
        """Counts and watermarks."""
        facts: dict[str, Any] = json.loads(self.report)
        return facts


@dataclass(frozen=True, slots=True)
class PartitionStage:
    """The stage for one micro-batch; `closing` ends all streams after it."""

    spec: QuerySpec
    batch: int
    parts: tuple[PartState, ...]
    closing: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The body of `mapInArrow`. A null chunk only makes the partition take part."""
        self._forget_stale()
        for part, chunks in sorted(_by_part(batches).items()):
            partial = self.work(part, chunks)
            columns = [pa.array([value], field.type) for value, field in zip(partial, _SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)

    def work(self, part: int, chunks: list[bytes]) -> Partial:
        """One partition: restore, absorb, drain, write."""
        files = files_at(self.spec.root)
        before = self.parts[part]
        engine = self._taken(part, before.version) or self.restored(files, part, before)
        report = dict(engine.absorb(chunks))
        if self.closing:
            engine.close()
        answers = engine.drain()
        report |= {"state": engine.state_size(), "watermark": dict(engine.watermarks)}
        if self.closing:
            return Partial(part, "", "", 0, answers, json.dumps(report))
        if not chunks:
            # There is no information about any stream, so the engine and its state are unchanged.
            _kept[self.spec.root, part] = Kept(before.version, engine)
            return Partial(part, "", "", 0, answers, json.dumps(report))
        kind, file = self.written(files, part, engine, chunks)
        _kept[self.spec.root, part] = Kept(file.name, engine)
        return Partial(part, kind, file.name, file.bytes, answers, json.dumps(report))

    def restored(self, files: Files, part: int, before: PartState) -> PartitionEngine:
        """The engine in the state that the manifest names."""
        from whorl._engine import PartitionEngine

        query = self.spec.query()
        if before.base is None:
            static = self.spec.static
            engine = PartitionEngine(query, part, [(one.graph, files.read(one.name), one.format) for one in static])
        else:
            engine = PartitionEngine.restore(query, part, read_state(files, before.base.name))
        for file in before.log:
            engine.absorb(read_log(file.name, read_state(files, file.name)))
            engine.drain()
        return engine

    def written(self, files: Files, part: int, engine: PartitionEngine, chunks: list[bytes]) -> tuple[Kind, StateFile]:
        """The state after the batch: a log file or a snapshot."""
        kind = self.parts[part].next_kind(sum(map(len, chunks)))
        data = write_log(chunks) if kind == "log" else engine.snapshot()
        name = new_name(self.batch, f"p{part:05d}", _attempt(), kind)
        files.write(name, data)
        return kind, StateFile(name, len(data))

    def _taken(self, part: int, version: str) -> PartitionEngine | None:
        kept = _kept.pop((self.spec.root, part), None)
        return kept.engine if kept is not None and version and kept.version == version else None

    def _forget_stale(self) -> None:
        """Drop engines that another worker has advanced."""
        for root, part in list(_kept):
            if root == self.spec.root and _kept[root, part].version != self.parts[part].version:
                del _kept[root, part]


def partials(table: pa.Table) -> list[Partial]:
    """The output rows of the stage, by partition."""
    return sorted(Partial(**row) for row in table.to_pylist())


def _by_part(batches: Iterator[pa.RecordBatch]) -> dict[int, list[bytes]]:
    """The chunks of each partition sorted by their origins, so that a shuffle has no effect."""
    found: dict[int, list[tuple[int, bytes]]] = {}
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("part", "origin", "chunk"))
        for part, origin, chunk in zip(*columns, strict=True):
            chunks = found.setdefault(part, [])
            if chunk is not None:
                chunks.append((origin, chunk))
    return {part: [chunk for _, chunk in sorted(chunks)] for part, chunks in found.items()}


def _attempt() -> int:
    """The number of the task's attempt; 0 outside of Spark."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.taskAttemptId()
