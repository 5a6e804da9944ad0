"""Files that only their owner can read, written completely and synced. Nothing else in the store writes."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Some systems have no `fdatasync`. It skips the modification time, which no reader needs.
_sync_data = getattr(os, "fdatasync", os.fsync)


def make_private_directory(path: Path) -> None:
    """Create a directory that only its owner can enter, and its parents."""
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        sync_directory(path.parent)


def make_private(path: Path) -> None:
    """Restrict a file or directory to its owner, if this process may change its permissions."""
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        with contextlib.suppress(PermissionError):
            path.chmod(mode & 0o700)


def create(path: Path) -> int:
    """A new file, open for reading and writing."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """An existing file, open while the block runs."""
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def write_at(handle: int, data: bytes, position: int) -> None:
    """Write all of the bytes; the system may write them in parts."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(handle, rest, position)
        position += written
        rest = rest[written:]


def read_at(handle: int, size: int, position: int) -> bytes:
    """Read up to a number of bytes; the system may return them in parts."""
    parts = []
    while size > 0 and (part := os.pread(handle, size, position)):
        parts.append(part)
        position += len(part)
        size -= len(part)
    return b"".join(parts)


def sync(handle: int) -> None:
    """Wait until the content of a file is on the disk."""
    _sync_data(handle)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    with opened(path) as handle:
        os.fsync(handle)


def write_new(path: Path, *parts: bytes) -> None:
    """Create a file with these bytes, synced; nothing remains if that fails. Its name is not synced."""
    handle = create(path)
    try:
        position = 0
        for part in parts:
            write_at(handle, part, position)
            position += len(part)
        sync(handle)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def forget_cached(handle: int) -> None:
    """Drop the page cache of a file, so that the next read goes to the disk."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
