"""The directory of a checkpoint: complete files under names that are never reused.

A file exists with all of its bytes or not at all, and is never changed. Local files are synced before their names
appear; on other file systems of pyarrow (`s3://`, `gs://`, `hdfs://` …), a file is as durable as that file system makes
a closed file. The driver and all executors must see the same directory.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from whorl.spark.scale.faults import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPORARY = ".part-"


class Files(Protocol):
    """Files by name; a name has at most one folder."""

    def read(self, name: str) -> bytes:
        """The content of a file; FileNotFoundError if it does not exist."""

    def write(self, name: str, data: bytes) -> None:
        """A new file under a unique name."""

    def publish(self, name: str, data: bytes) -> None:
        """A new file; FileExistsError if the name is taken."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder, prefixed with the folder, in order; none if the folder does not exist."""

    def delete(self, name: str) -> None:
        """Delete a file, which may be gone already."""

    def path(self, name: str) -> str:
        """The address of a file for Spark and for people."""


def read_state(files: Files, name: str) -> bytes:
    """A file that a manifest names; without it, the query cannot continue."""
    try:
        return files.read(name)
    except FileNotFoundError:
        raise CheckpointError(
            f"the checkpoint has lost {files.path(name)}, which its newest manifest names",
            code="checkpoint.lost_file",
            hint="restore the file from a backup of the checkpoint, or start over with an empty directory",
        ) from None


def files_at(root: str | os.PathLike[str]) -> Files:
    """The files of a directory, by a path or an address."""
    text = os.fspath(root)
    parts = urlsplit(text)
    if parts.scheme in {"", "file"}:
        return LocalFiles(Path(unquote(parts.path) if parts.scheme else text))
    return _arrow_files(text)


class LocalFiles:
    """A directory of this machine, or one that all machines have mounted."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self._root / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """A new file."""
        temporary, target = self._synced(name, data), self._root / name
        temporary.replace(target)
        _sync_folder(target.parent)

    def publish(self, name: str, data: bytes) -> None:
        """A new file; a link cannot replace one that is there."""
        temporary, target = self._synced(name, data), self._root / name
        try:
            os.link(temporary, target)
        finally:
            temporary.unlink()
        _sync_folder(target.parent)

    def names(self, folder: str) -> list[str]:
        """The names in a folder."""
        place = self._root / folder
        found = place.iterdir() if place.is_dir() else iter(())
        return sorted(f"{folder}/{path.name}" for path in found if not path.name.startswith(_TEMPORARY))

    def delete(self, name: str) -> None:
        """Delete a file."""
        (self._root / name).unlink(missing_ok=True)

    def path(self, name: str) -> str:
        """An absolute path."""
        return str(self._root / name)

    def _synced(self, name: str, data: bytes) -> Path:
        folder = (self._root / name).parent
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
        with temporary.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        return temporary


class ArrowFiles:
    """A directory of a file system of pyarrow. A file appears when it is closed."""

    def __init__(self, file_system: Any, root: str, address: str) -> None:  # noqa: ANN401 - pyarrow has no types
        self._fs = file_system
        self._root = root.rstrip("/")
        self._address = address.rstrip("/")

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self._fs.open_input_stream(f"{self._root}/{name}", compression=None) as source:
            data: bytes = source.read()
        return data

    def write(self, name: str, data: bytes) -> None:
        """A new file."""
        self._fs.create_dir(f"{self._root}/{name.rpartition('/')[0]}", recursive=True)
        with self._fs.open_output_stream(f"{self._root}/{name}", compression=None) as out:
            out.write(data)

    def publish(self, name: str, data: bytes) -> None:
        """A new file. Object stores create a file as a whole; on other file systems it is moved into place."""
        if name in self.names(name.rpartition("/")[0]):
            raise FileExistsError(name)
        if self._fs.type_name in {"s3", "gcs", "abfs"}:
            self.write(name, data)
            return
        folder, _, last = name.rpartition("/")
        temporary = f"{folder}/{_TEMPORARY}{last}"
        self.write(temporary, data)
        self._fs.move(f"{self._root}/{temporary}", f"{self._root}/{name}")

    def names(self, folder: str) -> list[str]:
        """The names in a folder."""
        return sorted(f"{folder}/{name}" for name in self._listed(folder) if not name.startswith(_TEMPORARY))

    def delete(self, name: str) -> None:
        """Delete a file."""
        try:
            self._fs.delete_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return

    def path(self, name: str) -> str:
        """The address as given."""
        return f"{self._address}/{name}"

    def _listed(self, folder: str) -> Iterator[str]:
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(f"{self._root}/{folder}", allow_not_found=True)
        return (info.base_name for info in self._fs.get_file_info(selector) if info.type == FileType.File)


def _arrow_files(address: str) -> ArrowFiles:
    import pyarrow as pa
    from pyarrow.fs import FileSystem

    try:
        file_system, root = FileSystem.from_uri(address)
    except (pa.ArrowInvalid, OSError, NotImplementedError) as error:
        raise CheckpointError(
            f"cannot use {address!r} as a checkpoint: {error}",
            code="checkpoint.address",
            hint="give a directory that the driver and all executors see under the same name",
        ) from None
    return ArrowFiles(file_system, root, address)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, which makes the name durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
