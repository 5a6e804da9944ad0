"""Backups: one tar file with the store and the hashes of the tokens. The admin token is not in it.

A backup is the state at one moment: everything acknowledged before it began is in it, nothing by half. It is made of a
server that runs (`GET /backup`) or of the directory of one that is stopped, and becomes a directory for a new server.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from whorl.server.store.store import Store, StoreError

STORE_NAME = "whorl.sqlite3"
TOKENS_NAME = "tokens.json"
_NAMES = frozenset({STORE_NAME, TOKENS_NAME})


def write_backup(store: Store, out: IO[bytes]) -> None:
    """Write a backup of the store and of the tokens beside it."""
    directory = store.path.parent
    with tempfile.TemporaryDirectory(dir=directory, prefix="backup-") as beside:
        copy = Path(beside, STORE_NAME)
        store.copy_to(copy)
        with tarfile.open(fileobj=out, mode="w") as archive:
            archive.add(copy, STORE_NAME, filter=_plain)
            if (directory / TOKENS_NAME).exists():
                archive.add(directory / TOKENS_NAME, TOKENS_NAME, filter=_plain)


def back_up(data_dir: Path, file: Path) -> None:
    """Back up the directory of a server that is stopped; a running one holds the lock of its store."""
    if not (data_dir / STORE_NAME).exists():
        raise StoreError(f"{data_dir}: there is no store here; name the data directory of a server")
    store = Store(data_dir / STORE_NAME)
    try:
        with _new_file(file) as out:
            write_backup(store, out)
            out.flush()
            os.fsync(out.fileno())
    finally:
        store.close()


def restore(file: Path, data_dir: Path) -> int:
    """Make a data directory of a backup, and read all of it once; how many records its log has."""
    if (data_dir / STORE_NAME).exists():
        raise StoreError(f"{data_dir}: has a store already; name a directory that is empty or not there")
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(file) as archive:
            # Members are taken by their known names, and as plain files: whatever else is in the archive stays there.
            members = [member for member in archive if member.name in _NAMES and member.isfile()]
            for member in members:
                _extract(archive, member, data_dir)
    except tarfile.TarError as error:
        raise StoreError(f"{file}: is not a backup ({error})") from error
    if STORE_NAME not in {member.name for member in members}:
        raise StoreError(f"{file}: has no store in it; is it a backup?")
    return check(data_dir)


def check(data_dir: Path) -> int:
    """Read the snapshot and every record, with their checksums; how many records there are."""
    store = Store(data_dir / STORE_NAME)
    try:
        found = store.snapshot()
        return sum(1 for _ in store.records(0 if found is None else found[0]))
    finally:
        store.close()


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, data_dir: Path) -> None:
    content = archive.extractfile(member)
    if content is None:
        return
    with content, _new_file(data_dir / member.name) as out:
        shutil.copyfileobj(content, out, 1 << 20)


def _new_file(path: Path) -> IO[bytes]:
    """A file that only its owner reads; one that is there is not written over."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError as error:
        raise StoreError(f"{path}: is there already; name another file") from error


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nobody's file: names of users of this machine are of no use elsewhere."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member
