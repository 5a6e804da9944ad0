"""The state after a micro-batch: one JSON file per batch, written atomically, never changed.

The manifest names the state of every partition, the state of the merge and the results of the batch. Files that no
manifest names do not count, so the files of failed or repeated task attempts cannot be mixed up.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from whorl.spark.scale.faults import CheckpointError
from whorl.spark.scale.state import PartState, StateFile

FOLDER = "manifest"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state after a micro-batch."""

    batch: int
    parts: tuple[PartState, ...]
    merge: StateFile | None = None
    answers: StateFile | None = None
    watermarks: dict[str, int | None] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    closed: bool = False
    engine: str = ""

    @property
    def name(self) -> str:
        """The name of its file."""
        return name_of(self.batch)

    def files(self) -> set[str]:
        """All files it needs."""
        own = {file.name for file in (self.merge, self.answers) if file is not None}
        return own.union(*(part.files() for part in self.parts))

    def to_bytes(self) -> bytes:
        """As a file."""
        document = {
            "format": _FORMAT,
            "batch": self.batch,
            "engine": self.engine,
            "closed": self.closed,
            "watermarks": self.watermarks,
            "stats": self.stats,
            "answers": _file_json(self.answers),
            "merge": _file_json(self.merge),
            "parts": [part.to_json() for part in self.parts],
        }
        return json.dumps(document, indent=1).encode()

    @classmethod
    def from_bytes(cls, name: str, data: bytes) -> Manifest:
        """The inverse."""
        try:
            document = json.loads(data)
            _check_format(name, document)
            return cls(
                batch=document["batch"],
                parts=tuple(PartState.from_json(part) for part in document["parts"]),
                merge=_file(document["merge"]),
                answers=_file(document["answers"]),
                watermarks=document["watermarks"],
                stats=document["stats"],
                closed=document["closed"],
                engine=document["engine"],
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CheckpointError(
                f"{name} is damaged", code="checkpoint.damaged", hint="start over with an empty checkpoint directory"
            ) from None


def name_of(batch: int) -> str:
    """The file of a batch."""
    return f"{FOLDER}/{batch:012d}.json"


def _check_format(name: str, document: dict[str, Any]) -> None:
    if document["format"] != _FORMAT:
        raise CheckpointError(
            f"{name} has format {document['format']}, and this release reads {_FORMAT}",
            code="checkpoint.version",
            hint="use the release that wrote the checkpoint",
        )


def _file_json(file: StateFile | None) -> list[Any] | None:
    return None if file is None else [file.name, file.bytes]


def _file(document: list[Any] | None) -> StateFile | None:
    return None if document is None else StateFile(*document)
