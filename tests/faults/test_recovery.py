"""Recovery inside one process: replay at every cut of the log, commits that fail, damaged files, time without events.

Does not detect: a disk that acknowledges writes that it has lost.
"""

from __future__ import annotations

import asyncio
import errno
import json
import random
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from failing_disk import FAULTS, FailingDisk
from server_process import ServerProcess, run_to_exit
from whorl.server.errors import (
    DomainError,
    NotReadyError,
    QueryNotRunningError,
    UnknownOutcomeError,
    WriteFailedError,
)
from whorl.server.problems import document
from whorl.server.runtime import commands as c
from whorl.server.runtime.clock import Clock
from whorl.server.runtime.core import Core
from whorl.server.runtime.effects import Failed, Published
from whorl.server.runtime.runtime import Runtime, engine_options, now_ms
from whorl.server.services.rings import Envelope, Gap, Rings
from whorl.server.settings import Settings
from whorl.server.store import store as store_module
from whorl.server.store.store import NotWrittenError, Record, Store

S, OTHER = "http://example.org/s", "http://example.org/other"
PREFIX = "PREFIX : <http://example.org/>"
SUMS = f"""{PREFIX} SELECT ?k (SUM(?v) AS ?sum) FROM NAMED WINDOW :w ON <{S}> [RANGE 2s STEP 1s]
    WHERE {{ WINDOW :w {{ ?x :k ?k . ?x :v ?v }} }} GROUP BY ?k"""
NEWS = f"""{PREFIX} REGISTER ISTREAM <http://example.org/news> AS SELECT ?x ?name
    FROM NAMED WINDOW :w ON <{S}> [RANGE 3s STEP 1s]
    WHERE {{ WINDOW :w {{ ?x :k ?k }} GRAPH :names {{ ?k :name ?name }} }}"""
BOTH = f"""{PREFIX} SELECT ?x ?y FROM NAMED WINDOW :w ON <{S}> [RANGE 4s STEP 2s]
    FROM NAMED WINDOW :v ON <{OTHER}> [RANGE 4s STEP 2s]
    WHERE {{ WINDOW :w {{ ?x :k ?k }} WINDOW :v {{ ?y :k ?k }} }}"""
ROWS = f"""{PREFIX} SELECT ?x FROM NAMED WINDOW :w ON <{S}> [RANGE 1s STEP 1s] WHERE {{ WINDOW :w {{ ?x :k ?k }} }}"""


def event(number: int) -> bytes:
    text = f"<urn:x{number}> <http://example.org/k> <urn:k{number % 3}> ; <http://example.org/v> {number} ."
    return text.encode()


def push(number: int, stream: str = S, at: int | None = None, producer: c.Producer | None = None) -> c.Push:
    return c.Push(stream, event(number), "turtle", number * 300 if at is None else at, producer=producer)


def a_log() -> list[c.Command]:
    """One of each kind of command, between events that give results."""
    chance = random.Random(7)
    log: list[c.Command] = [
        c.DeclareStream(S, c.StreamOptions()),
        c.DeclareStream(OTHER, c.StreamOptions(lateness_ms=500, idle_timeout_ms=1000)),
        c.LoadGraph("http://example.org/names", b'<urn:k0> <http://example.org/name> "zero" .', "turtle"),
        c.Register("sums", SUMS, {}, "aa", "me"),
        c.Register("news", NEWS, {}, "bb"),
        c.Register("both", BOTH, {"report": ["close", "nonempty"]}, "cc"),
    ]
    changes: list[c.Command] = [
        c.Update('INSERT DATA { GRAPH <http://example.org/names> { <urn:k1> <http://example.org/name> "one" } }'),
        c.MarkIdle(OTHER),
        c.Restart("sums", "dd"),
        c.ReplaceGraph("http://example.org/names", b'<urn:k2> <http://example.org/name> "two" .', "turtle"),
        c.Pause("news"),
        c.Restart("news", "ee"),
        c.Unregister("both"),
        c.Register("both", BOTH, {"report": ["close", "nonempty"]}, "ff"),
        c.DropGraph("http://example.org/names"),
        c.CloseStream(OTHER),
    ]
    for number in range(60):
        log.append(push(number, producer=c.Producer("p", 1, number)))
        if number < 50 and chance.random() < 0.4:
            log.append(push(number, OTHER))
        if number % 6 == 5:
            log.append(changes.pop(0))
        if number % 10 == 9:
            log.append(c.Advance(S, number * 300 + 1, tick=True))
    return log


