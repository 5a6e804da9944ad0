"""Files of a store as targets of the fuzzer: the log, the acknowledged mark, the entries of a commit, the catalogue.

Changed files are mostly found by their checksums. So that what is behind these is reached too, `entry` writes any bytes
as an entry of the log with the right checksums, `mark` corrects those of its slots, and `catalogue` is what a snapshot
holds beside the engine.
"""

from __future__ import annotations

import functools
import tempfile
import zlib
from pathlib import Path

from whorl.errors import WhorlError
from whorl.server.runtime import commands as c
from whorl.server.runtime.core import Core
from whorl.server.store import mark as mark_file
from whorl.server.store.contents import log_name
from whorl.server.store.frames import Encoder, Record, Type
from whorl.server.store.mark import MarkFile
from whorl.server.store.store import Store, StoreError

_LOG, _MARK = f"store/{log_name(1)}", "acknowledged"
_STREAM = "http://ex.org/s"
# In memory where possible: a store syncs its files.
_SHARED = Path("/dev/shm")  # noqa: S108 - directories in it have names of their own
_DIRECTORY = str(_SHARED) if _SHARED.is_dir() else None


def log(data: bytes) -> None:
    _open({_LOG: data})


def mark(data: bytes) -> None:
    """The two slots with correct checksums and arbitrary content."""
    size = mark_file._SLOT.size
    _open({_MARK: b"".join(_sealed(data[start : start + size].ljust(size, b"\0")) for start in (0, size))})


def _sealed(slot: bytes) -> bytes:
    return (slot + mark_file._CHECKSUM.pack(zlib.crc32(slot))).ljust(mark_file._SLOT_BYTES, b"\0")


def entry(data: bytes) -> None:
    """The first byte is the type of the entry, the rest its content."""
    with tempfile.TemporaryDirectory(dir=_DIRECTORY) as directory:
        root = _written(Path(directory), {})
        marks = MarkFile(root / _MARK)
        marks.close()
        assert marks.mark is not None
        kind = Type(1 + data[0] % len(Type)) if data else Type.RECORD
        frame = (kind, Record(marks.mark.offset + 1, "push", data[1:], b""))
        commit = Encoder(marks.mark.number, marks.mark.checksum).commit([frame])
        with (root / _LOG).open("r+b") as file:
            file.seek(marks.mark.length)
            file.write(commit)
            file.truncate()
        _read(root)


def catalogue(data: bytes) -> None:
    """The part of a snapshot beside the engine: a length and JSON."""
    try:
        Core.restored(data, {})
    except StoreError as refusal:
        raise WhorlError(str(refusal)) from refusal


def made_catalogue() -> bytes:
    core = Core({})
    core.apply(c.DeclareStream(_STREAM, c.StreamOptions()))
    return core.snapshot()


def made_log() -> bytes:
    return _made()[_LOG]


def made_mark() -> bytes:
    """The slots without what fills them up."""
    size, slot_bytes = mark_file._SLOT.size, mark_file._SLOT_BYTES
    return b"".join(_made()[_MARK][start : start + size] for start in (0, slot_bytes))


@functools.cache
def _made() -> dict[str, bytes]:
    """The files of a store with some commits."""
    with tempfile.TemporaryDirectory(dir=_DIRECTORY) as directory:
        root = Path(directory)
        store = Store(root)
        for offset in range(1, 4):
            store.append([Record(offset, "push", b'{"t": 1}', b"<urn:a> <urn:p> 1 .", _STREAM, 5)])
        length = store._mark.length
        store.close()
        files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        return {**files, _LOG: files[_LOG][:length]}


def _written(root: Path, changed: dict[str, bytes]) -> Path:
    for name, data in {**_made(), **changed}.items():
        (root / name).parent.mkdir(exist_ok=True, mode=0o700)
        (root / name).write_bytes(data)
    return root


def _open(changed: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory(dir=_DIRECTORY) as directory:
        _read(_written(Path(directory), changed))


def _read(root: Path) -> None:
    """Opened, and refused by a word of its own or read to its end: all that was acknowledged must be there."""
    try:
        store = Store(root)
    except StoreError as refusal:
        raise WhorlError(str(refusal).replace(str(root), "")) from refusal
    try:
        assert len(list(store.records(0))) == store.offset >= len(range(1, 4))
    finally:
        store.close()
