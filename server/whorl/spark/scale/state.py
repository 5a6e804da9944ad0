"""The state of a virtual partition as files: a full snapshot of its engine, or none yet, and a log of chunks since.

A log file contains the chunks of one micro-batch for the partition; an engine that absorbs them again reaches the same
state. So a micro-batch writes only its input, and not the whole content of the windows, until the log has become longer
than the last snapshot. Names are unique: a task that runs twice writes two files, and the manifest determines which one
counts.
"""

from __future__ import annotations

import secrets
import struct
import zlib
from dataclasses import dataclass
from typing import Any, Literal

from whorl.spark.scale.faults import CheckpointError

Kind = Literal["full", "log"]

FOLDER = "state"
# A shorter log is not replaced by a snapshot, however short the last snapshot was.
_LOG_BYTES_MIN = 1 << 20
# The maximum number of micro-batches to absorb again when an engine is restored.
_LOG_FILES_MAX = 32

_MAGIC = b"WHORLLOG"
_HEAD = struct.Struct("<8sIII")  # magic, format, number of chunks, checksum of what follows
_LENGTH = struct.Struct("<Q")
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file of the checkpoint, and its length."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class PartState:
    """The files from which a partition is restored. Without files, it is a new engine."""

    base: StateFile | None = None
    log: tuple[StateFile, ...] = ()

    @property
    def version(self) -> str:
        """The newest file: names are unique, so an engine that wrote or read it is in this state."""
        if self.log:
            return self.log[-1].name
        return "" if self.base is None else self.base.name

    @property
    def log_bytes(self) -> int:
        """The number of bytes that a restore absorbs again."""
        return sum(file.bytes for file in self.log)

    def next_kind(self, log_bytes: int) -> Kind:
        """Whether a micro-batch of this size is logged; otherwise a snapshot is due."""
        bound = max(_LOG_BYTES_MIN, 0 if self.base is None else self.base.bytes)
        fits = self.log_bytes + log_bytes <= bound and len(self.log) < _LOG_FILES_MAX
        return "log" if fits else "full"

    def after(self, kind: Kind, file: StateFile) -> PartState:
        """The state with one more file."""
        return PartState(file) if kind == "full" else PartState(self.base, (*self.log, file))

    def files(self) -> list[str]:
        """All names."""
        return [file.name for file in ((self.base,) if self.base else ()) + self.log]

    def to_json(self) -> dict[str, Any]:
        """The form in a manifest."""
        base = None if self.base is None else [self.base.name, self.base.bytes]
        return {"base": base, "log": [[file.name, file.bytes] for file in self.log]}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> PartState:
        """The inverse."""
        base = document["base"]
        return cls(None if base is None else StateFile(*base), tuple(StateFile(*file) for file in document["log"]))


def new_name(batch: int, owner: str, attempt: int, kind: str) -> str:
    """A name that no other task attempt uses."""
    return f"{FOLDER}/{batch:012d}-{owner}-{attempt}-{secrets.token_hex(6)}.{kind}"


def batch_of(name: str) -> int | None:
    """The micro-batch that wrote a file; None for foreign names."""
    head = name.rpartition("/")[2].partition("-")[0].partition(".")[0]
    return int(head) if head.isdecimal() else None


def write_log(chunks: list[bytes]) -> bytes:
    """Chunks as a file."""
    parts = [part for chunk in chunks for part in (_LENGTH.pack(len(chunk)), chunk)]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEAD.pack(_MAGIC, _FORMAT, len(chunks), checksum), *parts])


def read_log(name: str, data: bytes) -> list[bytes]:
    """The chunks of a file."""
    if len(data) < _HEAD.size:
        raise _damaged(name)
    magic, form, n_chunks, checksum = _HEAD.unpack_from(data)
    if magic != _MAGIC or zlib.crc32(memoryview(data)[_HEAD.size :]) != checksum:
        raise _damaged(name)
    if form != _FORMAT:
        raise CheckpointError(
            f"{name} has format {form}, and this release reads {_FORMAT}",
            code="checkpoint.version",
            hint="use the release that wrote the checkpoint",
        )
    return _cut(data, n_chunks)


def _cut(data: bytes, n_chunks: int) -> list[bytes]:
    chunks, at = [], _HEAD.size
    for _ in range(n_chunks):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        chunks.append(data[at : at + length])
        at += length
    return chunks


def _damaged(name: str) -> CheckpointError:
    return CheckpointError(
        f"{name} is damaged", code="checkpoint.damaged", hint="start over with an empty checkpoint directory"
    )