def envelopes(drained: list[Published | Failed]) -> list[tuple[str, str, int, int, bytes]]:
    published = [one for one in drained if isinstance(one, Published)]
    return [(one.query, one.incarnation, *envelope) for one in published for envelope in one.envelopes]


def fresh_core() -> Core:
    # With limits and a seed as the server has them: the seed is another one each time.
    return Core(engine_options(Settings()))


def replay(core: Core, records: list[tuple[str, bytes, bytes]]) -> list[tuple[str, str, int, int, bytes]]:
    found = []
    for record in records:
        core.apply(c.command_of(*record))
        found.extend(envelopes(core.drain()))
    return found


# ---- the same log, the same answers ----


def test_a_refused_registration_leaves_no_trace() -> None:
    # Refused commands are not in the log: a trace of one would be missing after a replay.
    core = fresh_core()
    core.apply(c.DeclareStream("http://ex/s", c.StreamOptions()))
    before = core.snapshot()
    window = "FROM NAMED WINDOW <urn:w> ON <http://ex/{stream}> [RANGE 1s] WHERE {{ WINDOW <urn:w> {{ {pattern} }} }}"
    for stream, pattern in [
        ("undeclared", "?new <urn:new> ?o"),
        ("s", "?new <urn:new> ?o BIND(<http://www.w3.org/2001/XMLSchema#integer>(?o, 'new') AS ?i)"),
        ("s", "?new <urn:new> ?o GRAPH ?g { ?o <urn:new>* ?p }"),
        ("s", "?new <urn:new> ?o ?"),
    ]:
        text = "SELECT * " + window.format(stream=stream, pattern=pattern)
        with pytest.raises(DomainError):
            core.apply(c.Register("q", text, {}, "aa", guarded=True))
        assert core.snapshot() == before, text


def test_a_log_replayed_gives_the_same_bytes_at_every_cut_with_and_without_a_snapshot() -> None:
    records = [command.record() for command in a_log()]
    expected = replay(fresh_core(), records)
    assert len(expected) > 30
    assert replay(fresh_core(), records) == expected
    core = fresh_core()
    given: list[tuple[str, str, int, int, bytes]] = []
    for cut, record in enumerate(records):
        restored = Core.restored(core.snapshot(), engine_options(Settings()))
        assert given + replay(restored, records[cut:]) == expected, f"cut before record {cut}: {record[:2]}"
        given.extend(replay(core, [record]))


async def test_a_store_cut_anywhere_comes_back_with_the_same_sequence_numbers(tmp_path: Path) -> None:
    log = a_log()
    records = [
        Record(offset, kind, members, body, None, offset)
        for offset, (kind, members, body) in enumerate((command.record() for command in log), start=1)
    ]
    for cut in range(6, len(records) + 1, 5):
        path = tmp_path / str(cut)
        store = Store(path)
        store.append(records[:cut])
        store.close()
        told = await ring_contents(path)
        core = fresh_core()
        newest: dict[str, str] = {}
        expected: dict[tuple[str, str], list[str]] = {}
        for name, incarnation, _, _, data in replay(core, [command.record() for command in log[:cut]]):
            expected.setdefault((name, incarnation), []).append(data.decode())
        newest = {name: entry.incarnation for name, entry in core.queries.items() if entry.number is not None}
        assert told == {name: expected.get((name, incarnation), []) for name, incarnation in newest.items()}


async def ring_contents(path: Path) -> dict[str, list[str]]:
    async with running(path) as (runtime, rings):
        del runtime
        found = {}
        for ring in rings:
            cursor, _ = ring.cursor(start="earliest")
            found[ring.query] = [item.text for item in iter(cursor.read, None) if isinstance(item, Envelope)]
        return found


async def test_a_snapshot_comes_when_a_replay_would_take_long_though_the_log_is_small(tmp_path: Path) -> None:
    pushes = 20
    async with running(tmp_path, snapshot_replay_s=0.001) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        await runtime.execute(c.Register("sums", SUMS, {}, "aa"))
        for number in range(pushes):
            await runtime.execute(push(number))
        assert runtime.metrics.snapshots > 0
        assert runtime.log_bytes < runtime.settings.snapshot_log_bytes // 100
    async with running(tmp_path) as (runtime, _):
        assert runtime.metrics.replayed < pushes


