"""The end of a micro-batch, on the driver: partial results become results.

The state of the merge (the previous result, pending instants) is a file of the checkpoint like any other state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whorl.spark.scale.files import read_state
from whorl.spark.scale.state import StateFile, new_name

if TYPE_CHECKING:
    from whorl._engine import MergeEngine
    from whorl.spark.scale.files import Files
    from whorl.spark.scale.spec import QuerySpec


class Merged(NamedTuple):
    """The file of a batch's results, an Arrow IPC stream, and the file of the state of the merge."""

    answers: StateFile
    state: StateFile


class Merger:
    """The merge of one query; its state in memory is used if it is the one that the manifest names."""

    def __init__(self, spec: QuerySpec, files: Files) -> None:
        self._spec = spec
        self._files = files
        self._version: str | None = None
        self._engine: MergeEngine | None = None

    def merge(self, batch: int, before: StateFile | None, partials: list[bytes]) -> Merged:
        """One batch."""
        engine = self._at(before)
        # Only a merge that has completed can be continued.
        self._engine = None
        answers = self._write(batch, "answers", engine.merge(partials))
        state = self._write(batch, "merge", engine.snapshot())
        self._engine, self._version = engine, state.name
        return Merged(answers, state)

    def _at(self, before: StateFile | None) -> MergeEngine:
        from whorl._engine import MergeEngine

        if before is None:
            return MergeEngine(self._spec.query())
        if self._engine is not None and self._version == before.name:
            return self._engine
        return MergeEngine.restore(self._spec.query(), read_state(self._files, before.name))

    def _write(self, batch: int, kind: str, data: bytes) -> StateFile:
        name = new_name(batch, "driver", 0, kind)
        self._files.write(name, data)
        return StateFile(name, len(data))
