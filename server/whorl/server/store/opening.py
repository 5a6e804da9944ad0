"""Opening a store: create, upgrade, repair or refuse it, or recover what is left if the operator accepts the loss.

    data directory   lock | acknowledged (the mark) | store/ (log-…, snapshot-…, stage-…, retained-…)

The mark decides which files count, so each of these changes takes effect atomically when the mark is written. A start
that finds less than the mark promises changes nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import uuid
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.server.store.contents import (
    Contents,
    Stage,
    encoded_snapshot_head,
    examine,
    log_name,
    presumed_mark,
    snapshot_name,
)
from whorl.server.store.faults import LossError, StoreError
from whorl.server.store.files import (
    create,
    make_private,
    make_private_directory,
    opened,
    sync,
    sync_directory,
    write_at,
    write_new,
)
from whorl.server.store.frames import FILE_HEAD_BYTES, Encoder, FileHead, Record, Type, read_file_head, read_frames
from whorl.server.store.legacy import FILE_NAME as LEGACY_NAME
from whorl.server.store.legacy import LegacyStore, legacy_store
from whorl.server.store.mark import Mark, MarkFile, create_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MARK_NAME = "acknowledged"
DIRECTORY_NAME = "store"
LOCK_NAME = "lock"
UPGRADED_SUFFIX = ".upgraded"
_WRITE_BYTES = 1 << 20
_HINT = (
    "restore a backup, or start once with --accept-loss (WHORL_ACCEPT_LOSS=true) to continue without it; "
    "the files as they are now are then kept beside the store"
)

_log = logging.getLogger("whorl.store")


def has_store(data_dir: Path) -> bool:
    """Whether a directory has a store, or the remains of one."""
    names = (MARK_NAME, DIRECTORY_NAME, LEGACY_NAME)
    return any((data_dir / name).exists() for name in names)


def lock(data_dir: Path) -> int:
    """Lock the directory for this process: two servers would lose each other's events."""
    if has_store(data_dir):
        make_private(data_dir)
    make_private_directory(data_dir)
    path = data_dir / LOCK_NAME
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise StoreError(f"{data_dir}: cannot be locked ({error.strerror}); is another server using it?") from error
    return handle


def open_files(data_dir: Path, *, accept_loss: bool) -> tuple[MarkFile, Mark, Contents]:
    """The mark and the contents of the store: exactly what was acknowledged."""
    directory, path = data_dir / DIRECTORY_NAME, data_dir / MARK_NAME
    has_mark = path.exists()
    if not has_mark:
        _begin(data_dir, accept_loss=accept_loss)
    _put_legacy_aside(data_dir)
    # An earlier start may have created a name and failed to sync it: nothing may be acknowledged under such a name.
    sync_directory(data_dir)
    make_private_directory(directory)
    make_private(directory)
    sync_directory(directory)
    with contextlib.closing(MarkFile(path)) as found:
        is_readable = found.mark is not None
    if not is_readable:
        _replace_mark(data_dir, "is damaged", accept_loss=accept_loss)
    try:
        opened_files = _checked(data_dir)
    except _FaultyError as found:
        if not accept_loss:
            raise
        _log.warning("loss accepted: %s", found)
        create_mark(path, _salvaged(data_dir, found.mark, found.contents))
        return _checked(data_dir)
    if accept_loss and has_mark and is_readable:
        _log.warning("accept_loss is set, but nothing is lost: unset it, so that the next loss is reported")
    return opened_files


class _FaultyError(LossError):
    """The files hold less than the mark promises."""

    def __init__(self, mark: Mark, contents: Contents) -> None:
        super().__init__(f"{_loss_text(contents, mark)}; {_HINT}")
        self.mark = mark
        self.contents = contents


def _checked(data_dir: Path) -> tuple[MarkFile, Mark, Contents]:
    directory = data_dir / DIRECTORY_NAME
    marks = MarkFile(data_dir / MARK_NAME)
    with contextlib.ExitStack() as stack:
        stack.callback(marks.close)
        mark = _known(marks)
        if mark.length == 0 and _is_unused(directory, mark, is_whole=marks.is_whole):
            mark = marks.write(_with_first_log(directory, mark))
        contents = examine(directory, mark, is_whole=marks.is_whole)
        if contents.faults:
            raise _FaultyError(mark, contents)
        mark = _repaired(directory, marks, mark, contents)
        # The file stays open unless there was an exception.
        stack.pop_all()
    return marks, mark, contents


def _known(marks: MarkFile) -> Mark:
    if marks.mark is None:
        raise StoreError("the mark cannot be read back after it was written; is the disk broken?")
    return marks.mark