async def test_paused_and_failed_queries_are_so_after_a_snapshot_too(tmp_path: Path) -> None:
    async with running(tmp_path, snapshot_log_bytes=1, work_max=1) as (runtime, rings):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        await runtime.execute(c.Register("paused", ROWS, {}, "aa"))
        await runtime.execute(c.Register("failed", ROWS, {}, "bb"))
        await runtime.execute(c.Pause("paused"))
        for number in range(20):
            await runtime.execute(push(number))
        assert rings.ring("failed").state == "failed"
        before = rings.ring("failed").problem
        assert before is not None
    async with running(tmp_path) as (runtime, rings):
        assert runtime.metrics.replayed == 0
        with pytest.raises(QueryNotRunningError, match="is paused"):
            rings.ring("paused")
        after = rings.ring("failed").problem
        assert after is not None
        assert document(after) == document(before)


# ---- a commit that fails ----


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FailingDisk:
    return FailingDisk().install(monkeypatch)


@asynccontextmanager
async def running(path: Path, **settings: Any) -> AsyncIterator[tuple[Runtime, Rings]]:
    chosen = Settings(data_dir=path, **settings)
    rings = Rings(chosen)
    runtime = Runtime(chosen, rings)
    await runtime.start()
    # What recovery told the rings was scheduled before this.
    await asyncio.sleep(0)
    try:
        yield runtime, rings
    finally:
        await runtime.stop()


async def until_ready(runtime: Runtime) -> None:
    assert runtime._rebuilding is not None
    await asyncio.wait_for(runtime._rebuilding, 30)
    assert runtime.state == "ready"
    await asyncio.sleep(0)


async def restarted_query(runtime: Runtime) -> None:
    """A query whose past has incarnations, so that a rebuild could show them again."""
    await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
    await runtime.execute(c.Register("rows", ROWS, {}, "aa"))
    for number in range(10):
        await runtime.execute(push(number))
    await runtime.execute(c.Unregister("rows"))
    await runtime.execute(c.Register("rows", ROWS, {}, "bb"))
    await runtime.execute(c.Restart("rows", "cc"))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("snapshot_log_bytes", [1, 10**9])
async def test_a_failing_disk_refuses_and_leaves_neither_gap_nor_double(
    tmp_path: Path, disk: FailingDisk, fault: str, snapshot_log_bytes: int
) -> None:
    async with running(tmp_path, snapshot_log_bytes=snapshot_log_bytes) as (runtime, rings):
        await restarted_query(runtime)
        cursor, gap = rings.ring("rows").cursor(start="earliest")
        assert gap is None
        for number in range(10, 30):
            await runtime.execute(push(number))
        setattr(disk, fault, 1)
        calls = [runtime.execute(push(number)) for number in range(30, 60)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert disk.failures == 1
        assert all(isinstance(answer, WriteFailedError | NotReadyError) for answer in answers)
        assert any(isinstance(answer, WriteFailedError) for answer in answers)
        await until_ready(runtime)
        assert runtime.queue_bytes == 0
        for number in range(30, 60):
            reply = await runtime.execute(push(number))
            assert (reply["accepted"], reply["late"]) == (1, 0)
        items = list(iter(cursor.read, None))
        assert not any(isinstance(item, Gap) for item in items)
        assert [item.seq for item in items if isinstance(item, Envelope)] == list(range(1, len(items) + 1))
        assert [item.text for item in items if isinstance(item, Envelope)] == never_failed()
    assert await ring_contents(tmp_path)


def never_failed() -> list[str]:
    core = fresh_core()
    core.apply(c.DeclareStream(S, c.StreamOptions()))
    for number in range(10):
        core.apply(push(number))
    core.apply(c.Register("rows", ROWS, {}, "cc"))
    for number in range(10, 60):
        core.apply(push(number))
    return [data.decode() for _, _, _, _, data in envelopes(core.drain())]


async def test_a_disk_that_is_full_again_and_again_never_hangs_the_server(tmp_path: Path, disk: FailingDisk) -> None:
    async with running(tmp_path) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        accepted, at = 0, 0
        for _ in range(15):
            disk.log_syncs = 1
            # More than the worker and the committer can have between them.
            calls = [asyncio.create_task(runtime.execute(push(at + step))) for step in range(20)]
            await asyncio.sleep(0)
            answers = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 30)
            accepted += sum(isinstance(answer, dict) for answer in answers)
            at += 20
            await until_ready(runtime)
        assert (await runtime.read(lambda core: core.engine.stats()))["streams"][0]["events"] == accepted


