"""Use over a long time: an hour of everything at once, at half of what the server can take, and nothing drifts.

Producers push ever-new terms, queries come and go, questions are asked, a subscriber follows, the stream's log is
cut by snapshots. Every so often size and latency are sampled; the last third of the samples is compared with the first
but one, in which the server warmed up. The hour is the full size; WHORL_CAMPAIGN_SHARE=0.1 makes it six minutes.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from campaign_size import sized
from measure import MIB, Meter
from server_process import ServerProcess
from whorl import _engine
from whorl_client import Client

STREAM = "http://ex.org/s"
_TRIPLES = 100
_SAMPLES = 12
_COUNT = (
    "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <http://ex.org/s> [RANGE 5s STEP 1s] "
    "WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
)
LONG = [pytest.mark.long, pytest.mark.timeout(2 * 3600)]


class Sample(NamedTuple):
    """One look at the server; the time is how long a push took, in the middle."""

    memory: int
    handles: int
    threads: int
    store: int
    push_ms: float


class Load:
    """A producer at a pace, in a thread of its own; every push has new terms and is one second of the stream."""

    def __init__(self, server: ServerProcess) -> None:
        self.waits_s: list[float] = []
        self.pause_s = 0.0
        self._client = server.client(headers={"Content-Type": "text/turtle"})
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        try:
            while not self._done.wait(self.pause_s):
                new = range(number * _TRIPLES, (number + 1) * _TRIPLES)
                body = "".join(f"<urn:subject:{n}> <http://ex.org/p> 'value {n}' .\n" for n in new)
                began = time.perf_counter()
                answer = self._client.post(f"/streams/{STREAM}", params={"t": number * 1000}, content=body)
                self.waits_s.append(time.perf_counter() - began)
                assert answer.status_code == 202, answer.text
                number += 1
        except BaseException as error:  # noqa: BLE001 - told to the test
            self._error = error

    def finish(self) -> int:
        self._done.set()
        self._thread.join(60)
        self._client.close()
        if self._error is not None:
            raise self._error
        return len(self.waits_s)


def disturb(client: httpx.Client, number: int) -> None:
    """A query that comes and goes, a graph that is replaced, a question, a page of results."""
    text = _COUNT.replace("?p", f"<http://ex.org/p{number % 50}>")
    assert client.put(f"/queries/q{number % 5}", json={"query": text}).status_code in {200, 201}
    graph = f"<urn:a> <urn:p> {number}, {number + 1} ."
    client.put("/graphs", params={"graph": "urn:g"}, content=graph, headers={"Content-Type": "text/turtle"})
    assert client.get("/sparql", params={"query": "SELECT * { GRAPH <urn:g> { ?s ?p ?o } }"}).status_code == 200
    assert client.get("/queries/all/results").status_code == 200
    assert client.delete(f"/queries/q{number % 5}").status_code == 204


def sampled(server: ServerProcess, meter: Meter, waits_s: list[float]) -> Sample:
    store = sum(path.stat().st_size for path in server.data_dir.rglob("*") if path.is_file())
    push_ms = 1000 * statistics.median(waits_s) if waits_s else 0.0
    return Sample(meter.memory("VmRSS"), meter.handles(), meter.threads(), store, push_ms)


def judge(samples: list[Sample]) -> None:
    third = len(samples) // 3
    for sample in samples:
        memory, store = sample.memory / MIB, sample.store / MIB
        print(f"{memory:.0f} MiB, {store:.1f} on disk, {sample.handles} handles, {sample.push_ms:.1f} ms")  # noqa: T201 - figures
    warm, last = samples[third : 2 * third], samples[2 * third :]
    assert max(s.memory for s in last) - max(s.memory for s in warm) < 48 * MIB
    assert max(s.handles for s in last) <= max(s.handles for s in warm) + 8
    assert max(s.threads for s in last) <= max(s.threads for s in warm) + 4
    assert max(s.store for s in last) < 1.5 * max(s.store for s in warm) + 16 * MIB
    # Other work on the machine shows in it, too, so only a multiple counts.
    assert statistics.median(s.push_ms for s in last) < 5 * statistics.median(s.push_ms for s in warm) + 20


@pytest.mark.parametrize("seconds", [9, pytest.param(sized(3600), marks=LONG)])
def test_an_hour_of_everything_leaves_the_server_as_it_was(
    start_server: Callable[..., ServerProcess], seconds: int
) -> None:
    server = start_server(registrations_per_minute=1_000_000, snapshot_log_bytes=4 * MIB)
    meter = Meter(server)
    seen: list[int] = []
    with server.client() as client, Client(server.url, server.token) as reader:
        client.put(f"/streams/{STREAM}").raise_for_status()
        client.put("/queries/all", json={"query": _COUNT}).raise_for_status()
        subscription = reader.subscribe("all", "earliest")
        follow = threading.Thread(target=lambda: seen.extend(result.seq for result in subscription))
        follow.start()
        load = Load(server)
        time.sleep(min(5.0, seconds / 9))
        # From here at half of the peak: as long a pause as a push takes.
        load.pause_s = statistics.median(load.waits_s)
        samples: list[Sample] = []
        began, number = time.monotonic(), 0
        while len(samples) < _SAMPLES:
            first = len(load.waits_s)
            ends_at = began + seconds * (len(samples) + 1) / _SAMPLES
            while time.monotonic() < ends_at:
                disturb(client, number)
                number += 1
                time.sleep(min(1.0, seconds / 100))
            samples.append(sampled(server, meter, load.waits_s[first:]))
        pushes = load.finish()
        last = client.get("/queries/all").json()["lastSeq"]
        deadline = time.monotonic() + 60
        while (not seen or seen[-1] < last) and time.monotonic() < deadline:
            time.sleep(0.05)
        subscription.close()
        follow.join(30)
        print(f"{pushes} pushes of {_TRIPLES} triples, {number} disturbances, {len(seen)} results")  # noqa: T201 - figures
    # The subscriber has had every result, once.
    assert seen == list(range(1, last + 1))
    judge(samples)
    assert "Traceback" not in server.log


def own_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("terms", [400_000, pytest.param(sized(50_000_000), marks=LONG)])
def test_ever_new_terms_in_an_engine_of_ones_own_are_forgotten(terms: int) -> None:
    engine = _engine.Engine()
    engine.declare_stream(STREAM)
    query = engine.register(_COUNT)
    per_push, before, highest = 1000, 0, 0
    rounds = terms // (2 * per_push)
    for number in range(rounds):
        new = range(number * per_push, (number + 1) * per_push)
        body = "".join(f'<urn:s{n}> <urn:p> "v{n}" .\n' for n in new)
        engine.push(STREAM, number * 1000, body.encode(), "ntriples")
        engine.drain_envelopes(query, "q", "1")
        if number == rounds // 4:
            before = own_memory()
        highest = max(highest, own_memory() if number > rounds // 4 else 0)
    print(f"{2 * rounds * per_push} terms, {(highest - before) / MIB:+.1f} MiB after a quarter of them")  # noqa: T201 - figures
    assert highest - before < 16 * MIB
