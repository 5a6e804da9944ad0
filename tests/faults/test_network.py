"""A bad network between the server and its clients: delay, loss, disorder, resets and cuts; nothing is lost or doubled.

It runs in a network namespace of its own, where the loopback device is spoiled: this file starts itself there. Without
the right to make namespaces it is skipped; where the kernel has no netem, connections are reset and cut all the same.
What is checked is what test_kill.py checks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign_size import sized
from killers import Killer
from server_process import ServerProcess
from survival import campaign, own_port

_INSIDE = "NETWORK_OF_ITS_OWN"
_NETEM = ["delay 5ms 3ms", "delay 20ms 10ms loss 2%", "delay 10ms reorder 25% 50%", "loss 5% duplicate 2%"]
# Of a cut; the client's patience is longer.
_CUT_S = 1.5
StartServer = Callable[..., ServerProcess]


def run(command: str) -> None:
    program, *arguments = command.split()
    subprocess.run([shutil.which(program) or program, *arguments], check=True, capture_output=True)


def spoil(rule: str) -> None:
    if os.environ[_INSIDE] == "netem":
        run(f"tc qdisc replace dev lo root netem {rule}")


class BadNetwork(Killer):
    """Spoils the network in the place of killing: another rule, then a reset of every connection, or a cut."""

    def _cycle(self, cycle: int) -> None:
        spoil(_NETEM[cycle % len(_NETEM)])
        self.is_done.wait(self.chance.uniform(0.3, 1.0))
        if cycle % 2:
            run("ip link set lo down")
            self.is_done.wait(_CUT_S)
            run("ip link set lo up")
        else:
            run(f"ss -K sport = {self.server.settings['port']}")
        self.kills += 1
        if cycle == self.cycles - 1:
            spoil("delay 1ms")


def is_possible(script: str) -> bool:
    """Whether a script succeeds in a namespace of its own."""
    unshare = shutil.which("unshare")
    if unshare is None or not all(shutil.which(tool) for tool in ("tc", "ip", "ss")):
        return False
    return subprocess.run([unshare, "-n", "sh", "-c", script], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(_INSIDE in os.environ, reason="it is inside")
@pytest.mark.parametrize("share", ["short", pytest.param("long", marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_a_network_of_its_own_is_spoiled(share: str) -> None:
    if not is_possible("ip link set lo up"):
        pytest.skip("network namespaces are not permitted here")
    netem = is_possible("ip link set lo up && tc qdisc add dev lo root netem delay 1ms")
    print("with" if netem else "without", "delay, loss and disorder by tc netem")  # noqa: T201 - belongs to the figures
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-k", f"bad_network and {share}", str(Path(__file__))]
    done = subprocess.run(
        [shutil.which("unshare") or "unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command],
        env={**os.environ, _INSIDE: "netem" if netem else "cuts"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout[-2000:])  # noqa: T201 - the figures belong into the report
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "1 passed" in done.stdout


@pytest.mark.skipif(_INSIDE not in os.environ, reason="runs in a network of its own")
@pytest.mark.parametrize(
    ("way", "cycles"),
    [
        pytest.param("sequences", 3, id="short"),
        pytest.param("sequences", sized(100), id="long", marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
def test_a_bad_network_loses_nothing(start_server: StartServer, way: str, cycles: int) -> None:
    campaign(BadNetwork(start_server(port=own_port()), cycles, seed=cycles), way)
