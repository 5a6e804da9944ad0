"""A bad network between the server and its clients: delay, loss, disorder, resets and cuts; nothing is lost or doubled.

It runs in a network namespace of its own, where the loopback device is spoiled: this file starts itself there. Without
the right to make namespaces it is skipped; where the kernel has no netem, connections are reset and cut all the same.
What is checked is what test_kill.py checks.

Apart from that, a proxy cuts connections inside of their frames, and holds everything back for half a minute.
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
from cutting_proxy import CuttingProxy, Frames
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


class CutConnections(Killer):
    """Cuts connections inside of a frame; now and then nothing passes for a while."""

    def __init__(self, server: ServerProcess, cycles: int, seed: int, silence_s: float) -> None:
        super().__init__(server, cycles, seed)
        self.proxy = CuttingProxy(int(server.url.rpartition(":")[2]), seed)
        server.url = self.proxy.url
        self._silence_s = silence_s

    def _cycle(self, cycle: int) -> None:
        self.is_done.wait(self.chance.uniform(0.05, 0.3))
        if cycle % 25 == 2:
            self.proxy.let_nothing_pass(self._silence_s)
        else:
            self.proxy.cut_one(within_s=20)
        self.kills += 1


@pytest.mark.parametrize(
    ("cycles", "silence_s"),
    [(6, 1.0), pytest.param(sized(100), 30.0, marks=[pytest.mark.long, pytest.mark.timeout(3600)])],
)
@pytest.mark.parametrize("way", ["sequences", "sockets"])
def test_connections_that_are_cut_inside_of_frames_lose_nothing(
    start_server: StartServer, way: str, cycles: int, silence_s: float
) -> None:
    cutter = CutConnections(start_server(), cycles, cycles, silence_s)
    try:
        campaign(cutter, way)
    finally:
        cutter.proxy.close()
    print(f"{cutter.proxy.in_frames} inside of frames, {cutter.proxy.elsewhere} elsewhere")  # noqa: T201 - figures
    assert cutter.proxy.in_frames > 0


def test_the_proxy_knows_where_frames_begin() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    large = b"\x81\x7e\x01\x00" + b"x" * 256
    frames = Frames()
    assert frames.inside(head) is None
    assert frames.inside(b"\x81\x05hello") == 3
    # The rest of a frame can be cut, too, as long as a byte of it comes after.
    assert frames.inside(large[:1]) is None
    assert frames.inside(large[1:]) == 130
    assert frames.inside(b"\x81\x02hi" + large) == 2
