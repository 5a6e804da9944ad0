"""A backup, made of a server under load or of one that is stopped, becomes a server with the same state."""

from __future__ import annotations

import io
import queue
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from legacy_store import write_legacy_store
from server_process import ServerProcess
from whorl.server.store.backup import back_up, check, restore
from whorl.server.store.store import Record, StoreError

STREAM = "/streams/http://ex.org/s"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?room (COUNT(?t) AS ?n) FROM NAMED WINDOW :w ON <http://ex.org/s> [RANGE 1s STEP 1s]
WHERE { WINDOW :w { ?room :t ?t } } GROUP BY ?room"""
TURTLE = {"Content-Type": "text/turtle"}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    started: list[ServerProcess] = []

    def begin(name: str, **settings: Any) -> ServerProcess:
        server = ServerProcess(tmp_path / name, settings)
        started.append(server)
        return server.start()

    yield begin
    for server in started:
        server.kill()


def fill(client: httpx.Client) -> None:
    assert client.put(STREAM).status_code == 201
    assert (
        client.put("/queries/rooms", content=QUERY, headers={"Content-Type": "application/rsp-ql"}).status_code == 201
    )
    graph = client.put("/graphs?graph=http://ex.org/g", content="<a:a> <a:b> <a:c> .", headers=TURTLE)
    assert graph.status_code == 201
    push(client, range(0, 5000, 250))


def push(client: httpx.Client, times: range) -> None:
    for t in times:
        body = f"<http://ex.org/room{t % 3}> <http://ex.org/t> {t} ."
        assert client.post(STREAM, params={"t": t}, content=body, headers=TURTLE).status_code == 202


def state(client: httpx.Client) -> dict[str, Any]:
    """The visible state."""
    stream = client.get(STREAM).json()
    stream.pop("rate")
    polled = client.get("/queries/rooms/results", params={"from": "earliest"}).json()
    return {
        "stream": stream,
        "query": {name: client.get("/queries/rooms").json()[name] for name in ("body", "status", "incarnation")},
        "results": [(one["seq"], one["token"], one["results"]) for one in polled["results"]],
        "graph": client.get("/graphs?graph=http://ex.org/g", headers={"Accept": "application/n-triples"}).text,
        "tokens": client.get("/tokens").json(),
    }


def test_a_backup_of_a_running_server_has_its_state(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    first = start("first")
    with first.client() as client:
        fill(client)
        made = client.post("/tokens", json={"name": "reader", "scopes": ["subscribe"]}).json()["token"]
        before = state(client)
        answer = client.get("/backup")
        # Later events are not in it.
        push(client, range(5000, 9000, 250))
    assert answer.headers["content-type"] == "application/x-tar"
    (tmp_path / "backup.tar").write_bytes(answer.content)
    restore(tmp_path / "backup.tar", tmp_path / "second")
    second = start("second")
    with second.client() as client:
        assert state(client) == before
        push(client, range(5000, 9000, 250))
        with first.client() as other:
            assert state(client) == state(other)
    with second.client(made) as reader:
        assert reader.get("/queries/rooms/results").status_code == 200
    # The admin token is not in a backup: the second server has made its own.
    assert first.token != second.token
    assert first.token.encode() not in answer.content


def test_a_backup_under_load_has_all_that_was_acknowledged_before(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    server = start("first", snapshot_log_bytes=100_000)
    acknowledged: queue.Queue[int] = queue.Queue()
    stop = threading.Event()

    def load() -> None:
        with server.client() as client:
            for t in range(10_000):
                if stop.is_set():
                    return
                push(client, range(t, t + 1))
                acknowledged.put(t + 1)

    with server.client() as client:
        assert client.put(STREAM).status_code == 201
        loading = threading.Thread(target=load)
        loading.start()
        backups = []
        for _ in range(3):
            # The load is under way: twenty more events have been acknowledged since the last backup.
            known = max(acknowledged.get(timeout=30) for _ in range(20))
            backups.append((known, client.get("/backup").content))
        stop.set()
        loading.join()
    assert [known >= 20 * number for number, (known, _) in enumerate(backups, 1)] == [True] * 3
    for number, (known, content) in enumerate(backups):
        (tmp_path / f"{number}.tar").write_bytes(content)
        restore(tmp_path / f"{number}.tar", tmp_path / f"restored{number}")
        with start(f"restored{number}").client() as client:
            assert client.get(STREAM).json()["events"] >= known


def test_a_stopped_server_is_backed_up_and_a_running_one_is_refused(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    server = start("first")
    with server.client() as client:
        fill(client)
        before = state(client)
    with pytest.raises(StoreError, match="is another server using it"):
        back_up(tmp_path / "first", tmp_path / "backup.tar")
    assert server.stop() == 0
    (tmp_path / "backup.tar").unlink(missing_ok=True)
    back_up(tmp_path / "first", tmp_path / "backup.tar")
    assert (tmp_path / "backup.tar").stat().st_mode & 0o077 == 0
    restore(tmp_path / "backup.tar", tmp_path / "second")
    with start("second").client() as client:
        assert state(client) == before


def test_a_backup_of_format_1_is_restored_and_upgraded(tmp_path: Path) -> None:
    records = [Record(number, "push", b"{}", b"body", "http://ex/s", number) for number in range(1, 6)]
    legacy = write_legacy_store(tmp_path / "old", records)
    with tarfile.open(tmp_path / "old.tar", "w") as archive:
        archive.add(legacy, "whorl.sqlite3")
    assert restore(tmp_path / "old.tar", tmp_path / "new") == 5
    back_up(tmp_path / "new", tmp_path / "new.tar")
    assert restore(tmp_path / "new.tar", tmp_path / "again") == 5
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "again").rglob("*"))


def test_what_is_no_backup_and_what_is_damaged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_text("no tar at all")
    with pytest.raises(StoreError, match="is not a backup"):
        restore(tmp_path / "text.tar", tmp_path / "a")
    with tarfile.open(tmp_path / "other.tar", "w") as archive:
        evil = tarfile.TarInfo("../outside")
        evil.size = 4
        archive.addfile(evil, io.BytesIO(b"evil"))
    with pytest.raises(StoreError, match="no store"):
        restore(tmp_path / "other.tar", tmp_path / "b")
    assert not (tmp_path / "outside").exists()
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        link = tarfile.TarInfo("acknowledged")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(StoreError, match="no store"):
        restore(tmp_path / "link.tar", tmp_path / "c")


def test_a_directory_that_has_a_store_is_not_written_over(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    assert start("first").stop() == 0
    back_up(tmp_path / "first", tmp_path / "backup.tar")
    with pytest.raises(StoreError, match="contains a store already"):
        restore(tmp_path / "backup.tar", tmp_path / "first")
    assert check(tmp_path / "first") == 0
    with pytest.raises(StoreError, match="exists already"):
        back_up(tmp_path / "first", tmp_path / "backup.tar")
