"""The cost of events posted one at a time: processor time of the server, and the delay from POST to frame.

    python benchmarks/single_post.py [--events 2000] [--rate 200] [--runs 3]

A producer with one keep-alive connection posts an event per request, first as fast as replies come, then at a fixed
rate; one WebSocket subscriber receives a result for each. The processor time is that of all threads of the server. In
the same run, a bare FastAPI route that reads a body and returns JSON shows the cost of the framework alone.
Acknowledgements are synced to the disk. A run counts only if every event has its result.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from http_ingest import Subscriber, percentile

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
from server_process import ServerProcess

STREAM = "http://example.org/single"
PATH = f"/streams/{quote(STREAM, safe='')}"
# In CQELS-QL each event is evaluated on arrival, so each one has its result.
TEXT = f"PREFIX : <http://example.org/> SELECT ?s ?v WHERE {{ STREAM <{STREAM}> [RANGE 10s] {{ ?s :value ?v }} }}"
_TICKS = os.sysconf("SC_CLK_TCK")
_BARE = """
import sys, uvicorn
from fastapi import FastAPI, Request
app = FastAPI()
@app.post("/post")
async def post(request: Request) -> dict[str, int]:
    return {"accepted": len(await request.body())}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", http="httptools", loop="uvloop")
"""


@dataclass
class Sample:
    """One run: processor time of the server and time to the reply for each POST, and the delay to the frame."""

    cpu_ms: float
    ack_ms: list[float]
    frame_ms: list[float]


class Arrivals(Subscriber):
    """A subscriber that records the time of each result."""

    def __init__(self, url: str, token: str) -> None:
        self.at: list[float] = []
        super().__init__(url, token)

    def _read(self) -> None:
        for text in self._socket:
            if str(text).startswith('{"type":"next"'):
                with self._came:
                    self.at.append(time.perf_counter())
                    self.texts.append(str(text))
                    self._came.notify()


def pid_of(server: ServerProcess) -> int:
    """The process of a running server."""
    if server.process is None:
        raise SystemExit("the server does not run")
    return server.process.pid


def cpu_s(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def posted(url: str, path: str, token: str, bodies: list[bytes], rate: float | None) -> tuple[list[float], list[float]]:
    """Post bodies one by one; returns when each was sent, and how long its reply took."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    headers = {"Content-Type": "application/n-triples", "Authorization": f"Bearer {token}"}
    sent, took = [], []
    began = time.perf_counter()
    for number, body in enumerate(bodies):
        if rate is not None:
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        at = time.perf_counter()
        connection.request("POST", f"{path}?t={1000 + number}" if token else path, body, headers)
        reply = connection.getresponse()
        said = reply.read()
        if reply.status not in (200, 202):
            raise SystemExit(f"refused: {said.decode()}")
        sent.append(at)
        took.append((time.perf_counter() - at) * 1000)
    connection.close()
    return sent, took


def bodies_of(events: int) -> list[bytes]:
    line = '<http://example.org/s{}> <http://example.org/value> "{}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    return [line.format(number % 100, number).encode() for number in range(events)]


def whorl(arguments: argparse.Namespace, rate: float | None) -> Sample:
    with tempfile.TemporaryDirectory() as data_dir:
        server = ServerProcess(Path(data_dir), {}).start()
        try:
            with server.client() as client:
                client.put(PATH, json={}).raise_for_status()
                client.put("/queries/join", json={"query": TEXT}).raise_for_status()
                subscriber = Arrivals(server.url, server.token)
                bodies = bodies_of(arguments.events)
                before = cpu_s(pid_of(server))
                sent, took = posted(server.url, PATH, server.token, bodies, rate)
                subscriber.wait_for(arguments.events)
                spent = cpu_s(pid_of(server)) - before
                delays = [(at - since) * 1000 for at, since in zip(subscriber.at, sent, strict=True)]
                subscriber.close()
                return Sample(spent * 1000 / arguments.events, took, delays)
        finally:
            server.kill()


def bare(arguments: argparse.Namespace) -> Sample:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", _BARE, str(port)])
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        before = cpu_s(process.pid)
        _, took = posted(f"http://127.0.0.1:{port}", "/post", "", bodies_of(arguments.events), None)
        return Sample((cpu_s(process.pid) - before) * 1000 / arguments.events, took, [])
    finally:
        process.kill()


def line(name: str, samples: list[Sample]) -> str:
    cpu = statistics.median(sample.cpu_ms for sample in samples)
    acks = [value for sample in samples for value in sample.ack_ms]
    frames = [value for sample in samples for value in sample.frame_ms]
    shown = f"{percentile(frames, 0.5):8.2f} {percentile(frames, 0.99):8.2f}" if frames else f"{'–':>8} {'–':>8}"
    return f"{name:28} {cpu:10.3f} {percentile(acks, 0.5):9.2f} {percentile(acks, 0.99):9.2f} {shown}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    ways = {
        "bare FastAPI": lambda: bare(arguments),
        "Whorl, reply by reply": lambda: whorl(arguments, None),
        f"Whorl, {arguments.rate:.0f}/s": lambda: whorl(arguments, arguments.rate),
    }
    samples: dict[str, list[Sample]] = {name: [] for name in ways}
    for _ in range(arguments.runs):
        for name, way in ways.items():
            samples[name].append(way())
    print(f"{threading.active_count()} thread here, load {os.getloadavg()[0]:.1f}; {arguments.events} events, ms")
    print(f"{'':28} {'server CPU':>10} {'reply p50':>9} {'p99':>9} {'frame p50':>8} {'p99':>8}")
    for name in ways:
        print(line(name, samples[name]))


if __name__ == "__main__":
    main()
