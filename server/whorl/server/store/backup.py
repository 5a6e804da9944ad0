"""Backups: one tar file with the store and the token hashes, without the admin token.

A backup is the state at one moment: it has everything acknowledged before it began, and nothing partial. It is taken
from a running server (`GET /backup`) or from the directory of a stopped one, and restores to a new data directory.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
from typing import IO, TYPE_CHECKING

from whorl.server.store.files import make_private_directory, read_at, sync_directory
from whorl.server.store.legacy import FILE_NAME as LEGACY_NAME
from whorl.server.store.opening import DIRECTORY_NAME, MARK_NAME, has_store
from whorl.server.store.store import FileView, Store, StoreError

if TYPE_CHECKING:
    from pathlib import Path

TOKENS_NAME = "tokens.json"
_FILES = re.compile(rf"{DIRECTORY_NAME}/(log|snapshot|stage|retained)-[0-9a-f]+")
_NAMES = frozenset({MARK_NAME, LEGACY_NAME, TOKENS_NAME})


def write_backup(store: Store, out: IO[bytes]) -> None:
    """Write a backup of the store and of the tokens beside it."""
    tokens = store.data_dir / TOKENS_NAME
    with store.view() as (mark, views), tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(_member(MARK_NAME, len(mark)), io.BytesIO(mark))
        for view in views:
            archive.addfile(_member(f"{DIRECTORY_NAME}/{view.name}", view.size_bytes), _Reading(view))
        if tokens.exists():
            text = tokens.read_bytes()
            archive.addfile(_member(TOKENS_NAME, len(text)), io.BytesIO(text))


class _Reading(io.RawIOBase):
    """A file of the store, up to its acknowledged length."""

    def __init__(self, view: FileView) -> None:
        self._view = view
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        left = self._view.size_bytes - self._at
        data = read_at(self._view.handle, left if size < 0 else min(size, left), self._at)
        self._at += len(data)
        return data


def back_up(data_dir: Path, file: Path) -> None:
    """Back up the directory of a stopped server; a running one holds the lock of its store."""
    if not has_store(data_dir):
        raise StoreError(f"{data_dir}: contains no store; name the data directory of a server")
    store = Store(data_dir)
    try:
        with _new_file(file) as out:
            write_backup(store, out)
            out.flush()
            os.fsync(out.fileno())
    finally:
        store.close()


def restore(file: Path, data_dir: Path) -> int:
    """Restore a backup to a new data directory and check all of it; returns the number of log records."""
    if has_store(data_dir):
        raise StoreError(f"{data_dir}: contains a store already; name an empty or new directory")
    make_private_directory(data_dir)
    try:
        with tarfile.open(file) as archive:
            # Members are extracted by known names and as plain files; anything else in the archive is ignored.
            members = [member for member in archive if _is_ours(member)]
            names = {member.name for member in members}
            if not names & {MARK_NAME, LEGACY_NAME}:
                raise StoreError(f"{file}: contains no store; is it a backup?")
            make_private_directory(data_dir / DIRECTORY_NAME)
            for member in members:
                _extract(archive, member, data_dir)
    except tarfile.TarError as error:
        raise StoreError(f"{file}: is not a backup ({error})") from error
    sync_directory(data_dir / DIRECTORY_NAME)
    sync_directory(data_dir)
    return check(data_dir)


def _is_ours(member: tarfile.TarInfo) -> bool:
    return member.isfile() and (member.name in _NAMES or _FILES.fullmatch(member.name) is not None)


def check(data_dir: Path) -> int:
    """Read the snapshot and every record, with their checksums; returns the number of records."""
    store = Store(data_dir)
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
        out.flush()
        os.fsync(out.fileno())


def _new_file(path: Path) -> IO[bytes]:
    """A new file that only its owner can read; an existing one is not overwritten."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError as error:
        raise StoreError(f"{path}: exists already; name another file") from error


def _member(name: str, size_bytes: int) -> tarfile.TarInfo:
    """A tar member without an owner: user names of this machine mean nothing elsewhere."""
    member = tarfile.TarInfo(name)
    member.size = size_bytes
    member.mode = 0o600
    return member
