"""Driver and JVM are killed again and again in one run: every row is in the server's answer once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from server_process import ServerProcess
from sink_job import counted, events, once, register_count
from spark_environment import require_java, worker_environment
from whorl_client import Client

BATCHES = 55
ROWS = 100
KILLED_AFTER = (12, 25, 38)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_three_kills_in_a_run_lose_nothing_and_double_nothing(
    server: ServerProcess, client: Client, iri: str, tmp_path: Path
) -> None:
    require_java()
    client.streams.create(iri)
    register_count(client, iri, "killed")
    chance = random.Random(5)
    for batches in KILLED_AFTER:
        job = _start(server, iri, tmp_path)
        _wait_for_events(client, iri, batches * ROWS, job)
        # Somewhere in a batch: while it is planned, staged, committed or noted.
        time.sleep(chance.uniform(0, 1))
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    job = _start(server, iri, tmp_path)
    assert job.wait() == 0
    n = events(client, iri)
    assert (n >= BATCHES * ROWS, n % ROWS) == (True, 0)
    assert counted(client, iri, "killed") == once(n)


def _start(server: ServerProcess, iri: str, directory: Path) -> subprocess.Popen[bytes]:
    """The job in a process group of its own: driver and JVM."""
    script = Path(__file__).with_name("kill_job.py")
    environment = {**os.environ, **worker_environment(), "WHORL_TOKEN": server.token}
    arguments = [server.url, iri, str(directory / "checkpoint"), str(BATCHES), str(ROWS)]
    command = [sys.executable, str(script), *arguments]
    with (directory / "job.log").open("ab") as log:
        environment["PYTHONPATH"] += os.pathsep + str(script.parent) + os.pathsep + str(script.parents[1] / "common")
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def _wait_for_events(client: Client, iri: str, wanted: int, job: subprocess.Popen[bytes]) -> None:
    while events(client, iri) < wanted:
        assert job.poll() is None, "the job ended by itself"
        time.sleep(0.05)
