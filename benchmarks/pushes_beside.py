"""How long pushes and health checks take beside slow ad-hoc queries, and beside idle connections.

    python benchmarks/pushes_beside.py [--seconds 20] [--rows 10000] [--idle 1000]

One producer pushes an event every 20 ms and waits for each reply; another client asks for /healthz every 20 ms. They
do so alone, then while two clients ask slow queries without a pause, one kind after the other, then beside idle
connections of which some send a byte now and then. The client has a process of its own, but shares the machine.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
from server_process import ServerProcess

STREAM = "/streams/http://ex.org/s"
TURTLE = {"Content-Type": "text/turtle"}
INTERVAL_S = 0.02
# Patterns that are compiled for each row, one that is large, a product, an open closure, a sort and a long text.
QUESTIONS = {
    "patterns": "SELECT ?s { ?s <urn:p> ?o FILTER(REGEX(STR(?s), CONCAT(STR(?o), '((a|b){1,100}){1,100}'))) }",
    "one large pattern": "SELECT ?s { ?s ?p ?o FILTER(REGEX(STR(?s), '((a{1,100}){1,100}){1,100}')) }",
    "product": "SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o . ?a <urn:p> ?c FILTER(?o + ?c < 0) }",
    "closure": "SELECT (COUNT(*) AS ?n) { ?s <urn:next>* ?o }",
    "sort": "SELECT ?s ?o { ?s ?p ?o } ORDER BY STRLEN(STR(?s)) DESC(?o)",
    "long texts": "SELECT (GROUP_CONCAT(STR(?s)) AS ?t) { ?s ?p ?o }",
}


class Steady:
    """Repeats one request, and keeps how long each took."""

    def __init__(self, request: Callable[[int], httpx.Response]) -> None:
        self._request = request
        self._over = threading.Event()
        self.taken_ms: list[float] = []
        self.failed = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._over.wait(INTERVAL_S):
            number += 1
            began = time.perf_counter()
            answer = self._request(number)
            self.taken_ms.append(1000 * (time.perf_counter() - began))
            self.failed += not answer.is_success

    def finish(self) -> str:
        self._over.set()
        self._thread.join()
        taken = sorted(self.taken_ms)
        p99 = taken[min(len(taken) - 1, len(taken) * 99 // 100)]
        row = f"{len(taken):>6} {statistics.median(taken):>8.1f} {p99:>8.1f} {taken[-1]:>8.1f} {self.failed:>7}"
        return f"{row} {os.getloadavg()[0]:>6.1f}"


class Asker(threading.Thread):
    """Asks one query again and again."""

    def __init__(self, server: ServerProcess, question: str) -> None:
        super().__init__()
        self._server, self._question = server, question
        self._over = threading.Event()
        self.answers = 0
        self.start()

    def run(self) -> None:
        with self._server.client() as client:
            client.timeout = httpx.Timeout(120)
            while not self._over.is_set():
                client.post("/sparql", data={"query": self._question})
                self.answers += 1

    def finish(self) -> int:
        self._over.set()
        self.join()
        return self.answers


def observe(server: ServerProcess, name: str, seconds: float, first: list[int]) -> None:
    """Print how long pushes and health checks take."""
    with server.client() as producer, server.anonymous() as watcher:

        def push(_: int) -> httpx.Response:
            first[0] += 1
            return producer.post(STREAM, params={"t": first[0]}, content="<urn:a> <urn:p> 1 .", headers=TURTLE)

        steady = {"push": Steady(push), "health": Steady(lambda _: watcher.get("/healthz"))}
        time.sleep(seconds)
        for what, one in steady.items():
            print(f"{name:20} {what:7} {one.finish()}", flush=True)


def idle_connections(server: ServerProcess, count: int) -> list[socket.socket]:
    port = int(server.url.rpartition(":")[2])
    found = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(count)]
    for one in found[::10]:
        one.sendall(b"G")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--idle", type=int, default=1_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as data_dir:
        server = ServerProcess(Path(data_dir), {}).start()
        try:
            measure(server, arguments)
        finally:
            server.kill()


def measure(server: ServerProcess, arguments: argparse.Namespace) -> None:
    with server.client() as client:
        rows = (f"<urn:s{n}> <urn:p> {n} ; <urn:next> <urn:s{n + 1}> .\n" for n in range(arguments.rows))
        client.put("/graphs?default", content="".join(rows), headers=TURTLE).raise_for_status()
        client.put(STREAM).raise_for_status()
    print(f"{'beside':20} {'':7} {'count':>6} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'failed':>7} {'load':>6}")
    first = [0]
    observe(server, "nothing", arguments.seconds, first)
    for name, question in QUESTIONS.items():
        askers = [Asker(server, question) for _ in range(2)]
        observe(server, name, arguments.seconds, first)
        print(f"{'':20} {sum(asker.finish() for asker in askers)} answers")
    # New ones take the place of those that have been idle for too long, as an attacker's would.
    idle = idle_connections(server, arguments.idle)
    observe(server, f"{arguments.idle} idle", min(arguments.seconds, 8), first)
    for one in idle:
        one.close()


if __name__ == "__main__":
    main()
