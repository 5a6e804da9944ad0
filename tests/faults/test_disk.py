"""Disks that fail, lose power or rot: what was acknowledged is there, or its loss is named; what was refused never is.

The mechanism is a library that is preloaded before libc (disk/shim.c). It makes real calls of the process fail, and
keeps a trace of writes and syncs, from which power cuts at any moment are made (disk/power_cut.py). The long form is
the campaign of docs/reliability.md: 5,600 runs and power cuts, 5,000 damaged stores.

Does not detect: a disk that acknowledges a sync and then loses both the log and the mark.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from campaign_size import sized
from server_process import ServerProcess
from shim import Call, build, compiler

DISK = Path(__file__).with_name("disk")
ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or compiler() is None, reason="needs Linux and a C compiler"
)
STREAM = "/streams/http://ex.org/s"
TURTLE = {"Content-Type": "text/turtle"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("shim"))


def run_campaign(library: Path, directory: Path, **counts: int) -> dict[str, int]:
    options = [word for name, count in counts.items() for word in (f"--{name}", str(count))]
    path = os.pathsep.join([str(SERVER), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(DISK / "campaign.py"), str(directory), *options],
        env={**os.environ, "PYTHONPATH": path, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, int] = json.loads(done.stdout)
    print(found)  # noqa: T201 - the figures belong into the report
    return found


@pytest.mark.parametrize(
    ("faults", "cuts"), [(40, 6), pytest.param(sized(800), 6, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_calls_that_fail_and_power_cuts_lose_nothing(library: Path, tmp_path: Path, faults: int, cuts: int) -> None:
    found = run_campaign(library, tmp_path, faults=faults, cuts=cuts, seed=faults)
    assert (found["faults"], found["power cuts"]) == (faults, faults * cuts)
    # The campaign must have had an effect.
    assert found["faults that struck"] > faults // 4
    assert found["steps refused"] > 0
    assert found["outcomes unknown"] > 0


@pytest.mark.parametrize(
    "mutations", [200, pytest.param(sized(5000), marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_a_mutated_store_is_whole_or_refused_by_name(library: Path, tmp_path: Path, mutations: int) -> None:
    found = run_campaign(library, tmp_path, mutations=mutations, seed=mutations)
    assert found["mutations"] == mutations
    assert found["mutations refused by name"] + found["mutations repaired or harmless"] == mutations
    assert min(found["mutations refused by name"], found["losses accepted"]) > mutations // 4


# ---- the server ----


class Producer:
    """Pushes one event after the other to a stream, and records each outcome."""

    def __init__(self, stream: str = STREAM) -> None:
        self.stream = stream
        self.accepted = 0
        self.refused = 0
        self.unknown = 0

    def push(self, client: httpx.Client, number: int) -> None:
        body = f"<urn:x{number}> <http://ex.org/p> {number} ."
        answer = client.post(self.stream, params={"t": number}, content=body, headers=TURTLE)
        if answer.status_code == 202:
            self.accepted += 1
        else:
            assert answer.status_code == 503, answer.text
            is_unknown = answer.json()["type"].endswith("outcome-unknown")
            self.unknown += is_unknown
            self.refused += not is_unknown

    def push_many(self, server: ServerProcess, count: int) -> None:
        with server.client() as client:
            for number in range(count):
                self.push(client, number)

    def check(self, client: httpx.Client) -> None:
        """After a restart, its events are those that were accepted, and perhaps those whose outcome is unknown."""
        events = client.get(self.stream).json()["events"]
        assert self.accepted <= events <= self.accepted + self.unknown, (self.stream, events)


def until_ready(client: httpx.Client) -> None:
    """A server that could undo its write is rebuilding its state, and comes back by itself."""
    deadline = time.monotonic() + 60
    while client.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline


FAILING_CALLS = pytest.mark.parametrize(
    ("name", "call", "times", "error"),
    [
        pytest.param("acknowledged", Call.SYNC, 1, errno.EIO, id="one sync of the mark"),
        pytest.param("log-", Call.SYNC, -1, errno.EIO, id="every sync of the log"),
        pytest.param("log-", Call.WRITE, 1, errno.ENOSPC, id="no room for the log"),
        pytest.param("log-", Call.SYNC, 1, errno.EIO, id="one sync of the log", marks=pytest.mark.long),
        pytest.param("log-", Call.SYNC, 2, errno.EIO, id="two syncs of the log", marks=pytest.mark.long),
        pytest.param("acknowledged", Call.SYNC, 2, errno.EIO, id="two syncs of the mark", marks=pytest.mark.long),
        pytest.param("acknowledged", Call.SYNC, -1, errno.EIO, id="every sync of the mark", marks=pytest.mark.long),
        pytest.param("acknowledged", Call.WRITE, 1, errno.EIO, id="one write of the mark", marks=pytest.mark.long),
        pytest.param("log-", Call.WRITE, -1, errno.ENOSPC, id="a full disk", marks=pytest.mark.long),
    ],
)


@FAILING_CALLS
@pytest.mark.parametrize("n_producers", [1, 4])
def test_clients_of_a_failing_disk_and_the_server_after_it_agree(
    start_server: Callable[..., ServerProcess],
    library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    call: Call,
    times: int,
    error: int,
    n_producers: int,
) -> None:
    """Several producers share a commit: what is said of it holds for each of them."""
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("SHIM_DIR", str(tmp_path))
        patch.setenv("SHIM_NAME", name)
        patch.setenv("SHIM_ARM", f"{int(call)},12,{times},{error}")
        server = start_server()
    producers = [Producer(f"{STREAM}{number}") for number in range(n_producers)]
    with server.client() as client:
        for producer in producers:
            client.put(producer.stream).raise_for_status()
    with ThreadPoolExecutor(n_producers) as pool:
        for pushing in [pool.submit(producer.push_many, server, 40) for producer in producers]:
            pushing.result()
    unknown = sum(producer.unknown for producer in producers)
    with server.client() as client:
        if unknown:
            assert client.get("/readyz").status_code == 503
        else:
            until_ready(client)
    server.kill()
    assert sum(producer.refused for producer in producers) + unknown > 0
    server.start()
    with server.client() as client:
        for producer in producers:
            producer.check(client)
