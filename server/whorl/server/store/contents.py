"""The contents of a store, read from the disk and checked against the mark. Nothing here writes.

`examine` reads every byte that recovery needs: the snapshot, the log up to the mark, the staged bodies. Missing or
damaged data is a `Fault`; what comes before it is still usable if the operator accepts the loss.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from whorl.server.store.files import forget_cached, opened, read_at
from whorl.server.store.frames import (
    FILE_HEAD_BYTES,
    FORMAT_VERSION,
    DamageError,
    FileHead,
    Frame,
    Type,
    read_file_head,
    read_frames,
)
from whorl.server.store.mark import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# magic, format, store id, offset, size, digest of the data; then a checksum.
_SNAPSHOT_HEAD = struct.Struct("<8sI16sQQ32s")
_CHECKSUM = struct.Struct("<I")
_READ_BYTES = 1 << 20
_SNAPSHOT_MAGIC = b"WHORLSNP"
_SNAPSHOT_HEAD_BYTES = _SNAPSHOT_HEAD.size + _CHECKSUM.size


class Fault(NamedTuple):
    """Acknowledged data that is missing or damaged."""

    path: Path
    reason: str
    # What else is lost with it, beyond the records after the last good one.
    lost: str = ""


class Stage(NamedTuple):
    """A staged body, in a file of its own."""

    token: str
    stream: str
    form: str
    size_bytes: int
    checksum: int
    staged_at: int

    @property
    def file_name(self) -> str:
        """Derived from the token, because client tokens must not become file names."""
        return f"stage-{hashlib.sha256(self.token.encode()).hexdigest()[:32]}"


class Retained(NamedTuple):
    """A file of records older than the snapshot that a stream retains."""

    file_name: str
    size_bytes: int
    # The newest record of each stream in it.
    newest: dict[str, int]


@dataclass(slots=True)
class Contents:
    """The readable contents, up to the first fault."""

    head: FileHead
    # The end of the log, or of its undamaged part.
    length: int = 0
    number: int = 0
    checksum: int = 0
    offset: int = 0
    log_bytes: int = 0
    stages: dict[str, Stage] = field(default_factory=dict)
    retained: list[Retained] = field(default_factory=list)
    snapshot: bytes | None = None
    faults: list[Fault] = field(default_factory=list)
    # Bytes after the last complete frame.
    tail_bytes: int = 0

    @property
    def needs_snapshot(self) -> bool:
        """Whether the records continue a snapshot."""
        return self.head.snapshot_offset > 0


def log_name(segment: int) -> str:
    """The file name of a log segment."""
    return f"log-{segment:010d}"


def snapshot_name(offset: int) -> str:
    """The file name of a snapshot."""
    return f"snapshot-{offset:016d}"


def encoded_snapshot_head(store_id: bytes, offset: int, data: bytes) -> tuple[bytes, bytes]:
    """The header of a snapshot file, and the digest that the mark names."""
    digest = hashlib.sha256(data).digest()
    packed = _SNAPSHOT_HEAD.pack(_SNAPSHOT_MAGIC, FORMAT_VERSION, store_id, offset, len(data), digest)
    return packed + _CHECKSUM.pack(zlib.crc32(packed)), digest


def read_snapshot(path: Path, store_id: bytes, offset: int, digest: bytes | None) -> tuple[bytes, bytes]:
    """The data of a snapshot and its digest, which must match the mark."""
    data = path.read_bytes()
    if len(data) < _SNAPSHOT_HEAD_BYTES:
        raise DamageError("it is shorter than its header")
    packed, (checksum,) = (
        data[: _SNAPSHOT_HEAD.size],
        _CHECKSUM.unpack(data[_SNAPSHOT_HEAD.size : _SNAPSHOT_HEAD_BYTES]),
    )
    magic, version, found_id, found_offset, size, found_digest = _SNAPSHOT_HEAD.unpack(packed)
    if (magic, version) != (_SNAPSHOT_MAGIC, FORMAT_VERSION) or checksum != zlib.crc32(packed):
        raise DamageError("its header is damaged")
    if (found_id, found_offset) != (store_id, offset) or digest not in (None, found_digest):
        raise DamageError("it is a snapshot of something else")
    content = data[_SNAPSHOT_HEAD_BYTES:]
    if len(content) != size or hashlib.sha256(content).digest() != found_digest:
        raise DamageError("its checksum does not match")
    return content, found_digest


def read_stage(directory: Path, stage: Stage) -> bytes:
    """A staged body, checked."""
    body = (directory / stage.file_name).read_bytes()
    if len(body) != stage.size_bytes or zlib.crc32(body) != stage.checksum:
        raise DamageError("its checksum does not match")
    return body


def examine(directory: Path, mark: Mark, *, is_whole: bool) -> Contents:
    """Check a store against its mark.

    Complete commits after the mark count: the process may have died between the two syncs, or the mark may be the older
    slot. A torn end was never acknowledged, and is dropped. But if one slot of the mark cannot be read, the mark may
    be one commit old, and a torn end may be that commit.
    """
    contents = Contents(FileHead(mark.segment, 0, mark.snapshot_offset, mark.store_id))
    if mark.snapshot_offset:
        _examine_snapshot(directory, mark, contents)
    path = directory / log_name(mark.segment)
    try:
        with opened(path) as handle:
            _examine_log(path, handle, mark, contents, is_whole=is_whole)
    except FileNotFoundError:
        contents.faults.append(Fault(path, "is missing"))
    except DamageError as damage:
        contents.faults.append(Fault(path, f"is damaged ({damage})"))
    except OSError as error:
        # When reading from a handle, the system does not name the file.
        error.filename = error.filename or str(path)
        raise
    _examine_stages(directory, contents)
    _examine_retained(directory, contents)
    return contents


def _examine_snapshot(directory: Path, mark: Mark, contents: Contents) -> None:
    path = directory / snapshot_name(mark.snapshot_offset)
    lost = f"the state up to record {mark.snapshot_offset}, which all later records need"
    try:
        contents.snapshot, _ = read_snapshot(path, mark.store_id, mark.snapshot_offset, mark.snapshot_digest)
        contents.offset = mark.snapshot_offset
    except FileNotFoundError:
        contents.faults.append(Fault(path, "is missing", lost))
    except DamageError as damage:
        contents.faults.append(Fault(path, f"is damaged ({damage})", lost))


def _examine_log(path: Path, handle: int, mark: Mark, contents: Contents, *, is_whole: bool) -> None:
    # After a failed sync, the page cache may hold what the disk does not, even for another process.
    forget_cached(handle)
    head, checksum = read_file_head(handle)
    if (head.store_id, head.segment, head.snapshot_offset) != (mark.store_id, mark.segment, mark.snapshot_offset):
        raise DamageError("it belongs to another store")
    contents.head, contents.length, contents.checksum = head, FILE_HEAD_BYTES, checksum
    contents.number = head.first_number - 1
    # Offsets continue those of the snapshot, even if it is damaged.
    contents.offset = head.snapshot_offset
    for frame in _frames(handle, mark.length, contents):
        _take(frame, contents)
    # A mark without a length was written before the first log.
    found = (contents.number, contents.offset, contents.checksum)
    if mark.length and found != (mark.number, mark.offset, mark.checksum):
        raise DamageError("it ends before the last acknowledged record")
    size = os.fstat(handle).st_size
    try:
        _take_commits(handle, size, contents)
    except DamageError:
        if _is_room(handle, contents.length, size):
            return
        if not is_whole:
            reason = "the end of the log and the mark are both damaged; more may have been acknowledged"
            contents.faults.append(Fault(path, reason))
    contents.tail_bytes = size - contents.length


def _is_room(handle: int, begin: int, end: int) -> bool:
    """Whether there are only zeros: preallocated space that an unclosed store leaves."""
    pieces = (read_at(handle, min(_READ_BYTES, end - at), at) for at in range(begin, end, _READ_BYTES))
    return not any(piece.strip(b"\0") for piece in pieces)


def _frames(handle: int, limit: int, contents: Contents) -> Iterator[Frame]:
    """The frames after the accepted ones."""
    return read_frames(handle, contents.number + 1, contents.checksum, limit, contents.length)


def _take_commits(handle: int, limit: int, contents: Contents) -> None:
    """Accept complete commits."""
    waiting: list[Frame] = []
    for frame in _frames(handle, limit, contents):
        waiting.append(frame)
        if frame.is_last:
            for one in waiting:
                _take(one, contents)
            waiting.clear()


def _take(frame: Frame, contents: Contents) -> None:
    if frame.type is Type.RECORD:
        if frame.record.offset != contents.offset + 1:
            raise DamageError("a record is missing")
        contents.offset = frame.record.offset
        contents.log_bytes += len(frame.record.members) + len(frame.record.body)
    else:
        try:
            _take_note(frame, contents)
        except (ValueError, TypeError) as error:
            raise DamageError("the note of an entry makes no sense") from error
    contents.length, contents.number, contents.checksum = frame.end, frame.number, frame.checksum


def _take_note(frame: Frame, contents: Contents) -> None:
    if frame.type is Type.STAGE:
        stage = Stage(*frame.note())
        contents.stages[stage.token] = stage
    elif frame.type is Type.UNSTAGE:
        for token in frame.note():
            contents.stages.pop(token, None)
    else:
        contents.retained = [Retained(*one) for one in frame.note()]


def _examine_stages(directory: Path, contents: Contents) -> None:
    for stage in list(contents.stages.values()):
        try:
            read_stage(directory, stage)
        except (FileNotFoundError, DamageError) as error:
            reason = f"is damaged ({error})" if isinstance(error, DamageError) else "is missing"
            lost = f"a body staged for {stage.stream}"
            contents.faults.append(Fault(directory / stage.file_name, reason, lost))
            del contents.stages[stage.token]


def _examine_retained(directory: Path, contents: Contents) -> None:
    for one in list(contents.retained):
        path = directory / one.file_name
        size = path.stat().st_size if path.exists() else -1
        if size != one.size_bytes:
            reason = "is missing" if size < 0 else "is damaged (its length does not match)"
            contents.faults.append(Fault(path, reason, "records that a stream retains"))
            contents.retained.remove(one)


def presumed_mark(directory: Path) -> Mark | None:
    """A mark inferred from the files if there is none: everything complete in the newest log."""
    for path in sorted(directory.glob("log-*"), reverse=True):
        try:
            with opened(path) as handle:
                return _presumed(directory, handle)
        except DamageError:
            continue
    return None


def _presumed(directory: Path, handle: int) -> Mark:
    head, checksum = read_file_head(handle)
    contents = Contents(head, FILE_HEAD_BYTES, head.first_number - 1, checksum, head.snapshot_offset)
    digest = bytes(32)
    if head.snapshot_offset:
        path = directory / snapshot_name(head.snapshot_offset)
        try:
            _, digest = read_snapshot(path, head.store_id, head.snapshot_offset, None)
        except FileNotFoundError as error:
            raise DamageError("its snapshot is missing") from error
    # Everything before the damage is complete.
    with contextlib.suppress(DamageError):
        _take_commits(handle, os.fstat(handle).st_size, contents)
    end = (contents.length, contents.number, contents.offset, contents.checksum)
    return Mark(head.store_id, 0, head.segment, *end, head.snapshot_offset, digest)
