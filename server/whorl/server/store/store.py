"""The store: an ordered log of commands, the newest snapshot, and bodies that wait for a commit, in one SQLite file.

What comes in: records, as bytes. What stays true: a record is there whole or not at all, and is on the disk when
`append` returns; records and snapshots carry checksums; a file of another version or a damaged one is refused by name
and never half-read. The file belongs to one process: a lock on it says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

APPLICATION_ID = 0x57484F52
FORMAT_VERSION = 1
_SNAPSHOT_PART_BYTES = 16 * 1024 * 1024

_SCHEMA = f"""
BEGIN;
CREATE TABLE log (
    offset INTEGER PRIMARY KEY, kind TEXT NOT NULL, stream TEXT, members BLOB NOT NULL, body BLOB NOT NULL,
    checksum INTEGER NOT NULL, logged_at INTEGER NOT NULL
);
CREATE TABLE snapshot (offset INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE TABLE snapshot_part (
    offset INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (offset, part)
);
CREATE TABLE stage (
    token TEXT PRIMARY KEY, stream TEXT NOT NULL, format TEXT NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
    staged_at INTEGER NOT NULL
);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
COMMIT;
"""


class StoreError(Exception):
    """The store cannot be used; the message names the file and says why."""


@dataclass(frozen=True, slots=True)
class Record:
    """One command in the log."""

    offset: int
    kind: str
    members: bytes
    body: bytes
    stream: str | None = None
    logged_at: int = 0

    def checksum(self) -> int:
        """Over everything in the record."""
        head = f"{self.offset} {self.kind} {self.stream} {self.logged_at} ".encode()
        return zlib.crc32(self.body, zlib.crc32(self.members, zlib.crc32(head)))


class Store:
    """The store in one file. Methods may be called from any thread, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db = self._opened()

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=1)
            self._prepare(db)
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path}: cannot be opened ({error}); is another server using it?") from error
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: is damaged or not a store ({error}); restore it from a backup") from error
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        # A lock for as long as the process lives: two servers on one file would each lose the other's events.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if tables == 0 and application == 0 and version == 0:
            db.executescript(_SCHEMA)
        elif application != APPLICATION_ID:
            raise StoreError(f"{self.path}: is not a store of Whorl; choose another data directory")
        elif version != FORMAT_VERSION:
            raise StoreError(
                f"{self.path}: has format version {version}, this server reads version {FORMAT_VERSION}; "
                "use the server that wrote it, or another data directory"
            )
        # The first write takes the lock.
        db.execute("BEGIN IMMEDIATE")
        db.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def copy_to(self, path: Path) -> None:
        """Write the store as it stands into a new file, which needs no other file beside it."""
        try:
            with self._lock, contextlib.closing(sqlite3.connect(path)) as copy:
                self._db.backup(copy)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be copied ({error})") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                # A full disk may have ended the transaction already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreError(f"{self.path}: cannot be written ({error})") from error
                raise

    def append(self, records: Sequence[Record], spent_stages: Sequence[str] = ()) -> None:
        """Write records, and forget the staged bodies that became part of them: one commit, on the disk on return."""
        rows = [(r.offset, r.kind, r.stream, r.members, r.body, r.checksum(), r.logged_at) for r in records]
        with self._transaction() as db:
            db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            db.executemany("DELETE FROM stage WHERE token = ?", [(token,) for token in spent_stages])

    def log_bytes(self, after: int) -> int:
        """How much the log holds after an offset."""
        ((size,),) = self._read(
            "SELECT coalesce(sum(length(body) + length(members)), 0) FROM log WHERE offset > ?", after
        )
        return int(size)

    def records(self, after: int) -> Iterator[Record]:
        """The log after an offset, in order, each record checked; a hole or a wrong checksum ends it with an error."""
        expected = after + 1
        while True:
            rows = self._read(
                "SELECT offset, kind, stream, members, body, checksum, logged_at FROM log WHERE offset >= ? "
                "ORDER BY offset LIMIT 64",
                expected,
            )
            if not rows:
                return
            for offset, kind, stream, members, body, checksum, logged_at in rows:
                record = Record(offset, kind, members, body, stream, logged_at)
                if offset != expected or checksum != record.checksum():
                    raise StoreError(f"{self.path}: record {expected} of the log is damaged; restore it from a backup")
                yield record
                expected += 1

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

    def write_snapshot(self, offset: int, data: bytes, keep_since: dict[str, int]) -> None:
        """Put a snapshot in the place of the log up to an offset.

        `keep_since` names streams whose records are kept from a time on, although no recovery needs them.
        """
        parts = range(0, len(data), _SNAPSHOT_PART_BYTES)
        with self._transaction() as db:
            db.execute("DELETE FROM snapshot")
            db.execute("DELETE FROM snapshot_part")
            db.execute("INSERT INTO snapshot VALUES (?, ?, ?)", (offset, len(data), hashlib.sha256(data).digest()))
            for number, at in enumerate(parts):
                part = data[at : at + _SNAPSHOT_PART_BYTES]
                db.execute("INSERT INTO snapshot_part VALUES (?, ?, ?)", (offset, number, part))
            kept = " AND NOT (stream IS ? AND logged_at >= ?)" * len(keep_since)
            bounds = [value for pair in keep_since.items() for value in pair]
            db.execute(f"DELETE FROM log WHERE offset <= ?{kept}", (offset, *bounds))  # noqa: S608 - placeholders only

    def stage(self, token: str, stream: str, form: str, body: bytes, staged_at: int) -> None:
        """Keep a body until its commit."""
        row = (token, stream, form, body, zlib.crc32(body), staged_at)
        with self._transaction() as db:
            db.execute("INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?)", row)

    def staged(self, token: str, stream: str) -> tuple[str, bytes] | None:
        """The format and the bytes of a staged body."""
        rows = self._read("SELECT format, body, checksum FROM stage WHERE token = ? AND stream = ?", token, stream)
        if not rows:
            return None
        form, body, checksum = rows[0]
        if checksum != zlib.crc32(body):
            raise StoreError(f"{self.path}: the staged body {token} is damaged")
        return form, body

    def staged_bytes(self) -> int:
        """How much waits for commits."""
        ((size,),) = self._read("SELECT coalesce(sum(length(body)), 0) FROM stage")
        return int(size)

    def expire_stages(self, before: int) -> None:
        """Forget bodies staged before a time: their producer is gone."""
        with self._transaction() as db:
            db.execute("DELETE FROM stage WHERE staged_at < ?", (before,))

    def _read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: is damaged ({error}); restore it from a backup") from error
