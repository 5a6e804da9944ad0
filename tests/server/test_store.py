"""The store: what is written is there, whole and in order; what is damaged, missing or foreign is refused by name.

Does not detect: faults of a real disk (tests/faults/test_disk.py).
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from failing_disk import FAULTS, FailingDisk
from legacy_store import write_legacy_store
from whorl.server.store.frames import Encoder, Type, read_file_head
from whorl.server.store.mark import Mark, create_mark
from whorl.server.store.store import LossError, NotWrittenError, OutcomeUnknownError, Record, Store, StoreError

STREAM = "http://ex/s"


def records(first: int, last: int, body: bytes = b"body") -> list[Record]:
    return [Record(number, "push", b'{"n":%d}' % number, body, STREAM, number * 10) for number in range(first, last)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A data directory that is not there yet."""
    return tmp_path / "data"


def log_of(path: Path) -> Path:
    (found,) = (path / "store").glob("log-*")
    return found


def contents(path: Path, **options: bool) -> list[Record]:
    store = Store(path, **options)
    try:
        return list(store.records(after=0))
    finally:
        store.close()


def filled(path: Path, last: int = 10) -> Path:
    """A store with records in single commits, closed."""
    store = Store(path)
    for number in range(1, last):
        store.append(records(number, number + 1))
    store.close()
    return path


def test_records_come_back_whole_and_in_order(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 100))
    store.append(records(100, 201))
    store.close()
    again = Store(path)
    assert list(again.records(after=0)) == records(1, 201)
    assert list(again.records(after=190)) == records(191, 201)
    assert again.offset == 200


def test_a_body_that_is_spent_twice_does_not_fail_a_commit_that_is_on_the_disk(path: Path) -> None:
    store = Store(path)
    store.stage("one", STREAM, "nquads", b"body", 0)
    store.append(records(1, 2), ["one", "one", "unknown"])
    assert store.staged_sizes(["one"], STREAM) == [None]
    store.append(records(2, 3), ["one"])
    store.close()
    assert contents(path) == records(1, 3)


