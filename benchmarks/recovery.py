"""The time from the restart of a killed server to readiness.

    python benchmarks/recovery.py [--triples 1000000] [--streamed 8500000] [--commands 9000] [--runs 3] [--goal 5]

The server is filled over HTTP and killed with -9; the time is measured from the start of the process to the first 200
of /readyz, as wall time and as processor time. With a million live triples in the window of a join: once with
everything in the log (replay), once with the default settings, a snapshot and the log after it. With the default
settings also: millions of triples that passed through a short window, and thousands of small commands. After each
start, the number of events and the next sequence number of the query must be those from before the kill. With --goal,
the exit code is 1 if the median of the starts with the default settings took more processor time.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from readings import STREAM, TRIPLES_PER_EVENT, bodies, query

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
from server_process import ServerProcess

SPAN_S = 3000
NQUADS = {"Content-Type": "application/n-quads"}


def fill(client: httpx.Client, triples: int, width: str = "3600s", step: str = "600s") -> None:
    events = triples // TRIPLES_PER_EVENT
    client.put(f"/streams/{STREAM}").raise_for_status()
    text = query("(COUNT(*) AS ?n)", width, step)
    client.put("/queries/join", json={"query": text}).raise_for_status()
    step_ms = max(1, SPAN_S * 1000 // events)
    for _, body in bodies(events, step_ms):
        client.post(f"/streams/{STREAM}", content=body, headers=NQUADS).raise_for_status()


def stream_through(client: httpx.Client, triples: int) -> None:
    """Triples that have left a short window."""
    fill(client, triples, "10s", "10s")


def command(client: httpx.Client, commands: int) -> None:
    """Small commands: queries that are registered and removed, and an event for each."""
    fill(client, TRIPLES_PER_EVENT)
    text = query("(COUNT(*) AS ?n)", "60s", "10s")
    for _ in range(commands // 3):
        client.put("/queries/other", json={"query": text}).raise_for_status()
        for _at, body in bodies(1, 1):
            client.post(f"/streams/{STREAM}", content=body, headers=NQUADS).raise_for_status()
        client.delete("/queries/other").raise_for_status()


def state(client: httpx.Client) -> tuple[Any, ...]:
    """The values that must be equal before and after."""
    stream = client.get(f"/streams/{STREAM}").raise_for_status().json()
    about = client.get("/queries/join").raise_for_status().json()
    answer = client.get("/queries/join/results", headers={"Accept": "text/csv"}).raise_for_status().text
    return stream["events"], stream.get("watermark"), about["incarnation"], about["lastSeq"], answer


def processor_s(server: ServerProcess) -> float:
    """The processor time of the server since its start."""
    if server.process is None:
        raise SystemExit("the server has not started")
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def recovered_s(server: ServerProcess) -> tuple[float, float, float]:
    """Kill and start: seconds to readiness (wall and processor time), and the server's own recovery time."""
    server.kill()
    began = time.perf_counter()
    server.start()
    taken = time.perf_counter() - began
    cpu_s = processor_s(server)
    with server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    said = [line.rsplit(" ", 1)[1] for line in lines if line.startswith("whorl_recovery_seconds")]
    return taken, cpu_s, float(said[0]) if said else float("nan")


def measure(name: str, filled: Callable[[httpx.Client], None], runs: int, settings: dict[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as data_dir:
        server = ServerProcess(Path(data_dir), settings).start()
        try:
            with server.client(headers={}) as client:
                client.timeout = httpx.Timeout(120)
                began = time.perf_counter()
                filled(client)
                filled_s = time.perf_counter() - began
                before = state(client)
            sample = []
            for _ in range(runs):
                sample.append(recovered_s(server))
                with server.client() as client:
                    after = state(client)
                if after != before:
                    raise SystemExit(f"the state is another one after a kill: {before} → {after}")
            size = sum(path.stat().st_size for path in Path(data_dir).iterdir())
        finally:
            server.kill()
    taken = sorted(seconds for seconds, _, _ in sample)
    cpu_s, recovery = (statistics.median(one[at] for one in sample) for at in (1, 2))
    ready = f"{statistics.median(taken):.2f} ({taken[0]:.2f}–{taken[-1]:.2f})"
    triples = before[0] * TRIPLES_PER_EVENT
    print(
        f"{name:10} {triples:>12,} {filled_s:>8.1f} {size / 2**20:>10.0f} {ready:>22} {cpu_s:>8.2f} {recovery:>11.2f}"
    )
    return cpu_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--streamed", type=int, default=8_500_000)
    parser.add_argument("--commands", type=int, default=9_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--goal", type=float, default=None)
    arguments = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"median of {arguments.runs} starts (least–most)\n")
    head = f"{'from':10} {'triples':>12} {'fill s':>8} {'store MiB':>10} {'start to ready, s':>22} {'cpu, s':>8}"
    print(f"{head} {'recovery, s':>11}")
    runs, unlimited = arguments.runs, {"registrations_per_minute": 1_000_000}

    def live(client: httpx.Client) -> None:
        fill(client, arguments.triples)

    measure("log", live, runs, {"snapshot_log_bytes": 2**40, "snapshot_replay_s": 1e9})
    # With a million triples, twice while it is filled, so that much log is left after the last snapshot.
    defaults = [measure("default", live, runs, {})]
    defaults.append(measure("streamed", lambda client: stream_through(client, arguments.streamed), runs, {}))
    defaults.append(measure("commands", lambda client: command(client, arguments.commands), runs, unlimited))
    median = max(defaults)
    return int(arguments.goal is not None and median > arguments.goal)


if __name__ == "__main__":
    sys.exit(main())
