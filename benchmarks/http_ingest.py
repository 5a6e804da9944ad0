"""Triples per second over HTTP into a join of three patterns with one subscriber, beside the engine alone.

    python benchmarks/http_ingest.py [--events 200000] [--runs 3] [--bytes 1048576]

A separate process sends N-Quads bodies over keep-alive connections; one WebSocket subscriber in this process reads
every result. The time is measured from the first byte sent to the last acknowledgement or the last result, whichever is
later. Acknowledgements are synced to the disk. In the same run, the same bodies are pushed into an embedded engine with
the same options, which drains envelopes after each: the ratio is the cost of the server. A run counts only if the
subscriber and the engine have equal numbers of results and rows.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from readings import STREAM, TRIPLES_PER_EVENT, bodies, query
from websockets.sync.client import connect
from whorl import _engine
from whorl.server.runtime.runtime import engine_options
from whorl.server.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
from server_process import ServerProcess

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import httpx

STEP_MS = 1
# One row in ten is a result, so that ingestion is measured and not JSON.
TEXT = query("?o ?r ?v", "1s", "1s", "FILTER(?v > 90000)")
PATH = f"/streams/{quote(STREAM, safe='')}"
NQUADS = {"Content-Type": "application/n-quads", "Connection": "keep-alive"}


@dataclass
class Sample:
    """One run."""

    seconds: float
    results: int
    rows: int
    ack_s: list[float]


@dataclass(frozen=True)
class Variant:
    """A configuration: connections (0 is the embedded engine), and whether current result and windows are kept."""

    connections: int
    keeps: bool

    @property
    def name(self) -> str:
        way = "embedded" if self.connections == 0 else f"HTTP × {self.connections}"
        return f"{way}, {'kept' if self.keeps else 'not kept'}"


# ---- the producer, in a separate process ----


def produce(url: str, token: str, connections: int, arguments: argparse.Namespace, pipe: Connection) -> None:
    waiting = list(bodies(arguments.events, STEP_MS, arguments.bytes))
    pipe.send("ready")
    pipe.recv()
    ack_s: list[float] = []
    faults: list[str] = []
    lock = threading.Lock()
    began = time.perf_counter()

    def send() -> None:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=120)
        while True:
            with lock:
                if not waiting or faults:
                    break
                _, body = waiting.pop(0)
            at = time.perf_counter()
            connection.request("POST", PATH, body, {**NQUADS, "Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            said = answer.read()
            ack_s.append(time.perf_counter() - at)
            if answer.status != 202 or json.loads(said)["late"]:
                faults.append(said.decode())
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pipe.send((time.perf_counter() - began, ack_s, faults))


# ---- the subscriber ----


class Subscriber:
    """Reads results as they arrive, and counts them."""

    def __init__(self, url: str, token: str) -> None:
        self.texts: list[str] = []
        self._came = threading.Condition()
        self._open = contextlib.ExitStack()
        opening = connect(
            url.replace("http", "ws", 1) + "/ws",
            subprotocols=["rsp.v1.json"],  # type: ignore[list-item]  # a NewType of str
            compression=None,
            max_size=None,
            proxy=None,
        )
        self._socket = self._open.enter_context(opening)
        subscribe = {"query": "join", "from": "earliest", "credit": 1_000_000_000}
        self._socket.send(json.dumps({"type": "connection_init", "payload": {"token": token}}))
        self._socket.recv()
        self._socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": subscribe}))
        said = self._socket.recv()
        if '"subscribed"' not in str(said):
            raise SystemExit(f"no subscription: {said!r}")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for text in self._socket:
            if str(text).startswith('{"type":"next"'):
                with self._came:
                    self.texts.append(str(text))
                    self._came.notify()

    def wait_for(self, results: int) -> None:
        with self._came:
            if not self._came.wait_for(lambda: len(self.texts) >= results, timeout=120):
                raise SystemExit(f"only {len(self.texts)} of {results} results came")

    def close(self) -> int:
        """The number of rows received."""
        self._open.close()
        self._thread.join()
        return sum(rows_of(json.loads(text)["payload"]) for text in self.texts)


def rows_of(envelope: dict[str, Any]) -> int:
    return len(envelope["results"]["results"]["bindings"])


# ---- the configurations ----


def over_http(variant: Variant, arguments: argparse.Namespace, expected: int) -> Sample:
    with tempfile.TemporaryDirectory() as data_dir:
        server = ServerProcess(Path(data_dir), {"ring_bytes_max": 256 * 2**20}).start()
        try:
            with server.client() as client:
                # Bodies on two connections may overtake each other.
                lateness_ms = 0 if variant.connections == 1 else STEP_MS * arguments.bytes // 100
                client.put(PATH, json={"lateness": f"{lateness_ms}ms"}).raise_for_status()
                register = {"query": TEXT, "keepAnswer": variant.keeps, "keepWindows": variant.keeps}
                client.put("/queries/join", json=register).raise_for_status()
                return timed(server, client, variant, arguments, expected)
        finally:
            server.kill()


def timed(
    server: ServerProcess, client: httpx.Client, variant: Variant, arguments: argparse.Namespace, expected: int
) -> Sample:
    here, there = multiprocessing.Pipe()
    subscriber = Subscriber(server.url, server.token)
    producer = multiprocessing.get_context("spawn").Process(
        target=produce, args=(server.url, server.token, variant.connections, arguments, there), daemon=True
    )
    producer.start()
    here.recv()
    here.send("go")
    began = time.perf_counter()
    sent_s, ack_s, faults = here.recv()
    if faults:
        raise SystemExit(f"refused: {faults[0]}")
    end = {"t": arguments.events * STEP_MS + 1000}
    client.post(f"{PATH}/watermark", json=end).raise_for_status()
    subscriber.wait_for(expected)
    seconds = max(sent_s, time.perf_counter() - began)
    producer.join()
    return Sample(seconds, len(subscriber.texts), subscriber.close(), ack_s)


def embedded(variant: Variant, arguments: argparse.Namespace) -> Sample:
    engine = _engine.Engine(**engine_options(Settings()))
    engine.declare_stream(STREAM)
    number = engine.register(TEXT, keep_answer=variant.keeps, keep_windows=variant.keeps)
    waiting = [body for _, body in bodies(arguments.events, STEP_MS, arguments.bytes)]
    push_s: list[float] = []
    envelopes = []
    began = time.perf_counter()
    for body in waiting:
        at = time.perf_counter()
        engine.push(STREAM, None, body, "nquads")
        envelopes += engine.drain_envelopes(number, "join", "a")
        push_s.append(time.perf_counter() - at)
    engine.advance_to(arguments.events * STEP_MS + 1000, STREAM)
    envelopes += engine.drain_envelopes(number, "join", "a")
    seconds = time.perf_counter() - began
    return Sample(seconds, len(envelopes), sum(rows_of(json.loads(data)) for _, _, data in envelopes), push_s)


# ---- the table ----


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def line(variant: Variant, samples: list[Sample], alone: list[Sample], triples: int) -> str:
    rates = sorted(triples / sample.seconds for sample in samples)
    median = statistics.median(rates)
    seconds = statistics.median(sample.seconds for sample in samples)
    ratio = median / statistics.median(triples / sample.seconds for sample in alone)
    acks = [value * 1000 for sample in samples for value in sample.ack_s]
    rate = f"{median:,.0f} ({rates[0]:,.0f}–{rates[-1]:,.0f})"
    results, rows = samples[0].results / seconds, samples[0].rows / seconds
    latency = f"{percentile(acks, 0.5):>8.1f} {percentile(acks, 0.99):>8.1f}"
    return f"{variant.name:22} {rate:>30} {results:>10,.0f} {rows:>10,.0f} {latency} {ratio:>7.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=1024 * 1024)
    arguments = parser.parse_args()
    triples = arguments.events * TRIPLES_PER_EVENT
    variants = [Variant(connections, keeps) for keeps in (True, False) for connections in (0, 1, 2)]
    samples: dict[Variant, list[Sample]] = {variant: [] for variant in variants}
    # In rotation, so that other load on the machine affects all alike.
    for _ in range(arguments.runs):
        for variant in variants:
            alone = samples[Variant(0, variant.keeps)]
            if variant.connections == 0:
                samples[variant].append(embedded(variant, arguments))
                continue
            found = over_http(variant, arguments, alone[0].results)
            if (found.results, found.rows) != (alone[0].results, alone[0].rows):
                raise SystemExit(f"{variant.name}: {found.results} results, the engine alone has {alone[0].results}")
            samples[variant].append(found)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{triples:,} triples in bodies of {arguments.bytes:,} B, median of {arguments.runs} runs (least–most)\n")
    head = f"{'way, answer+windows':22} {'triples/s':>30} {'results/s':>10} {'rows/s':>10}"
    print(f"{head} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>7}")
    for variant in variants:
        print(line(variant, samples[variant], samples[Variant(0, variant.keeps)], triples))


if __name__ == "__main__":
    main()