async def test_a_snapshot_that_does_not_fit_costs_nothing_but_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, snapshot_log_bytes=1) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))

        def full(path: Path, *parts: bytes) -> None:
            path.write_bytes(parts[0])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(store_module, "write_new", full)
            assert (await runtime.execute(push(1)))["accepted"] == 1
        assert runtime.state == "ready"
        assert (await runtime.execute(push(2)))["accepted"] == 1
    async with running(tmp_path) as (runtime, _):
        assert runtime.metrics.replayed == 0
        assert (await runtime.read(lambda core: core.engine.stats()))["streams"][0]["events"] == 2


@pytest.mark.parametrize("fault", ["log_syncs", "mark_syncs"])
async def test_a_disk_that_cannot_be_trusted_acknowledges_nothing_more(
    tmp_path: Path, disk: FailingDisk, fault: str
) -> None:
    async with running(tmp_path) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        await runtime.execute(push(1))
        setattr(disk, fault, 10**6)
        # It may exist after a restart: no response has denied it.
        with pytest.raises(UnknownOutcomeError):
            await runtime.execute(push(2))
        with pytest.raises(NotReadyError, match="restart the server"):
            await runtime.execute(push(3))
        assert runtime.state == "failed"
    setattr(disk, fault, 0)
    async with running(tmp_path) as (runtime, _):
        events = (await runtime.read(lambda core: core.engine.stats()))["streams"][0]["events"]
        assert events in (1, 2)


async def test_a_fault_of_the_engine_thread_rebuilds_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        await runtime.execute(push(1))

        class Panic(BaseException):
            pass

        def panics(core: Core, command: c.Command) -> None:
            del core, command
            raise Panic("a panic is no Exception")

        with monkeypatch.context() as patch:
            patch.setattr(Core, "apply", panics)
            with pytest.raises(WriteFailedError):
                await runtime.execute(push(2))
        await until_ready(runtime)
        await runtime.execute(push(2))
        assert (await runtime.read(lambda core: core.engine.stats()))["streams"][0]["events"] == 2


async def test_a_disk_that_fills_while_the_server_stops_lets_it_stop(tmp_path: Path, disk: FailingDisk) -> None:
    async with running(tmp_path) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        disk.log_syncs = 1
        calls = [asyncio.create_task(runtime.execute(push(number))) for number in range(20)]
        await asyncio.sleep(0)
        await asyncio.wait_for(runtime.stop(), 30)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert any(isinstance(answer, DomainError) for answer in answers)


async def test_a_query_that_fails_in_the_batch_of_its_pause_can_be_replayed(tmp_path: Path) -> None:
    async with running(tmp_path, work_max=1) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        await runtime.execute(c.Register("rows", ROWS, {}, "aa"))
        pushes = [runtime.execute(push(number)) for number in range(20)]
        answers = await asyncio.gather(*pushes, runtime.execute(c.Pause("rows")), return_exceptions=True)
        assert isinstance(answers[-1], QueryNotRunningError)
    async with running(tmp_path, work_max=1) as (runtime, rings):
        assert rings.ring("rows").state == "failed"


# ---- acknowledged from memory ----


async def test_ack_memory_answers_before_the_commit_and_synced_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        may_commit = threading.Event()
        append = Store.append

        def slow(store: Store, *values: Any) -> None:
            assert may_commit.wait(30)
            append(store, *values)

        monkeypatch.setattr(Store, "append", slow)
        try:
            assert (await asyncio.wait_for(runtime.execute(push(1), ack="memory"), 10))["accepted"] == 1
            synced = asyncio.create_task(runtime.execute(push(2)))
            assert (await asyncio.wait_for(runtime.execute(push(3), ack="memory"), 10))["accepted"] == 1
            assert not synced.done()
        finally:
            may_commit.set()
        assert (await synced)["accepted"] == 1


# ---- damaged files ----


def log_of(path: Path) -> Path:
    (found,) = (path / "store").glob("log-*")
    return found


def damage_middle(path: Path) -> None:
    data = bytearray(log_of(path).read_bytes())
    at = len(data) * 3 // 4
    data[at : at + 2000] = b"\xff" * 2000
    log_of(path).write_bytes(data)


def truncate(path: Path) -> None:
    log_of(path).write_bytes(log_of(path).read_bytes()[:-5000])


def empty(path: Path) -> None:
    log_of(path).write_bytes(b"")


def lose_the_log(path: Path) -> None:
    log_of(path).unlink()


def lose_the_mark(path: Path) -> None:
    (path / "acknowledged").unlink()


def not_a_store(path: Path) -> None:
    log_of(path).write_bytes(b"a letter to a friend" * 1000)