def test_a_snapshot_for_which_no_handle_is_left_fails_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new log was opened after the mark had turned to it: the commit before was refused, but on the disk."""
    store = Store(path)
    store.append(records(1, 5))
    before = log_of(path)
    real = os.open

    def without_handles(name: str | Path, flags: int, mode: int = 0o777) -> int:
        if "/log-" in str(name) and not flags & os.O_CREAT:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(name, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", without_handles)
        with pytest.raises(NotWrittenError, match="Too many open files"):
            store.write_snapshot(4, b"state", {})
    store.append(records(5, 7))
    store.close()
    assert before.exists()
    assert contents(path) == records(1, 7)


def test_a_hole_in_the_numbers_is_refused_when_it_is_written(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 3))
    with pytest.raises(ValueError, match="must continue record 2"):
        store.append(records(4, 6))
    assert list(store.records(after=0)) == records(1, 3)


def test_a_snapshot_takes_the_place_of_the_log(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 10))
    data = bytes(range(256)) * 100_000
    store.write_snapshot(9, data, {})
    assert store.log_bytes == 0
    store.append(records(10, 12))
    for _ in range(2):
        assert store.snapshot() == (9, data)
        assert list(store.records(after=9)) == records(10, 12)
        store.close()
        store = Store(path)
    assert store.log_bytes == sum(len(r.members) + len(r.body) for r in records(10, 12))
    assert sorted(file.name for file in (path / "store").iterdir()) == ["log-0000000002", "snapshot-0000000000000009"]


def test_retained_streams_keep_their_records_behind_a_snapshot(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 10))
    store.write_snapshot(9, b"state", {STREAM: 50})
    encoder = Encoder(0, 0)
    (kept,) = (path / "store").glob("retained-*")
    assert kept.read_bytes() == encoder.commit([(Type.RECORD, record) for record in records(5, 10)])
    store.append(records(10, 11))
    store.write_snapshot(10, b"state", {STREAM: 90})
    assert len(list((path / "store").glob("retained-*"))) == 2
    store.append(records(11, 12))
    store.write_snapshot(11, b"state", {STREAM: 1000})
    assert list((path / "store").glob("retained-*")) == []


def test_a_staged_body_waits_until_it_is_spent_or_expires(path: Path) -> None:
    store = Store(path)
    store.stage("a", STREAM, "arrow", b"1", 1000)
    store.stage("b", STREAM, "arrow", b"2", 2000)
    store.stage("../c", STREAM, "arrow", b"3", 3000)
    assert store.staged("a", STREAM) == ("arrow", b"1")
    assert store.staged("a", "http://ex/other") is None
    store.append(records(1, 2), ["b"])
    store.expire_stages(before=2500)
    # It outlives a snapshot and a restart.
    store.write_snapshot(1, b"state", {})
    store.close()
    store = Store(path)
    assert [store.staged(token, STREAM) for token in ("a", "b", "../c")] == [None, None, ("arrow", b"3")]
    assert store.staged_bytes() == 1
    assert len(list((path / "store").glob("stage-*"))) == 1


# ---- whose it is ----


def test_only_the_owner_reads_anything(path: Path) -> None:
    old_mask = os.umask(0)
    try:
        store = Store(path)
        store.append(records(1, 3))
        store.stage("a", STREAM, "arrow", b"1", 1000)
        store.write_snapshot(2, b"state", {})
    finally:
        os.umask(old_mask)
    for found in [path, *path.rglob("*")]:
        assert stat.S_IMODE(found.stat().st_mode) == (0o700 if found.is_dir() else 0o600), found


def test_a_directory_that_others_could_read_is_closed_to_them(path: Path) -> None:
    filled(path)
    path.chmod(0o755)
    (path / "store").chmod(0o755)
    log_of(path).chmod(0o644)
    Store(path).close()
    assert [stat.S_IMODE(found.stat().st_mode) for found in (path, path / "store", log_of(path))] == [
        0o700,
        0o700,
        0o600,
    ]


def test_two_servers_cannot_share_a_store(path: Path) -> None:
    store = Store(path)
    with pytest.raises(StoreError, match="is another server using it"):
        Store(path)
    store.close()
    Store(path).close()


# ---- writes that fail ----


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FailingDisk:
    return FailingDisk().install(monkeypatch)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_batch_whose_write_fails_leaves_nothing_of_itself(path: Path, disk: FailingDisk, fault: str) -> None:
    store = Store(path)
    store.append(records(1, 3))
    setattr(disk, fault, 1)
    with pytest.raises(NotWrittenError, match="nothing was applied"):
        store.append(records(3, 5, b"refused"))
    assert contents(copied(path)) == records(1, 3)
    store.append(records(3, 6))
    store.close()
    assert contents(path) == records(1, 6)


def copied(path: Path) -> Path:
    """The files as they are now, as a process that was killed would leave them."""
    other = path.with_name("copy")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(path, other)
    return other


def test_a_write_that_cannot_be_undone_is_told_and_nothing_is_written_again(path: Path, disk: FailingDisk) -> None:
    store = Store(path)
    store.append(records(1, 3))
    disk.mark_syncs = 2
    with pytest.raises(OutcomeUnknownError, match="could not be undone"):
        store.append(records(3, 5))
    with pytest.raises(NotWrittenError, match="failed before"):
        store.append(records(3, 5))
    store.close()
    assert contents(path) in (records(1, 3), records(1, 5))


def test_a_snapshot_that_fails_leaves_the_log(path: Path, disk: FailingDisk) -> None:
    store = Store(path)
    store.append(records(1, 3))
    disk.mark_syncs = 1
    with pytest.raises(NotWrittenError):
        store.write_snapshot(2, b"state", {})
    store.append(records(3, 4))
    store.write_snapshot(3, b"later", {})
    store.append(records(4, 5))
    store.close()
    again = Store(path)
    assert again.snapshot() == (3, b"later")
    assert list(again.records(after=3)) == records(4, 5)


# ---- what a crash leaves ----


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"WRec torn", b"x"])
def test_a_torn_tail_that_was_not_acknowledged_is_cut_off(path: Path, tail: bytes) -> None:
    filled(path)
    with log_of(path).open("ab") as log:
        log.write(tail)
    assert contents(path) == records(1, 10)


def test_a_whole_record_behind_the_mark_counts(path: Path) -> None:
    """A commit that was cut short before its mark; or a mark that is older than the log it came with."""
    store = Store(path)
    store.append(records(1, 3))
    before = (path / "acknowledged").read_bytes()
    store.append(records(3, 5))
    store.close()
    (path / "acknowledged").write_bytes(before)
    assert contents(path) == records(1, 5)
    # From now on it is acknowledged.
    log_of(path).write_bytes(log_of(path).read_bytes()[:-1])
    with pytest.raises(LossError, match="record 4 would be lost"):
        Store(path)


def test_a_torn_batch_behind_the_mark_does_not_count_by_half(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 3))
    before = (path / "acknowledged").read_bytes()
    store.append(records(3, 6))
    store.close()
    (path / "acknowledged").write_bytes(before)
    log_of(path).write_bytes(log_of(path).read_bytes()[:-1])
    assert contents(path) == records(1, 3)


@pytest.mark.parametrize("slot", [0, 1])
def test_a_mark_of_which_one_half_is_torn_loses_nothing(path: Path, slot: int) -> None:
    filled(path)
    mark = bytearray((path / "acknowledged").read_bytes())
    mark[slot * 4096 + 60 : slot * 4096 + 4096] = bytes(4036)
    (path / "acknowledged").write_bytes(mark)
    assert contents(path) == records(1, 10)
    assert contents(path) == records(1, 10)


@pytest.mark.parametrize("slot", [0, 1])
def test_the_mark_of_a_young_store_may_be_torn_too(path: Path, slot: int) -> None:
    """One slot is then from before the first log."""
    filled(path, 2)
    mark = bytearray((path / "acknowledged").read_bytes())
    mark[slot * 4096] ^= 1
    (path / "acknowledged").write_bytes(mark)
    assert contents(path) == records(1, 2)


def test_a_mark_from_before_the_first_log_does_not_make_a_new_one(path: Path) -> None:
    filled(path, 2)
    first = Mark(read_file_head(os.open(log_of(path), os.O_RDONLY))[0].store_id)
    store = Store(path)
    store.write_snapshot(1, b"state", {})
    store.close()
    create_mark(path / "acknowledged", first)
    with pytest.raises(LossError, match="is missing"):
        Store(path)


@pytest.mark.parametrize("slot", [0, 1, None])
def test_a_store_that_was_not_closed_leaves_room_and_nothing_else(path: Path, slot: int | None) -> None:
    store = Store(path)
    for number in range(1, 10):
        store.append(records(number, number + 1))
    other = copied(path)
    store.close()
    assert log_of(other).stat().st_size > log_of(path).stat().st_size
    if slot is not None:
        flip(other / "acknowledged", slot * 4096)
    assert contents(other) == records(1, 10)
    assert contents(other) == records(1, 10)


def test_half_a_mark_and_a_torn_tail_cannot_be_told_from_a_loss(path: Path) -> None:
    filled(path)
    mark = bytearray((path / "acknowledged").read_bytes())
    # The newer of the two; the log then ends one record after the older one, and that record is torn.
    newest = max((0, 4096), key=lambda at: mark[at + 28])
    mark[newest] ^= 1
    (path / "acknowledged").write_bytes(mark)
    log_of(path).write_bytes(log_of(path).read_bytes()[:-1])
    with pytest.raises(LossError, match="both damaged"):
        Store(path)
    assert contents(path, accept_loss=True) == records(1, 9)


def test_a_start_that_was_cut_short_begins_again(path: Path) -> None:
    path.mkdir()
    create_mark(path / "acknowledged", Mark(bytes(16)))
    Store(path).close()
    create_mark(path / "acknowledged", Mark(bytes(16)))
    log_of(path).write_bytes(log_of(path).read_bytes()[:10])
    Store(path).close()
    assert contents(path) == []


def test_a_directory_without_a_mark_is_no_new_store(path: Path) -> None:
    filled(path)
    log_of(path).unlink()
    (path / "acknowledged").unlink()
    with pytest.raises(LossError, match="is missing; no log is readable"):
        Store(path)


# ---- damage ----

Harm = Callable[[Path], object]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


HARMS: dict[str, Harm] = {
    "a flipped bit": lambda path: flip(log_of(path), log_of(path).stat().st_size // 2),
    "a flipped bit in the last record": lambda path: flip(log_of(path), -1),
    "a header flipped": lambda path: flip(log_of(path), 3),
    "one byte less": lambda path: log_of(path).write_bytes(log_of(path).read_bytes()[:-1]),
    "an empty log": lambda path: log_of(path).write_bytes(b""),
    "no log": lambda path: log_of(path).unlink(),
    "no store": lambda path: shutil.rmtree(path / "store"),
    "no mark": lambda path: (path / "acknowledged").unlink(),
    "an empty mark": lambda path: (path / "acknowledged").write_bytes(b""),
    "a mark of zeros": lambda path: (path / "acknowledged").write_bytes(bytes(8192)),
    "no staged body": lambda path: next((path / "store").glob("stage-*")).unlink(),
    "a damaged staged body": lambda path: flip(next((path / "store").glob("stage-*")), 0),
}
SNAPSHOT_HARMS: dict[str, Harm] = {
    "no snapshot": lambda path: next((path / "store").glob("snapshot-*")).unlink(),
    "a flipped snapshot": lambda path: flip(next((path / "store").glob("snapshot-*")), -1),
    "a short snapshot": lambda path: next((path / "store").glob("snapshot-*")).write_bytes(b"x"),
}


def harmed_store(path: Path, *, with_snapshot: bool) -> None:
    store = Store(path)
    store.append(records(1, 5))
    store.stage("a", STREAM, "arrow", b"body", 1000)
    if with_snapshot:
        store.write_snapshot(4, b"state" * 100, {})
    for number in range(5, 20):
        store.append(records(number, number + 1))
    store.close()


@pytest.mark.parametrize("harm", [*HARMS, *SNAPSHOT_HARMS])
@pytest.mark.parametrize("with_snapshot", [True, False])
def test_what_was_acknowledged_and_is_not_there_is_a_loss_that_is_named(
    path: Path, harm: str, with_snapshot: bool
) -> None:
    if harm in SNAPSHOT_HARMS and not with_snapshot:
        return
    harmed_store(path, with_snapshot=with_snapshot)
    {**HARMS, **SNAPSHOT_HARMS}[harm](path)
    left = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for _ in range(2):
        with pytest.raises(LossError, match="--accept-loss") as caught:
            Store(path)
        assert str(path) in str(caught.value)
    # A refusal changes nothing.
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == left
    store = Store(path, accept_loss=True)
    kept = list(store.records(after=0))
    first = 5 if with_snapshot and store.snapshot() else 1
    assert kept == records(first, first + len(kept))
    kept_aside = [file for file in (path / "store.damaged-1").iterdir() if file.name != "acknowledged"]
    assert {file.read_bytes() for file in kept_aside} == {data for file, data in left.items() if "store" in file.parts}
    # It goes on from there, and the next start finds nothing wrong.
    store.append(records(store.offset + 1, store.offset + 3))
    last = store.offset
    store.close()
    again = Store(path)
    assert again.offset == last
    again.close()


def test_a_loss_names_the_file_the_last_good_record_and_what_would_be_lost(path: Path) -> None:
    filled(path, 20)
    log = log_of(path)
    flip(log, log.stat().st_size * 9 // 19)
    with pytest.raises(LossError) as caught:
        Store(path)
    said = str(caught.value)
    assert said.startswith(f"{log}: is damaged")
    assert "the last intact record is 8 of 19 acknowledged" in said
    assert "records 9 to 19 would be lost" in said


def test_files_of_another_store_are_not_taken_for_ours(path: Path, tmp_path: Path) -> None:
    filled(path, 20)
    other = filled(tmp_path / "other", 20)
    shutil.rmtree(path / "store")
    shutil.copytree(other / "store", path / "store")
    with pytest.raises(LossError, match="belongs to another store"):
        Store(path)


def test_an_older_copy_of_the_log_is_a_loss(path: Path) -> None:
    filled(path)
    older = log_of(path).read_bytes()
    store = Store(path)
    store.append(records(10, 20))
    store.close()
    log_of(path).write_bytes(older)
    with pytest.raises(LossError, match="records 10 to 19 would be lost"):
        Store(path)


def test_every_flipped_byte_is_repaired_or_refused(path: Path, tmp_path: Path) -> None:
    store = Store(path)
    store.append(records(1, 3))
    store.write_snapshot(2, b"state" * 20, {})
    store.append(records(3, 7, b"some body " * 4))
    store.close()
    other = tmp_path / "damaged"
    for name in ["acknowledged", *(f"store/{file.name}" for file in (path / "store").iterdir())]:
        good = (path / name).read_bytes()
        for at in range(0, len(good), 1 if len(good) < 4096 else 37):
            shutil.copytree(path, other)
            (other / name).write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
            try:
                assert contents(other) == records(3, 7, b"some body " * 4), (name, at)
            except StoreError as error:
                assert str(other) in str(error)  # noqa: PT017 - refusing is one of two right outcomes
                assert name != "acknowledged", at
            shutil.rmtree(other)


# ---- format 1 ----


def test_a_store_of_format_1_is_upgraded(path: Path) -> None:
    write_legacy_store(path, records(6, 10), (5, b"old state"))
    store = Store(path)
    assert store.snapshot() == (5, b"old state")
    assert list(store.records(after=5)) == records(6, 10)
    assert store.staged("a", STREAM) == ("arrow", b"1")
    store.append(records(10, 12))
    store.close()
    assert contents(path) == records(6, 12)
    assert not (path / "whorl.sqlite3").exists()
    assert (path / "whorl.sqlite3.upgraded").exists()
    # From now on a missing mark is a loss, and no reason to go back to the old file.
    (path / "acknowledged").unlink()
    with pytest.raises(LossError, match="is missing"):
        Store(path)


def test_an_upgrade_that_was_cut_short_begins_again(path: Path) -> None:
    write_legacy_store(path, records(1, 10))
    kept = (path / "whorl.sqlite3").read_bytes()
    Store(path).close()
    (path / "acknowledged").unlink()
    (path / "whorl.sqlite3.upgraded").unlink()
    (path / "whorl.sqlite3").write_bytes(kept)
    assert contents(path) == records(1, 10)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE log SET body = x'00' WHERE offset = 4", "record 4 of the log is damaged"),
        ("DELETE FROM log WHERE offset = 4", "record 4 of the log is damaged"),
        ("PRAGMA user_version = 7", "has format version 7"),
        ("PRAGMA application_id = 7", "is not a Whorl store"),
        ("UPDATE stage SET body = x'00'", "staged body a is damaged"),
    ],
)
def test_a_damaged_store_of_format_1_is_refused_and_left_alone(path: Path, statement: str, said: str) -> None:
    write_legacy_store(path, records(1, 10))
    with sqlite3.connect(path / "whorl.sqlite3") as db:
        db.execute(statement)
    db.close()
    before = (path / "whorl.sqlite3").read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=said):
            Store(path)
    assert (path / "whorl.sqlite3").read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"no database at all, but a long enough file " * 100])
def test_a_file_that_is_no_database_is_refused(path: Path, data: bytes) -> None:
    path.mkdir()
    (path / "whorl.sqlite3").write_bytes(data)
    with pytest.raises(StoreError, match=r"whorl\.sqlite3: is (damaged|empty)"):
        Store(path)
