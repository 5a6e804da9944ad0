"""How often producers of five streams start while two other processes keep two cores busy.

Each start is a process of its own, as a user's is: it begins Spark, starts five streams and writes a few rows to each.
It counts if the command succeeds and the server has every row. Run it by itself for figures; the last number is
that of the busy processes, 0 if other work on the machine keeps the cores busy:

    PYTHONPATH=tests/common:tests/spark python tests/spark/start_campaign.py social 20 2
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reaper import watch
from server_process import ServerProcess
from spark_environment import worker_environment

PRODUCERS = ("social", "city")
STREAMS = 5
ROWS = 20
BUSY = 2
START_SECONDS_MAX = 900
_COMMAND = "from whorl.cli import main; main()"


@dataclass(frozen=True)
class Start:
    """One start of a producer."""

    producer: str
    seconds: float
    is_complete: bool
    fault: str = ""


@contextmanager
def busy_cores(busy: int = BUSY) -> Iterator[None]:
    """Processes that only count."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for process in processes:
            watch(process)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def start(producer: str, folder: Path) -> Start:
    """Start a producer against a server of its own, and wait until it has written everything."""
    server = ServerProcess(folder).start()
    words = ["spark", "produce", producer, "--rows", str(ROWS), "--speed", "max", "--url", server.url]
    environment = {**os.environ, **worker_environment(), "WHORL_TOKEN": server.token}
    environment.pop("PYSPARK_PYTHON")
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=START_SECONDS_MAX,
            check=False,
        )
        with server.client() as client:
            written = [stream["events"] for stream in client.get("/streams").json()["streams"]]
        is_complete = done.returncode == 0 and written == [ROWS] * STREAMS
        return Start(producer, time.monotonic() - began, is_complete, "" if is_complete else done.stderr[-2_000:])
    except subprocess.TimeoutExpired:
        return Start(producer, time.monotonic() - began, is_complete=False, fault="it did not end")
    finally:
        server.kill()


def campaign(producer: str, starts: int) -> list[Start]:
    """So many starts, one after the other, while the cores are busy."""
    with busy_cores(), tempfile.TemporaryDirectory() as folder:
        return [start(producer, Path(folder) / str(number)) for number in range(starts)]


def main() -> None:
    """Print a line for each start."""
    producer, starts = sys.argv[1], int(sys.argv[2])
    busy = int(sys.argv[3]) if len(sys.argv) > 3 else BUSY
    with busy_cores(busy), tempfile.TemporaryDirectory() as folder:
        n_complete = 0
        for number in range(starts):
            one = start(producer, Path(folder) / str(number))
            n_complete += one.is_complete
            load = os.getloadavg()[0]
            sys.stdout.write(f"{producer} {number + 1}: {one.seconds:.0f} s, load {load:.1f} {one.fault}\n")
            sys.stdout.flush()
        sys.stdout.write(f"{producer}: {n_complete} of {starts} started\n")


if __name__ == "__main__":
    main()
