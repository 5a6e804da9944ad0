"""The store: what is written is there, whole and in order; what is damaged or foreign is refused by name.

Cannot see: a disk that loses what it said it had synced.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from whorl.server.store.store import FORMAT_VERSION, Record, Store, StoreError


def records(first: int, last: int, body: bytes = b"body") -> list[Record]:
    return [
        Record(number, "push", b'{"n":%d}' % number, body, "http://ex/s", number * 10) for number in range(first, last)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "whorl.sqlite3"


def test_records_come_back_whole_and_in_order(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 100))
    store.append(records(100, 201))
    store.close()
    again = Store(path)
    assert list(again.records(after=0)) == records(1, 201)
    assert list(again.records(after=190)) == records(191, 201)


def test_a_batch_that_fails_leaves_nothing_of_itself(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 3))
    with pytest.raises(StoreError, match="cannot be written"):
        store.append(records(3, 5) + records(4, 6))
    assert list(store.records(after=0)) == records(1, 3)


def test_a_snapshot_takes_the_place_of_the_log(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 10))
    data = bytes(range(256)) * 100_000
    store.write_snapshot(9, data, {})
    store.append(records(10, 12))
    assert store.snapshot() == (9, data)
    assert list(store.records(after=9)) == records(10, 12)
    assert store.log_bytes(0) == store.log_bytes(9)


def test_retained_streams_keep_their_records_behind_a_snapshot(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 10))
    store.write_snapshot(9, b"state", {"http://ex/s": 50})
    assert store.log_bytes(0) == sum(len(r.members) + len(r.body) for r in records(5, 10))
    assert list(store.records(after=9)) == []


def test_a_staged_body_waits_until_it_is_spent_or_expires(path: Path) -> None:
    store = Store(path)
    store.stage("a", "http://ex/s", "arrow", b"1", 1000)
    store.stage("b", "http://ex/s", "arrow", b"2", 2000)
    store.stage("c", "http://ex/s", "arrow", b"3", 3000)
    assert store.staged("a", "http://ex/s") == ("arrow", b"1")
    assert store.staged("a", "http://ex/other") is None
    store.append(records(1, 2), ["b"])
    store.expire_stages(before=2500)
    assert [store.staged(token, "http://ex/s") for token in "abc"] == [None, None, ("arrow", b"3")]
    assert store.staged_bytes() == 1


def test_a_file_of_another_version_is_refused(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    db.close()
    with pytest.raises(StoreError, match=rf"whorl\.sqlite3: has format version {FORMAT_VERSION + 1}"):
        Store(path)


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    with pytest.raises(StoreError, match="is not a store of Whorl"):
        Store(path)


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"no database at all, but a long enough file " * 100)
    with pytest.raises(StoreError, match=r"whorl\.sqlite3: is damaged"):
        Store(path)


def test_two_servers_cannot_share_a_store(path: Path) -> None:
    store = Store(path)
    with pytest.raises(StoreError, match="is another server using it"):
        Store(path)
    store.close()
    Store(path).close()


@pytest.mark.parametrize("column", ["members", "body"])
def test_a_damaged_record_is_named_and_nothing_after_it_is_read(path: Path, column: str) -> None:
    store = Store(path)
    store.append(records(1, 6))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE log SET {column} = x'00' WHERE offset = 4")
    db.close()
    read = Store(path).records(after=0)
    assert [next(read).offset for _ in range(3)] == [1, 2, 3]
    with pytest.raises(StoreError, match="record 4 of the log is damaged"):
        next(read)


def test_a_hole_in_the_log_is_named(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 3) + records(4, 6))
    with pytest.raises(StoreError, match="record 3 of the log is damaged"):
        list(store.records(after=0))


def test_a_damaged_snapshot_is_named(path: Path) -> None:
    store = Store(path)
    store.append(records(1, 3))
    store.write_snapshot(2, b"x" * 1000, {})
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE snapshot_part SET data = x'00'")
    db.close()
    with pytest.raises(StoreError, match="the snapshot at 2 is damaged"):
        Store(path).snapshot()


def test_a_file_with_flipped_bytes_is_read_right_or_refused(path: Path, tmp_path: Path) -> None:
    store = Store(path)
    store.append(records(1, 200, b"some body " * 20))
    store.close()
    good = path.read_bytes()
    for at in range(100, len(good), len(good) // 60):
        other = tmp_path / f"damaged-{at}.sqlite3"
        other.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        try:
            read = list(Store(other).records(after=0))
        except StoreError as error:
            assert other.name in str(error)  # noqa: PT017 - refusing is one of two right outcomes
        else:
            assert read == records(1, 200, b"some body " * 20)
