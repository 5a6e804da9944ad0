"""Stores of format 1, a single SQLite file, read only to upgrade them.

Their log had no mark beside it, so damage that SQLite repairs by dropping the end of its write-ahead log cannot be
detected here. All other damage is refused with an error that names it.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import zlib
from typing import TYPE_CHECKING, Any

from whorl.server.store.faults import StoreError
from whorl.server.store.frames import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME = "whorl.sqlite3"
_APPLICATION_ID = 0x57484F52
_FORMAT_VERSION = 1


class LegacyStore:
    """A store of format 1, open for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # SQLite treats an empty file as a new database, and removes the log beside it.
        if path.stat().st_size == 0:
            raise StoreError(f"{path}: is empty; restore it from a backup")
        self._db = sqlite3.connect(path, isolation_level=None, timeout=1)
        try:
            self._check()
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.OperationalError):
                raise StoreError(f"{path}: cannot be opened ({error}); is another server using it?") from error
            if isinstance(error, sqlite3.DatabaseError):
                raise StoreError(f"{path}: is damaged or not a store ({error}); restore it from a backup") from error
            raise

    def _check(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION_ID:
            raise StoreError(f"{self.path}: is not a Whorl store; choose another data directory")
        if version != _FORMAT_VERSION:
            raise StoreError(
                f"{self.path}: has format version {version}, but this server upgrades version {_FORMAT_VERSION}; "
                "use the server that wrote it, or another data directory"
            )
        # The first write takes the lock.
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("COMMIT")
        ((said,),) = self._db.execute("PRAGMA quick_check(1)").fetchall()
        if said != "ok":
            raise StoreError(f"{self.path}: is damaged ({said}); restore it from a backup")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot and the offset of the last record it contains."""
        head = self._read("SELECT offset, bytes, digest FROM snapshot ORDER BY offset DESC LIMIT 1")
        if not head:
            return None
        offset, size, digest = head[0]
        parts = self._read("SELECT data FROM snapshot_part WHERE offset = ? ORDER BY part", offset)
        data = b"".join(part for (part,) in parts)
        if len(data) != size or hashlib.sha256(data).digest() != digest:
            raise StoreError(f"{self.path}: the snapshot at {offset} is damaged; restore it from a backup")
        return offset, data

    def records(self, after: int) -> Iterator[Record]:
        """The log after an offset, in order, each record checked; a hole or a wrong checksum ends it with an error."""
        expected = after + 1
        while rows := self._read(
            "SELECT offset, kind, stream, members, body, checksum, logged_at FROM log WHERE offset >= ? "
            "ORDER BY offset LIMIT 64",
            expected,
        ):
            for offset, kind, stream, members, body, checksum, logged_at in rows:
                record = Record(offset, kind, members, body, stream, logged_at)
                if offset != expected or checksum != _checksum(record):
                    raise StoreError(f"{self.path}: record {expected} of the log is damaged; restore it from a backup")
                yield record
                expected += 1

    def stages(self) -> Iterator[tuple[str, str, str, bytes, int]]:
        """Staged bodies: token, stream, format, body, and when they were staged."""
        for (token,) in self._read("SELECT token FROM stage"):
            row = self._read("SELECT stream, format, body, checksum, staged_at FROM stage WHERE token = ?", token)
            stream, form, body, checksum, staged_at = row[0]
            if checksum != zlib.crc32(body):
                raise StoreError(f"{self.path}: the staged body {token} is damaged; restore it from a backup")
            yield token, stream, form, body, staged_at

    def _read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: is damaged ({error}); restore it from a backup") from error


@contextlib.contextmanager
def legacy_store(path: Path) -> Iterator[LegacyStore]:
    """A store of format 1, open while the block runs."""
    store = LegacyStore(path)
    try:
        yield store
    finally:
        store.close()


def _checksum(record: Record) -> int:
    head = f"{record.offset} {record.kind} {record.stream} {record.logged_at} ".encode()
    return zlib.crc32(record.body, zlib.crc32(record.members, zlib.crc32(head)))
