"""The store: an ordered log of commands, the newest snapshot, and staged bodies.

Input: records, as bytes. Invariants: a record is complete or absent, and is on the disk and marked as acknowledged when
`append` returns; a failed write is undone before the caller learns of it; a start that finds less than was acknowledged
is refused with an error that names the loss. The directory belongs to one process, which holds a lock on it.

Cost of a commit: one write and sync at the end of the log, one write and sync of the mark, a block in place.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whorl.server.store.contents import (
    Retained,
    encoded_snapshot_head,
    log_name,
    read_snapshot,
    read_stage,
    snapshot_name,
)
from whorl.server.store.faults import LossError, NotWrittenError, OutcomeUnknownError, StoreError
from whorl.server.store.files import opened, sync, write_at, write_new
from whorl.server.store.frames import (
    FORMAT_VERSION,
    DamageError,
    Encoder,
    FileHead,
    Record,
    Type,
    read_file_head,
    read_frames,
)
from whorl.server.store.mark import Mark, file_bytes
from whorl.server.store.opening import DIRECTORY_NAME, lock, open_files, write_log, write_stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["FORMAT_VERSION", "LossError", "NotWrittenError", "OutcomeUnknownError", "Record", "Store", "StoreError"]

_ROOM_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileView:
    """A file of the store at one moment: later appends and removals do not matter."""

    name: str
    handle: int
    size_bytes: int


class Store:
    """The store in a data directory. Methods may be called from any thread, one at a time."""

    def __init__(self, data_dir: Path, *, accept_loss: bool = False) -> None:
        self.data_dir = data_dir
        self.path = data_dir / DIRECTORY_NAME
        self._access = threading.RLock()
        try:
            self._lock = lock(data_dir)
        except OSError as error:
            raise StoreError(f"{data_dir}: is not usable ({error.strerror})") from error
        try:
            self._open(accept_loss=accept_loss)
        except OSError as error:
            os.close(self._lock)
            name = error.filename or self.path
            raise StoreError(f"{name}: cannot be read or written ({error.strerror})") from error
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self, *, accept_loss: bool) -> None:
        self._marks, self._mark, contents = open_files(self.data_dir, accept_loss=accept_loss)
        self._log = os.open(self._log_path, os.O_RDWR | os.O_CLOEXEC)
        # The log is preallocated with zeros up to here.
        self._room = os.fstat(self._log).st_size
        self._first_number = contents.head.first_number
        self._stages = contents.stages
        self._retained = contents.retained
        self._log_bytes = contents.log_bytes
        # Read and checked already; the first caller takes it.
        self._checked_snapshot = contents.snapshot
        self._failed: str | None = None
        self._is_open = True

    @property
    def _log_path(self) -> Path:
        return self.path / log_name(self._mark.segment)

    @property
    def offset(self) -> int:
        """The last acknowledged record."""
        return self._mark.offset

    @property
    def log_bytes(self) -> int:
        """The growth of the log since the snapshot."""
        return self._log_bytes

    def size_bytes(self) -> int:
        """The size of the store on the disk."""
        return sum(path.stat().st_size for path in self.path.iterdir() if path.exists())

    def close(self) -> None:
        """Close the files without writing: what is not acknowledged by now is not in the store."""
        with self._access:
            if not self._is_open:
                return
            self._is_open = False
            if self._failed is None:
                with contextlib.suppress(OSError):
                    self._cut_room()
            os.close(self._log)
            self._marks.close()
            os.close(self._lock)

    # ---- the log ----

    def append(self, records: Sequence[Record], spent_stages: Sequence[str] = ()) -> None:
        """Write records and drop the staged bodies they contain: one commit, on the disk on return."""
        if [record.offset for record in records] != list(range(self.offset + 1, self.offset + 1 + len(records))):
            raise ValueError(f"records must continue record {self.offset}")
        spent = [token for token in dict.fromkeys(spent_stages) if token in self._stages]
        with self._access:
            encoder = Encoder(self._mark.number, self._mark.checksum)
            contents: list[tuple[Type, Record | object]] = [(Type.RECORD, record) for record in records]
            if spent:
                contents.append((Type.UNSTAGE, spent))
            self._commit(encoder.commit(contents), encoder, self.offset + len(records))
            self._log_bytes += sum(len(record.members) + len(record.body) for record in records)
            self._forget(spent)

    def records(self, after: int) -> Iterator[Record]:
        """The log after an offset, in order, each record checked."""
        with opened(self._log_path) as handle:
            try:
                _, checksum = read_file_head(handle)
                for frame in read_frames(handle, self._first_number, checksum, self._mark.length):
                    if frame.type is Type.RECORD and frame.record.offset > after:
                        yield frame.record
            except DamageError as damage:
                raise StoreError(f"{self._log_path}: is damaged ({damage}); restore it from a backup") from damage

    def _commit(self, frames: bytes, encoder: Encoder, offset: int) -> None:
        """Write the frames, then the mark; or leave neither."""
        mark = self._mark.ending(self._mark.length + len(frames), encoder.number, encoder.checksum, offset)

        def write() -> Mark:
            self._make_room(mark.length)
            write_at(self._log, frames, self._mark.length)
            sync(self._log)
            return self._marks.write(mark)

        self._mark = self._done_or_undone(write)

    def _make_room(self, length: int) -> None:
        """Preallocate zeros ahead of the frames: a sync that changes no length has nothing to journal."""
        while self._room < length:
            write_at(self._log, bytes(_ROOM_BYTES), self._room)
            self._room += _ROOM_BYTES

    def _done_or_undone(self, write: Callable[[], Mark]) -> Mark:
        """Make a change; if it fails, undo it before the caller learns of it.

        After a failed sync, the system may have dropped the dirty pages and report success the next time: so nothing
        after the mark is kept, and the mark itself is written again with its previous content.
        """
        if self._failed is not None:
            raise NotWrittenError(f"{self.path}: the disk failed before ({self._failed}); nothing was written")
        try:
            return write()
        except OSError as error:
            self._undo(error)
            raise NotWrittenError(f"{self.path}: the write failed ({error.strerror}); nothing was applied") from error

    def _undo(self, cause: OSError) -> None:
        try:
            # The mark first: as long as it may claim the frames, they must exist.
            if self._marks.is_unsettled:
                self._mark = self._marks.write(self._mark)
            self._cut_room()
            sync(self._log)
        except OSError as error:
            self._failed = str(cause.strerror)
            said = f"the write failed ({cause.strerror}) and could not be undone ({error.strerror})"
            raise OutcomeUnknownError(f"{self.path}: {said}") from error

    def _cut_room(self) -> None:
        os.ftruncate(self._log, self._mark.length)
        self._room = self._mark.length

    # ---- snapshots ----

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot and the offset of the last record it contains."""
        mark = self._mark
        if mark.snapshot_offset == 0:
            return None
        data, self._checked_snapshot = self._checked_snapshot, None
        if data is None:
            path = self.path / snapshot_name(mark.snapshot_offset)
            try:
                data, _ = read_snapshot(path, mark.store_id, mark.snapshot_offset, mark.snapshot_digest)
            except DamageError as damage:
                raise StoreError(f"{path}: is damaged ({damage}); restore it from a backup") from damage
        return mark.snapshot_offset, data

    def write_snapshot(self, offset: int, data: bytes, keep_since: dict[str, int]) -> None:
        """Replace the log up to its end by a snapshot.

        `keep_since` names streams whose records are retained from a time on, although recovery does not need them.
        """
        if offset != self.offset:
            raise ValueError(f"a snapshot at record {offset} does not match a log that ends at record {self.offset}")
        if offset == self._mark.snapshot_offset:
            return
        with self._access:
            before = self._mark
            retained = self._still_retained(keep_since)
            try:
                retained += self._retain(keep_since)
                mark = self._written_snapshot(offset, data, retained)
                # Before the mark names it: afterwards nothing may fail.
                new_log = os.open(self.path / log_name(mark.segment), os.O_RDWR | os.O_CLOEXEC)
            except OSError as error:
                # The old files still count: only the snapshot is lost.
                raise NotWrittenError(f"{self.path}: the snapshot could not be written ({error.strerror})") from error
            try:
                self._mark = self._done_or_undone(lambda: self._marks.write(mark))
            except StoreError:
                os.close(new_log)
                raise
            self._turn_to_new_log(new_log, retained, before)

    def _written_snapshot(self, offset: int, data: bytes, retained: list[Retained]) -> Mark:
        head, digest = encoded_snapshot_head(self._mark.store_id, offset, data)
        for name in (snapshot_name(offset), log_name(self._mark.segment + 1)):
            # Left by a failed attempt.
            (self.path / name).unlink(missing_ok=True)
        write_new(self.path / snapshot_name(offset), head, data)
        log_head = FileHead(self._mark.segment + 1, self._mark.number + 1, offset, self._mark.store_id)
        frames: list[tuple[Type, Record | object]] = [(Type.STAGE, stage) for stage in self._stages.values()]
        if retained:
            frames.append((Type.RETAINED, retained))
        # The directory sync for the log file covers both names.
        return replace(write_log(self.path, log_head, frames, self._mark), snapshot_digest=digest)

    def _turn_to_new_log(self, handle: int, retained: list[Retained], before: Mark) -> None:
        with contextlib.suppress(OSError):
            os.close(self._log)
        self._log, self._first_number, self._log_bytes = handle, before.number + 1, 0
        self._room = self._mark.length
        gone = [one.file_name for one in self._retained if one not in retained]
        self._retained, self._checked_snapshot = retained, None
        for name in (log_name(before.segment), snapshot_name(before.snapshot_offset), *gone):
            # Files that cannot be removed now are removed at the next start.
            with contextlib.suppress(OSError):
                (self.path / name).unlink(missing_ok=True)

    def _still_retained(self, keep_since: dict[str, int]) -> list[Retained]:
        def is_kept(one: Retained) -> bool:
            return any(stream in keep_since and at >= keep_since[stream] for stream, at in one.newest.items())

        return [one for one in self._retained if is_kept(one)]

    def _retain(self, keep_since: dict[str, int]) -> list[Retained]:
        """Copy the records that streams retain out of the old log."""
        kept = [
            record
            for record in (self.records(0) if keep_since else ())
            if record.stream in keep_since and record.logged_at >= keep_since[record.stream]
        ]
        if not kept:
            return []
        newest: dict[str, int] = {}
        for record in kept:
            newest[str(record.stream)] = max(record.logged_at, newest.get(str(record.stream), 0))
        encoder = Encoder(0, 0)
        name = f"retained-{self.offset:016d}"
        data = encoder.commit([(Type.RECORD, record) for record in kept])
        (self.path / name).unlink(missing_ok=True)
        write_new(self.path / name, data)
        return [Retained(name, len(data), newest)]

    # ---- staged bodies ----

    def stage(self, token: str, stream: str, form: str, body: bytes, staged_at: int) -> None:
        """Store a body until its commit."""
        with self._access:
            try:
                stage = write_stage(self.path, token, stream, form, body, staged_at)
            except OSError as error:
                raise NotWrittenError(f"{self.path}: the body could not be staged ({error.strerror})") from error
            encoder = Encoder(self._mark.number, self._mark.checksum)
            try:
                self._commit(encoder.commit([(Type.STAGE, stage)]), encoder, self.offset)
            except NotWrittenError:
                (self.path / stage.file_name).unlink(missing_ok=True)
                raise
            self._stages[token] = stage

    def staged(self, token: str, stream: str) -> tuple[str, bytes] | None:
        """The format and the bytes of a staged body."""
        with self._access:
            stage = self._stages.get(token)
            if stage is None or stage.stream != stream:
                return None
            try:
                return stage.form, read_stage(self.path, stage)
            except (OSError, DamageError) as error:
                raise StoreError(f"{self.path / stage.file_name}: the staged body is damaged ({error})") from error

    def staged_sizes(self, tokens: Iterable[str], stream: str) -> list[int | None]:
        """The sizes of staged bodies of a stream; None for those that are not there.

        There is no lock, because the engine's thread calls it and must not wait for a snapshot to be written. Each
        look-up is atomic.
        """
        found = [self._stages.get(token) for token in tokens]
        return [None if stage is None or stage.stream != stream else stage.size_bytes for stage in found]

    def staged_bytes(self) -> int:
        """The size of all staged bodies."""
        with self._access:
            return sum(stage.size_bytes for stage in self._stages.values())

    def expire_stages(self, before: int) -> None:
        """Delete bodies staged before a time: their producer never committed them."""
        with self._access:
            expired = [stage.token for stage in self._stages.values() if stage.staged_at < before]
            if not expired:
                return
            encoder = Encoder(self._mark.number, self._mark.checksum)
            self._commit(encoder.commit([(Type.UNSTAGE, expired)]), encoder, self.offset)
            self._forget(expired)

    def _forget(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            stage = self._stages.pop(token)
            with contextlib.suppress(OSError):
                (self.path / stage.file_name).unlink(missing_ok=True)

    # ---- copies ----

    @contextlib.contextmanager
    def view(self) -> Iterator[tuple[bytes, list[FileView]]]:
        """The current store: the bytes of its mark, and its open files. Commits continue meanwhile."""
        with contextlib.ExitStack() as stack:
            with self._access:
                mark, names = self._mark, [(log_name(self._mark.segment), self._mark.length)]
                if mark.snapshot_offset:
                    names.append((snapshot_name(mark.snapshot_offset), -1))
                names += [(stage.file_name, stage.size_bytes) for stage in self._stages.values()]
                names += [(one.file_name, one.size_bytes) for one in self._retained]
                views = [self._view(stack, name, size) for name, size in names]
            yield file_bytes(mark), views

    def _view(self, stack: contextlib.ExitStack, name: str, size_bytes: int) -> FileView:
        handle = stack.enter_context(opened(self.path / name))
        return FileView(name, handle, size_bytes if size_bytes >= 0 else os.fstat(handle).st_size)