def _repaired(directory: Path, marks: MarkFile, mark: Mark, contents: Contents) -> Mark:
    """Cut off a torn end, and move the mark to the end of the log."""
    if contents.tail_bytes:
        _log.warning(
            "dropped %d torn bytes after record %d; they were never acknowledged", contents.tail_bytes, contents.offset
        )
    if contents.tail_bytes or contents.length != mark.length:
        with opened(directory / log_name(mark.segment), os.O_RDWR) as handle:
            os.ftruncate(handle, contents.length)
            # Frames that a killed process wrote may be in the page cache only.
            sync(handle)
    if not marks.is_whole or contents.length != mark.length:
        mark = marks.write(mark.ending(contents.length, contents.number, contents.checksum, contents.offset))
    _remove_leftovers(directory, mark, contents)
    return mark


def _remove_leftovers(directory: Path, mark: Mark, contents: Contents) -> None:
    """Remove the leftovers of a crash: files that the mark does not name."""
    named = {log_name(mark.segment), snapshot_name(mark.snapshot_offset)}
    named |= {stage.file_name for stage in contents.stages.values()}
    named |= {one.file_name for one in contents.retained}
    for path in directory.iterdir():
        if path.name not in named:
            path.unlink()
        else:
            make_private(path)


# ---- a store that is not there yet ----


def _begin(data_dir: Path, *, accept_loss: bool) -> None:
    """Create a store, or upgrade one of format 1; files without a mark are a loss."""
    directory = data_dir / DIRECTORY_NAME
    if (data_dir / LEGACY_NAME).exists():
        _upgrade(data_dir)
    elif directory.exists():
        _replace_mark(data_dir, "is missing", accept_loss=accept_loss)
    else:
        # The mark is written first, so that files without a mark never belong to a store under construction.
        create_mark(data_dir / MARK_NAME, Mark(uuid.uuid4().bytes))


def _is_unused(directory: Path, mark: Mark, *, is_whole: bool) -> bool:
    """Whether nothing was ever written: no file, or a first log that ends inside its header."""
    sizes = {path.name: path.stat().st_size for path in directory.iterdir()}
    return is_whole and sizes.pop(log_name(mark.segment), 0) <= FILE_HEAD_BYTES and not sizes


def _with_first_log(directory: Path, mark: Mark) -> Mark:
    path = directory / log_name(mark.segment)
    path.unlink(missing_ok=True)
    return write_log(directory, FileHead(mark.segment, 1, 0, mark.store_id), (), mark)


def write_log(directory: Path, head: FileHead, frames: Iterable[tuple[Type, Record | object]], mark: Mark) -> Mark:
    """Create a log file, synced; returns its mark, not yet written."""
    path = directory / log_name(head.segment)
    handle = create(path)
    try:
        length, encoder = _write_frames(handle, head, frames)
        sync(handle)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    sync_directory(directory)
    ending = mark.ending(length, encoder.number, encoder.checksum, mark.offset)
    return replace(ending, segment=head.segment, snapshot_offset=head.snapshot_offset)


def _write_frames(handle: int, head: FileHead, frames: Iterable[tuple[Type, Record | object]]) -> tuple[int, Encoder]:
    held = bytearray(head.encoded())
    encoder = Encoder(head.first_number - 1, int.from_bytes(held[-4:], "little"))
    length = 0
    for kind, content in frames:
        held += encoder.commit([(kind, content)])
        if len(held) >= _WRITE_BYTES:
            write_at(handle, bytes(held), length)
            length += len(held)
            held.clear()
    write_at(handle, bytes(held), length)
    return length + len(held), encoder


# ---- format 1 ----


def _upgrade(data_dir: Path) -> None:
    """Convert a store of format 1. The old file stays under another name."""
    directory = data_dir / DIRECTORY_NAME
    shutil.rmtree(directory, ignore_errors=True)
    make_private_directory(directory)
    with legacy_store(data_dir / LEGACY_NAME) as legacy:
        mark = _upgraded(directory, legacy)
    create_mark(data_dir / MARK_NAME, mark)
    _log.warning("%s: upgraded to format 2, %d records", data_dir / LEGACY_NAME, mark.offset)


def _upgraded(directory: Path, legacy: LegacyStore) -> Mark:
    mark = Mark(uuid.uuid4().bytes)
    found = legacy.snapshot()
    if found is not None:
        head, digest = encoded_snapshot_head(mark.store_id, *found)
        write_new(directory / snapshot_name(found[0]), head, found[1])
        mark = replace(mark, snapshot_offset=found[0], snapshot_digest=digest, offset=found[0])
    last = [mark.offset]
    log_head = FileHead(1, 1, mark.snapshot_offset, mark.store_id)
    mark = write_log(directory, log_head, _legacy_frames(directory, legacy, last), mark)
    return replace(mark, offset=last[0])


