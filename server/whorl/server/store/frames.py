"""The format of log entries on the disk.

A log file is a header and frames. A frame carries its number, its length, the checksum of the frame before it, and a
checksum over all of that and its content, so that a flipped, torn, moved, repeated or missing frame is detected.

    log file   header | frame 1 | frame 2 | …
    frame      fixed head (numbers, lengths, previous checksum, checksum) | kind and stream | members | body
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import orjson

from whorl.server.store.files import read_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMAT_VERSION = 2
_READ_BYTES = 1 << 20

# magic, format, segment, first number, offset of the snapshot before it, store id; then a checksum.
_FILE_HEAD = struct.Struct("<8sIQQQ16s")
# magic, type, number, offset, logged at, lengths of head, members and body, checksum of the frame before.
_FRAME_HEAD = struct.Struct("<4sIQQqIIII")
_CHECKSUM = struct.Struct("<I")
_FILE_MAGIC = b"WHORLLOG"
_FRAME_MAGIC = b"WRec"
# A flag beside the type: the last frame of its commit.
_LAST = 0x100
FILE_HEAD_BYTES = _FILE_HEAD.size + _CHECKSUM.size
_FRAME_HEAD_BYTES = _FRAME_HEAD.size + _CHECKSUM.size


class DamageError(Exception):
    """The bytes are not what was written."""


class Type(IntEnum):
    """What a frame is."""

    RECORD = 1
    STAGE = 2
    UNSTAGE = 3
    RETAINED = 4


@dataclass(frozen=True, slots=True)
class Record:
    """One command in the log."""

    offset: int
    kind: str
    members: bytes
    body: bytes
    stream: str | None = None
    logged_at: int = 0


@dataclass(frozen=True, slots=True)
class FileHead:
    """The header of a log file."""

    segment: int
    first_number: int
    snapshot_offset: int
    store_id: bytes

    def encoded(self) -> bytes:
        """The header as bytes."""
        packed = _FILE_HEAD.pack(
            _FILE_MAGIC, FORMAT_VERSION, self.segment, self.first_number, self.snapshot_offset, self.store_id
        )
        return packed + _CHECKSUM.pack(zlib.crc32(packed))


@dataclass(frozen=True, slots=True)
class Frame:
    """One entry of the log: a record, or a note about staged bodies or retained files."""

    type: Type
    number: int
    record: Record
    # The position of the next frame, and the checksum that it must carry.
    end: int
    checksum: int
    is_last: bool

    def note(self) -> Any:  # noqa: ANN401 - JSON, each type has its own
        """The content of a frame that is not a record."""
        return orjson.loads(self.record.members)


@dataclass(slots=True)
class Encoder:
    """Encodes the frames that follow a position in the log."""

    number: int
    checksum: int

    def commit(self, contents: Sequence[tuple[Type, Record | object]]) -> bytes:
        """The frames of one commit, which count together or not at all."""
        last = len(contents) - 1
        return b"".join(self._frame(kind, content, is_last=idx == last) for idx, (kind, content) in enumerate(contents))

    def _frame(self, kind: Type, content: Record | object, *, is_last: bool) -> bytes:
        if not isinstance(content, Record):
            content = Record(0, "", orjson.dumps(content, default=list), b"")
        return self._encoded(kind | _LAST if is_last else kind, content)

    def _encoded(self, kind: int, record: Record) -> bytes:
        self.number += 1
        head = orjson.dumps([record.kind, record.stream])
        lengths = len(head), len(record.members), len(record.body)
        fixed = _FRAME_HEAD.pack(
            _FRAME_MAGIC, kind, self.number, record.offset, record.logged_at, *lengths, self.checksum
        )
        self.checksum = zlib.crc32(record.body, zlib.crc32(record.members, zlib.crc32(head, zlib.crc32(fixed))))
        return b"".join((fixed, _CHECKSUM.pack(self.checksum), head, record.members, record.body))


def read_file_head(handle: int) -> tuple[FileHead, int]:
    """The header of a log file and its checksum, which the first frame names."""
    data = read_at(handle, FILE_HEAD_BYTES, 0)
    if len(data) < FILE_HEAD_BYTES:
        raise DamageError("it is shorter than its header")
    packed, (checksum,) = data[: _FILE_HEAD.size], _CHECKSUM.unpack(data[_FILE_HEAD.size :])
    magic, version, *fields = _FILE_HEAD.unpack(packed)
    if magic != _FILE_MAGIC or checksum != zlib.crc32(packed):
        raise DamageError("its header is damaged")
    if version != FORMAT_VERSION:
        raise DamageError(f"it has format version {version}, but this server reads version {FORMAT_VERSION}")
    return FileHead(*fields), checksum


def read_frames(
    handle: int, number: int, checksum: int, limit: int, position: int = FILE_HEAD_BYTES
) -> Iterator[Frame]:
    """The frames of a log file up to a length, each one checked; a `DamageError` ends them.

    `number` is that of the first frame, and `checksum` that of the frame before it.
    """
    reader = _Reader(handle, limit)
    while position < limit:
        frame = _read_frame(reader, position, number, checksum)
        yield frame
        position, number, checksum = frame.end, frame.number + 1, frame.checksum


class _Reader:
    """Buffered reads. No memory map, because a bad sector would kill the process."""

    def __init__(self, handle: int, limit: int) -> None:
        self._handle = handle
        self.limit = limit
        self._start = 0
        self._held = b""

    def read(self, position: int, size: int) -> bytes:
        """Bytes from a position; fewer at the end of the file or of the range."""
        size = min(size, self.limit - position)
        if position < self._start or position + size > self._start + len(self._held):
            self._start = position
            self._held = read_at(self._handle, min(max(size, _READ_BYTES), self.limit - position), position)
        return self._held[position - self._start : position - self._start + size]


def _read_frame(reader: _Reader, position: int, number: int, previous: int) -> Frame:
    fixed = reader.read(position, _FRAME_HEAD_BYTES)
    if len(fixed) < _FRAME_HEAD_BYTES:
        raise DamageError("it ends inside an entry")
    packed, (checksum,) = fixed[: _FRAME_HEAD.size], _CHECKSUM.unpack(fixed[_FRAME_HEAD.size :])
    magic, kind, found_number, offset, logged_at, *lengths, found_previous = _FRAME_HEAD.unpack(packed)
    if (magic, found_number, found_previous) != (_FRAME_MAGIC, number, previous):
        raise DamageError("an entry does not continue the one before it")
    end = position + _FRAME_HEAD_BYTES + sum(lengths)
    if end > reader.limit:
        raise DamageError("an entry is longer than the log")
    content = reader.read(position + _FRAME_HEAD_BYTES, sum(lengths))
    if len(content) < sum(lengths) or zlib.crc32(content, zlib.crc32(packed)) != checksum:
        raise DamageError("the checksum of an entry does not match")
    head_bytes, members_bytes, _ = lengths
    try:
        name, stream = orjson.loads(content[:head_bytes])
        type_ = Type(kind & ~_LAST)
    except (ValueError, TypeError) as error:
        raise DamageError("an entry is of no known kind") from error
    members, body = content[head_bytes : head_bytes + members_bytes], content[head_bytes + members_bytes :]
    record = Record(offset, name, members, body, stream, logged_at)
    return Frame(type_, number, record, end, checksum, bool(kind & _LAST))
