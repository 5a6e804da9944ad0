"""Stage 2: the engine of each virtual partition takes the chunks of the micro-batch, and says what it has to say.

In come rows `(part, origin, chunk)`, all of a partition in one task; out goes one row per partition: the file its state
is in now, its partial answers, its watermarks. An engine may be left in the memory of a worker for the next batch. It
is used only if its version is the one the manifest names, and otherwise restored from files: which worker gets which
partition is up to Spark.
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
    """An engine in memory, and the file it is the state of."""

    version: str
    engine: PartitionEngine


# By checkpoint and partition. An engine is taken out while it works: if the task fails, it is gone.
_kept: dict[tuple[str, int], Kept] = {}


class Partial(NamedTuple):
    """What a partition gives for a batch. Without a file its state is as before."""

    part: int
    kind: str
    file: str
    file_bytes: int
    answers: bytes
    report: str

    def state_after(self, before: PartState) -> PartState:
        """The state of the partition when this one counts."""
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
        """The body of `mapInArrow`. An empty chunk column only says that the partition is here."""
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
            # Nothing was said about any stream: the engine is where it was, and so is its state.
            _kept[self.spec.root, part] = Kept(before.version, engine)
            return Partial(part, "", "", 0, answers, json.dumps(report))
        kind, file = self.written(files, part, engine, chunks)
        _kept[self.spec.root, part] = Kept(file.name, engine)
        return Partial(part, kind, file.name, file.bytes, answers, json.dumps(report))

    def restored(self, files: Files, part: int, before: PartState) -> PartitionEngine:
        """The engine as the manifest says it is."""
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
        """The state after the batch: what has come, or all there is."""
        kind = self.parts[part].next_kind(sum(map(len, chunks)))
        data = write_log(chunks) if kind == "log" else engine.snapshot()
        name = new_name(self.batch, f"p{part:05d}", _attempt(), kind)
        files.write(name, data)
        return kind, StateFile(name, len(data))

    def _taken(self, part: int, version: str) -> PartitionEngine | None:
        kept = _kept.pop((self.spec.root, part), None)
        return kept.engine if kept is not None and version and kept.version == version else None

    def _forget_stale(self) -> None:
        """Engines that another worker has brought further are of no use any more."""
        for root, part in list(_kept):
            if root == self.spec.root and _kept[root, part].version != self.parts[part].version:
                del _kept[root, part]


def partials(table: pa.Table) -> list[Partial]:
    """The rows that the stage gave, by partition."""
    return sorted(Partial(**row) for row in table.to_pylist())


def _by_part(batches: Iterator[pa.RecordBatch]) -> dict[int, list[bytes]]:
    """The chunks of each partition in the order of their origins, which no shuffle changes."""
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
