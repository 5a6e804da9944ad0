"""The mark: the acknowledged length of the log, stored apart from the log that it checks.

The file has two slots of one block each, written alternately, so that a torn write leaves the other one. A slot names
the current log file, how many bytes of it are acknowledged, and the snapshot before it. It is overwritten in place and
synced after every commit: neither length nor name changes, so a sync costs one write of one block.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whorl.server.store.files import forget_cached, read_at, sync, sync_directory, write_at, write_new

if TYPE_CHECKING:
    from pathlib import Path

_SLOT_BYTES = 4096
_MAGIC = b"WHORLACK"
_FORMAT = 1
# magic, format, store id, turn, segment, length, last number, last offset, checksum, snapshot offset, snapshot digest.
_SLOT = struct.Struct("<8sI16sQQQQQIQ32s")
_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Mark:
    """The position in the log up to which everything was acknowledged."""

    store_id: bytes
    turn: int = 0
    segment: int = 1
    # Length of the log file, number and checksum of its last frame, and offset of its last record.
    length: int = 0
    number: int = 0
    offset: int = 0
    checksum: int = 0
    snapshot_offset: int = 0
    snapshot_digest: bytes = bytes(32)

    def ending(self, length: int, number: int, checksum: int, offset: int) -> Mark:
        """The mark with another end of the log."""
        return replace(self, length=length, number=number, checksum=checksum, offset=offset)

    def encoded(self) -> bytes:
        """One slot."""
        packed = _SLOT.pack(
            _MAGIC,
            _FORMAT,
            self.store_id,
            self.turn,
            self.segment,
            self.length,
            self.number,
            self.offset,
            self.checksum,
            self.snapshot_offset,
            self.snapshot_digest,
        )
        return (packed + _CHECKSUM.pack(zlib.crc32(packed))).ljust(_SLOT_BYTES, b"\0")


def create_mark(path: Path, mark: Mark) -> None:
    """Create a mark file, completely or not at all."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    write_new(beside, file_bytes(mark))
    beside.replace(path)
    sync_directory(path.parent)


def file_bytes(mark: Mark) -> bytes:
    """The content of a mark file."""
    return replace(mark, turn=1).encoded() + replace(mark, turn=2).encoded()


class MarkFile:
    """The two slots. `is_whole` means that both were readable: neither was being written, and neither is damaged."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        forget_cached(self._handle)
        slots = [_decoded(read_at(self._handle, _SLOT_BYTES, place * _SLOT_BYTES)) for place in (0, 1)]
        found = [(slot.turn, place) for place, slot in enumerate(slots) if slot is not None]
        self.is_whole = len(found) == len(slots)
        self._turn, self._place = max(found, default=(0, 0))
        self.mark = slots[self._place]
        # A write has failed: the content of the slot is undefined until it is written again.
        self.is_unsettled = False

    def write(self, mark: Mark) -> Mark:
        """Write the older slot and sync it. After a failure, the same slot is written again."""
        self.is_unsettled = True
        self._turn += 1
        written = replace(mark, turn=self._turn)
        place = 1 - self._place
        write_at(self._handle, written.encoded(), place * _SLOT_BYTES)
        sync(self._handle)
        self._place = place
        self.is_unsettled = False
        return written

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def _decoded(data: bytes) -> Mark | None:
    end = _SLOT.size + _CHECKSUM.size
    if len(data) < _SLOT_BYTES or any(data[end:]):
        return None
    packed, (checksum,) = data[: _SLOT.size], _CHECKSUM.unpack(data[_SLOT.size : end])
    magic, version, *fields = _SLOT.unpack(packed)
    if (magic, version) != (_MAGIC, _FORMAT) or checksum != zlib.crc32(packed):
        return None
    return Mark(*fields)
