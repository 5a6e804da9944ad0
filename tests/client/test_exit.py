"""Programs that end during a subscription do end, whatever is still open.

When the interpreter ends, the thread that reads a socket does not run any more. A finalizer that waits for it waits for
good, so each program here is a separate process, and a hang is a `TimeoutExpired`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from client_model import envelope
from client_sockets import Player, ScriptedSockets, scripted_sockets

# Much longer than any of them takes.
HANGS_AFTER_S = 60

HELD = """
client = Client(sys.argv[1])
results = client.subscribe("q")
raise RuntimeError("the fault of the program")
"""
IN_A_LOOP = """
client = Client(sys.argv[1])
for result in client.subscribe("q"):
    raise RuntimeError("the fault of the program")
"""
IN_A_FUNCTION = """
def first():
    client = Client(sys.argv[1])
    results = client.subscribe("q")
    return next(results), results

kept = first()
raise RuntimeError("the fault of the program")
"""
IN_A_CYCLE = """
class Holder:
    def __init__(self, client):
        self.results = client.subscribe("q")
        self.me = self

holder = Holder(Client(sys.argv[1]))
raise RuntimeError("the fault of the program")
"""
ASYNC_HELD = """
async def main():
    global results
    client = AsyncClient(sys.argv[1])
    results = client.subscribe("q")
    await results.start()
    raise RuntimeError("the fault of the program")

asyncio.run(main())
"""
ASYNC_IN_A_LOOP = """
async def main():
    client = AsyncClient(sys.argv[1])
    async for result in client.subscribe("q"):
        raise RuntimeError("the fault of the program")

asyncio.run(main())
"""


def follows(player: Player, _: ScriptedSockets) -> None:
    """Serve one result, and then nothing."""
    player.greet()
    player.say("next", envelope(1))
    player.socket.recv(HANGS_AFTER_S)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(HELD, id="held"),
        pytest.param(IN_A_LOOP, id="in_a_loop"),
        pytest.param(IN_A_FUNCTION, id="in_a_function"),
        pytest.param(IN_A_CYCLE, id="in_a_cycle"),
        pytest.param(ASYNC_HELD, id="async_held"),
        pytest.param(ASYNC_IN_A_LOOP, id="async_in_a_loop"),
    ],
)
def test_a_program_that_raises_while_it_holds_a_subscription_ends(program: str) -> None:
    code = "import asyncio, sys\nfrom whorl_client import AsyncClient, Client\n" + program
    with scripted_sockets(follows) as server:
        command = [sys.executable, "-c", code, server.url]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
        assert server.closed.acquire(timeout=5)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (1, "RuntimeError: the fault of the program")
    assert "Exception ignored" not in ended.stderr