DAMAGES: list[Callable[[Path], None]] = [damage_middle, truncate, empty, lose_the_log, lose_the_mark, not_a_store]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_a_damaged_store_is_named_and_starts_only_when_the_loss_is_accepted(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    async with running(tmp_path) as (runtime, _):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        for number in range(100):
            await runtime.execute(push(number))
    damage(tmp_path)
    code, output = await asyncio.to_thread(run_to_exit, tmp_path, {})
    assert code != 0
    assert str(tmp_path) in output
    assert "--accept-loss" in output
    assert len(output.strip().splitlines()) == 1
    async with running(tmp_path, accept_loss=True) as (runtime, _):
        streams = (await runtime.read(lambda core: core.engine.stats()))["streams"]
        assert len(streams) == (0 if damage in (empty, lose_the_log, not_a_store) else 1)
    async with running(tmp_path) as (runtime, _):
        assert (await runtime.read(lambda core: core.engine.stats()))["streams"] == streams


# ---- time without events ----


@pytest.fixture
def clocked(tmp_path: Path) -> Callable[..., Any]:
    @asynccontextmanager
    async def start(**settings: Any) -> AsyncIterator[tuple[Runtime, Rings]]:
        async with running(tmp_path, **settings) as (runtime, rings):
            clock = Clock(runtime)
            clock.start()
            try:
                yield runtime, rings
            finally:
                await clock.stop()

    return start


async def first_result(rings: Rings, query: str) -> dict[str, Any]:
    woken = asyncio.Event()

    class Reader:
        def wake(self) -> None:
            woken.set()

    cursor, _ = rings.ring(query).cursor(start="earliest")
    reader = Reader()
    cursor.attach(reader)
    async with asyncio.timeout(20):
        while (item := cursor.read()) is None:
            woken.clear()
            await woken.wait()
    cursor.detach(reader)
    assert isinstance(item, Envelope)
    found: dict[str, Any] = json.loads(item.text)
    return found


async def test_a_quiet_window_in_arrival_time_closes_by_the_clock(clocked: Callable[..., Any]) -> None:
    async with clocked(tick_ms=20) as (runtime, rings):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions(time="arrival")))
        await runtime.execute(c.Register("rows", ROWS, {"report": ["close", "nonempty"]}, "aa"))
        await runtime.execute(push(1, at=now_ms()))
        result = await first_result(rings, "rows")
    assert result["results"]["results"]["bindings"] == [{"x": {"type": "uri", "value": "urn:x1"}}]


async def test_a_tick_that_fails_does_not_stop_the_clock(
    clocked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with clocked(tick_ms=20) as (runtime, rings):
        failed = threading.Event()

        def expire() -> None:
            failed.set()
            raise NotWrittenError("the disk is full")

        monkeypatch.setattr(runtime, "expire_stages", expire)
        assert await asyncio.to_thread(failed.wait, 10)
        await runtime.execute(c.DeclareStream(S, c.StreamOptions(time="arrival")))
        await runtime.execute(c.Register("rows", ROWS, {"report": ["close", "nonempty"]}, "aa"))
        await runtime.execute(push(1, at=now_ms()))
        assert await first_result(rings, "rows")


async def test_a_silent_stream_is_marked_idle_and_holds_nobody_back(clocked: Callable[..., Any]) -> None:
    async with clocked(tick_ms=20) as (runtime, rings):
        await runtime.execute(c.DeclareStream(S, c.StreamOptions()))
        await runtime.execute(c.DeclareStream(OTHER, c.StreamOptions(idle_timeout_ms=100)))
        await runtime.execute(c.Register("both", BOTH, {"report": ["close", "nonempty"]}, "aa"))
        await runtime.execute(push(3, OTHER, at=100))
        for number in range(0, 30, 3):
            await runtime.execute(push(number))
        result = await first_result(rings, "both")
    pairs = {(row["x"]["value"], row["y"]["value"]) for row in result["results"]["results"]["bindings"]}
    assert ("urn:x0", "urn:x3") in pairs


def test_an_arrival_stream_goes_on_after_a_kill(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(tick_ms=20)
    with server.client() as client:
        assert client.put(f"/streams/{S}", json={"time": "arrival"}).status_code == 201
        assert client.put("/queries/rows", json={"query": ROWS, "report": ["close", "nonempty"]}).status_code == 201
        pushed = client.post(f"/streams/{S}", content=event(1), headers={"Content-Type": "text/turtle"})
        assert pushed.status_code == 202, pushed.text
    server.kill()
    server.start()
    with server.client() as client:
        results = client.get("/queries/rows/results", params={"from": "earliest", "wait": "10s"})
        assert "urn:x1" in results.text, results.text
