"""A server that is killed with -9 under load, again and again, at moments that a seed chooses.

A producer sends with a sequence and repeats what was not acknowledged; two subscribers come back and resume. At the
end: every acknowledged event is there once; each result comes once or lies in a gap that was told; and the results are,
to the last number, those of an embedded engine that was given the acknowledged events and never died.

Cannot see: a machine that loses power (the kernel keeps what a killed process wrote).
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from server_process import ServerProcess
from whorl import _engine
from whorl.server.store.store import Store
from whorl_client import Client, ConnectionFailedError, Gap, Result

StartServer = Callable[..., ServerProcess]
STREAM = "http://example.org/readings"
BATCH = 7
STEP_MS = 130
PREFIX = "PREFIX : <http://example.org/>"
QUERIES = {
    # Every answer, with a join inside the window and a count, so that a lost or doubled event shows.
    "totals": f"""{PREFIX} SELECT ?room (COUNT(?v) AS ?n) (SUM(?v) AS ?sum)
        FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 2s STEP 1s]
        WHERE {{ WINDOW :w {{ ?o :of ?sensor . ?o :value ?v . ?sensor :in ?room }} }} GROUP BY ?room ORDER BY ?room""",
    # What is new: it depends on what was there before, which a snapshot has to keep.
    "news": f"""{PREFIX} REGISTER ISTREAM <out> AS SELECT ?o ?v FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 3s STEP 1s]
        WHERE {{ WINDOW :w {{ ?o :of ?sensor . ?o :value ?v }} FILTER(?v > 20) }}""",
}


def reading(number: int) -> str:
    sensor, value = number % 5, number * 7 % 101
    return (
        f"<urn:o{number}> <http://example.org/of> <urn:s{sensor}> ; <http://example.org/value> {value} . "
        f"<urn:s{sensor}> <http://example.org/in> <urn:r{sensor % 2}> ."
    )


@dataclass
class Killer:
    """Kills and starts a server on the same port and data, in a thread of its own."""

    server: ServerProcess
    cycles: int
    chance: random.Random
    kills: int = 0
    error: BaseException | None = None
    is_done: threading.Event = field(default_factory=threading.Event)

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run)
        thread.start()
        return thread

    def _run(self) -> None:
        try:
            for cycle in range(self.cycles):
                self.is_done.wait(self.chance.uniform(0.05, 0.8))
                self._kill()
                if cycle % 3 == 1:
                    self._kill_while_starting()
                self.server.start()
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.error = error
        finally:
            self.is_done.set()

    def _kill(self) -> None:
        self.server.kill()
        self.kills += 1

    def _kill_while_starting(self) -> None:
        """Between the first instruction and readiness: imports, opening the file, replay."""
        starting = threading.Thread(target=self._start_in_vain)
        before = self.server.process
        starting.start()
        while self.server.process is before:
            self.is_done.wait(0.001)
        self.is_done.wait(self.chance.uniform(0.2, 1.5))
        self._kill()
        starting.join()

    def _start_in_vain(self) -> None:
        try:
            self.server.start()
        except Exception:  # noqa: BLE001 - a refused connection, a broken pipe, no answer
            # It was killed before it was ready, which is the point.
            return


@dataclass
class Listener:
    """A subscriber that keeps all it is handed."""

    items: list[Result | Gap] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    def listen(self, subscription: Any) -> threading.Thread:
        thread = threading.Thread(target=self._run, args=(subscription,))
        thread.start()
        return thread

    def _run(self, subscription: Any) -> None:
        try:
            for item in subscription:
                with self.came:
                    self.items.append(item)
                    self.came.notify()
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.errors.append(error)

    @property
    def results(self) -> list[Result]:
        return [item for item in self.items if isinstance(item, Result)]

    def wait_for(self, seq: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: bool(self.errors) or self._last_seq() >= seq, timeout=60), self.items[-1:]

    def _last_seq(self) -> int:
        if not self.items:
            return 0
        last = self.items[-1]
        return last.to_seq or 0 if isinstance(last, Gap) else last.seq

    def check_complete(self, last_seq: int) -> None:
        """Numbers rise by one, or by what a gap between says."""
        assert not self.errors
        expected = 1
        for item in self.items:
            if isinstance(item, Gap):
                assert item.from_seq == expected
                assert item.to_seq is not None
                expected = item.to_seq + 1
            else:
                assert item.seq == expected
                expected += 1
        assert expected == last_seq + 1


def publish_until(client: Client, done: threading.Event) -> int:
    """Send until the killer has finished; how many events were acknowledged. Each flush returns when it is."""
    number = 0
    with client.publisher(STREAM, "producer", batch_events=BATCH) as publisher:
        while not done.is_set() or number < 20 * BATCH:
            for _ in range(BATCH):
                publisher.send(reading(number), t=number * STEP_MS)
                number += 1
            publisher.flush()
        publisher.watermark(number * STEP_MS + 10_000)
        publisher.flush()
        assert publisher.total.accepted + publisher.total.duplicates >= number
        assert publisher.total.late == publisher.total.ahead == 0
    return number


def embedded(name: str, incarnation: str, events: int) -> list[dict[str, Any]]:
    """What an engine says that was given these events and never died."""
    engine = _engine.Engine()
    engine.declare_stream(STREAM)
    query = engine.register(QUERIES[name])
    for number in range(events):
        engine.push(STREAM, number * STEP_MS, reading(number).encode(), "turtle")
    engine.advance_to(events * STEP_MS + 10_000, STREAM)
    return [json.loads(data) for _, _, data in engine.drain_envelopes(query, name, incarnation)]


def own_port() -> int:
    """A free port that the system gives to no connection: while the server is dead, somebody's could take it."""
    first_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(first_given - 1 - os.getpid() % 1000, 1024, -1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError("no port is free")


def campaign(server: ServerProcess, cycles: int, seed: int) -> dict[str, Listener]:
    killer = Killer(server, cycles, random.Random(seed))
    listeners = {name: Listener() for name in QUERIES}
    with Client(server.url, server.token, patience_s=120) as client:
        client.streams.create(STREAM)
        queries = {name: client.register(text, name=name) for name, text in QUERIES.items()}
        subscriptions = [query.subscribe("earliest", on_gap="yield") for query in queries.values()]
        threads = [
            listener.listen(subscription)
            for listener, subscription in zip(listeners.values(), subscriptions, strict=True)
        ]
        killing = killer.start()
        try:
            events = publish_until(client, killer.is_done)
        except ConnectionFailedError:
            # The server did not come back; the killer, who starts it, knows why.
            raise (killer.error or AssertionError("the killer has not finished")) from None
        killing.join()
        assert killer.error is None
        assert killer.kills >= cycles
        assert client.streams.get(STREAM).document["events"] == events
        for name, listener in listeners.items():
            check_answers(client, name, listener, events)
            client.queries.delete(name)
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        # Nothing came after what was expected.
        assert not any(listener.errors for listener in listeners.values())
    assert "Traceback" not in server.log
    return listeners


def check_answers(client: Client, name: str, listener: Listener, events: int) -> None:
    info = client.queries.get(name)
    expected = embedded(name, info.document["incarnation"], events)
    assert len(expected) > 10
    listener.wait_for(expected[-1]["seq"])
    listener.check_complete(expected[-1]["seq"])
    by_seq = {envelope["seq"]: envelope for envelope in expected}
    for result in listener.results:
        assert result.envelope == by_seq[result.seq]


CYCLES = [3, pytest.param(20, marks=pytest.mark.long)]


@pytest.mark.parametrize("cycles", CYCLES)
def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(start_server: StartServer, cycles: int) -> None:
    listeners = campaign(start_server(port=own_port()), cycles, seed=cycles)
    # Replay fills the rings again, so that those who come back have missed nothing at all.
    assert not any(isinstance(item, Gap) for listener in listeners.values() for item in listener.items)


@pytest.mark.parametrize("cycles", CYCLES)
def test_snapshots_all_the_time_lose_nothing_and_mark_what_subscribers_missed(
    start_server: StartServer, cycles: int
) -> None:
    server = start_server(snapshot_log_bytes=4096, port=own_port())
    campaign(server, cycles, seed=100 + cycles)
    server.kill()
    store = Store(server.data_dir)
    snapshot = store.snapshot()
    store.close()
    assert snapshot is not None
