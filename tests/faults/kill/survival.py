"""A load, two subscribers that resume, and the conditions at the end, whatever happened to the server meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from killers import Killer
from producers import STEP_MS, STREAM, OverSocket, Producer, Sequenced, Staged, end_ms, reading
from whorl import _engine
from whorl_client import Client, ConnectionFailedError, Gap, Result

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


@dataclass
class Listener:
    """A subscriber that keeps all results."""

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


def embedded(name: str, incarnation: str, events: int) -> list[dict[str, Any]]:
    """The results of an engine that received these events and never died."""
    engine = _engine.Engine()
    engine.declare_stream(STREAM)
    query = engine.register(QUERIES[name])
    for number in range(events):
        engine.push(STREAM, number * STEP_MS, reading(number).encode(), "turtle")
    engine.advance_to(end_ms(events), STREAM)
    return [json.loads(data) for _, _, data in engine.drain_envelopes(query, name, incarnation)]


def own_port() -> int:
    """A free port outside the range of outgoing connections, one of which could take it while the server is dead."""
    first_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(first_given - 1 - os.getpid() % 1000, 1024, -1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError("no port is free")


def producer_of(way: str, client: Client, token: str) -> Producer:
    if way == "sockets":
        return OverSocket(client, token)
    return Sequenced(client) if way == "sequences" else Staged(client)


def campaign(killer: Killer, way: str) -> dict[str, Listener]:
    server = killer.server
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
            events = producer_of(way, client, server.token).publish_until(killer.is_done)
        except ConnectionFailedError:
            # The server did not come back; the killer, who starts it, knows why.
            raise (killer.error or AssertionError("the killer has not finished")) from None
        killing.join()
        assert killer.error is None, killer.error
        assert killer.kills >= killer.cycles
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
    print(f"{killer.kills} kills, {events} events by {way}")  # noqa: T201 - the figures belong into the report
    return listeners


def check_answers(client: Client, name: str, listener: Listener, events: int) -> None:
    info = client.queries.get(name)
    expected = embedded(name, str(info.document["incarnation"]), events)
    assert len(expected) > 10
    listener.wait_for(expected[-1]["seq"])
    listener.check_complete(expected[-1]["seq"])
    by_seq = {envelope["seq"]: envelope for envelope in expected}
    for result in listener.results:
        assert result.envelope == by_seq[result.seq]