def _legacy_frames(directory: Path, legacy: LegacyStore, last: list[int]) -> Iterator[tuple[Type, Record | object]]:
    for token, stream, form, body, staged_at in legacy.stages():
        yield Type.STAGE, write_stage(directory, token, stream, form, body, staged_at)
    for record in legacy.records(last[0]):
        last[0] = record.offset
        yield Type.RECORD, record


def write_stage(directory: Path, token: str, stream: str, form: str, body: bytes, staged_at: int) -> Stage:
    """Write a body to a file of its own, synced; it counts once the log names it."""
    stage = Stage(token, stream, form, len(body), zlib.crc32(body), staged_at)
    write_new(directory / stage.file_name, body)
    sync_directory(directory)
    return stage


def _put_legacy_aside(data_dir: Path) -> None:
    path = data_dir / LEGACY_NAME
    if path.exists():
        path.replace(path.with_name(path.name + UPGRADED_SUFFIX))
        sync_directory(data_dir)


# ---- loss ----


def _replace_mark(data_dir: Path, reason: str, *, accept_loss: bool) -> None:
    """Infer a missing or damaged mark from the files, if the operator accepts the possible loss."""
    path, directory = data_dir / MARK_NAME, data_dir / DIRECTORY_NAME
    presumed = presumed_mark(directory) if directory.is_dir() else None
    known = "no log is readable" if presumed is None else f"the last intact record is {presumed.offset}"
    text = f"{path}: {reason}; {known}, and it is unknown how much of the log was acknowledged"
    if not accept_loss:
        raise LossError(f"{text}: later records would be lost; {_HINT}")
    _log.warning("loss accepted: %s", text)
    _keep_aside(data_dir)
    create_mark(path, presumed or Mark(uuid.uuid4().bytes))


def _loss_text(contents: Contents, mark: Mark) -> str:
    first = contents.faults[0]
    good = _last_good(contents)
    after = f"record {mark.offset}" if good + 1 == mark.offset else f"records {good + 1} to {mark.offset}"
    lost = [] if good >= mark.offset else [f"{after} would be lost"]
    lost += [f"lost with it: {fault.lost}" for fault in contents.faults if fault.lost]
    further = [f"{fault.path.name} {fault.reason}" for fault in contents.faults[1:]]
    words = [
        f"{first.path}: {first.reason}",
        *further,
        f"the last intact record is {good} of {mark.offset} acknowledged",
    ]
    return "; ".join([*words, *lost])


def _last_good(contents: Contents) -> int:
    return 0 if contents.needs_snapshot and contents.snapshot is None else contents.offset


def _salvaged(data_dir: Path, mark: Mark, contents: Contents) -> Mark:
    """Create a log with the intact records; returns its mark, which makes it replace the old one."""
    _keep_aside(data_dir)
    directory = data_dir / DIRECTORY_NAME
    if contents.needs_snapshot and contents.snapshot is None:
        mark, contents = (
            Mark(mark.store_id, segment=mark.segment),
            Contents(FileHead(mark.segment, 1, 0, mark.store_id)),
        )
    head = FileHead(_free_segment(directory), contents.head.first_number or 1, mark.snapshot_offset, mark.store_id)
    salvaged = write_log(directory, head, _good_frames(directory, contents), mark)
    return replace(salvaged, offset=_last_good(contents))


def _good_frames(directory: Path, contents: Contents) -> Iterator[tuple[Type, Record | object]]:
    if contents.retained:
        yield Type.RETAINED, contents.retained
    for stage in contents.stages.values():
        yield Type.STAGE, stage
    if contents.length == 0:
        return
    with opened(directory / log_name(contents.head.segment)) as handle:
        head, checksum = read_file_head(handle)
        for frame in read_frames(handle, head.first_number, checksum, contents.length):
            if frame.type is Type.RECORD:
                yield Type.RECORD, frame.record


def _free_segment(directory: Path) -> int:
    return 1 + max((int(path.name[4:]) for path in directory.glob("log-*") if path.name[4:].isdigit()), default=0)


def _keep_aside(data_dir: Path) -> None:
    """Copy the damaged files aside, in case more can be recovered from them."""
    number = 1
    while (aside := data_dir / f"{DIRECTORY_NAME}.damaged-{number}").exists():
        number += 1
    aside.mkdir(mode=0o700)
    paths = list((data_dir / DIRECTORY_NAME).iterdir()) if (data_dir / DIRECTORY_NAME).is_dir() else []
    for path in paths:
        write_new(aside / path.name, path.read_bytes())
    if (data_dir / MARK_NAME).exists():
        write_new(aside / MARK_NAME, (data_dir / MARK_NAME).read_bytes())
    sync_directory(aside)
    _log.warning("copies of the damaged files are in %s", aside)
