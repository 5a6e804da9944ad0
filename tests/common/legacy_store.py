"""A store of format 1, as servers before format 2 left it: one SQLite file."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from whorl.server.store.store import Record

STREAM = "http://ex/s"


def write_legacy_store(data_dir: Path, records: Iterable[Record], snapshot: tuple[int, bytes] | None = None) -> Path:
    """Records, one staged body ('a') and perhaps a snapshot; the file."""
    data_dir.mkdir()
    path = data_dir / "whorl.sqlite3"
    with sqlite3.connect(path) as db:
        db.executescript(_SCHEMA)
        for record in records:
            db.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", _row(record))
        db.execute("INSERT INTO stage VALUES ('a', ?, 'arrow', ?, ?, 1000)", (STREAM, b"1", zlib.crc32(b"1")))
        if snapshot is not None:
            offset, data = snapshot
            db.execute("INSERT INTO snapshot VALUES (?, ?, ?)", (offset, len(data), sha256(data).digest()))
            db.execute("INSERT INTO snapshot_part VALUES (?, 0, ?)", (offset, data))
    db.close()
    return path


def _row(r: Record) -> tuple[int, str, str | None, bytes, bytes, int, int]:
    head = f"{r.offset} {r.kind} {r.stream} {r.logged_at} ".encode()
    checksum = zlib.crc32(r.body, zlib.crc32(r.members, zlib.crc32(head)))
    return r.offset, r.kind, r.stream, r.members, r.body, checksum, r.logged_at


_SCHEMA = """
PRAGMA journal_mode = WAL;
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
PRAGMA application_id = 1464356690;
PRAGMA user_version = 1;
"""
