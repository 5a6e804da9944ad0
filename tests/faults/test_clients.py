"""Hostile clients, in a separate process, beside a producer and a subscriber that must not be affected.

For each kind the bystanders work alone first and then beside it. Nothing of theirs is lost or refused; the attackers
are refused or ended where they must be, and what they held is free again. How long pushes, results and health checks
took before and during is printed: it depends on the machine, and docs/reliability.md has figures of the long form.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from attackers import KINDS
from campaign_size import sized
from canary import PUSHES_PER_WINDOW, Canary
from measure import Meter
from server_process import ServerProcess
from whorl_client import Client

ATTACKERS = Path(__file__).with_name("clients") / "attackers.py"
LONG = [pytest.mark.long, pytest.mark.timeout(3600)]
# The outcomes that each kind must have had at least once.
_MET = {
    "slow": "bytes",
    "idle": "connections",
    "clinging": "ended by the server",
    "flooding": "status 401",
    "malformed": "ended by the server",
    "credit": "subscriptions",
    "forged": "status 401",
}


def until(holds: Callable[[], bool]) -> None:
    """What is left of connections is noticed by and by, and so are results."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class HealthWatch:
    """Asks for the health of the server all the time, from outside of its loop: a stall shows as a late answer."""

    def __init__(self, server: ServerProcess) -> None:
        self.waits_s: list[float] = []
        self.statuses: set[int] = set()
        self._url = server.url
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with httpx.Client(base_url=self._url, timeout=60, trust_env=False) as client:
            while not self._done.wait(0.02):
                began = time.perf_counter()
                self.statuses.add(client.get("/healthz").status_code)
                self.waits_s.append(time.perf_counter() - began)

    def finish(self) -> list[float]:
        self._done.set()
        self._thread.join()
        assert self.statuses == {200}
        return self.waits_s


class Subscriber:
    """Follows the query of the canary, and notes when each result came."""

    def __init__(self, server: ServerProcess) -> None:
        self.came_s: dict[int, float] = {}
        self._client = Client(server.url, server.token)
        self._subscription = self._client.subscribe("canary", "earliest")
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        for result in self._subscription:
            self.came_s[result.seq] = time.perf_counter()

    def waits_s(self, canary: Canary, first: int) -> list[float]:
        """From the push that ended a window to its result, for pushes from this one on."""
        ends = ((PUSHES_PER_WINDOW * seq, came_s) for seq, came_s in self.came_s.items())
        return [came_s - canary.began_s[push] for push, came_s in ends if first <= push < len(canary.began_s)]

    def finish(self, last_seq: int) -> None:
        until(lambda: last_seq in self.came_s)
        assert list(self.came_s) == list(range(1, last_seq + 1))
        self._subscription.close()
        self._thread.join(30)
        assert not self._thread.is_alive()
        self._client.close()


def percentile_ms(waits_s: list[float], share: float) -> float:
    return round(1000 * sorted(waits_s)[int(share * (len(waits_s) - 1))], 1) if waits_s else math.nan


def observed(
    server: ServerProcess, canary: Canary, subscriber: Subscriber, work: Callable[[], None]
) -> dict[str, tuple[float, ...]]:
    """How long others waited while something was done: in the middle, p99 and at most, in milliseconds."""
    first, health = len(canary.waits_s), HealthWatch(server)
    work()
    waits = {"health": health.finish(), "push": canary.waits_s[first:], "result": subscriber.waits_s(canary, first)}
    return {name: tuple(percentile_ms(sample, share) for share in (0.5, 0.99, 1)) for name, sample in waits.items()}


def attack(server: ServerProcess, token: str, kind: str, seconds: float) -> dict[str, int]:
    url = httpx.URL(server.url)
    command = [sys.executable, str(ATTACKERS), url.host, str(url.port), token, kind, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 120)
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("seconds", [1.0, pytest.param(sized(60), marks=LONG)])
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_notices_hostile_clients(start_server: Callable[..., ServerProcess], kind: str, seconds: float) -> None:
    server = start_server()
    with server.client() as client:
        wanted = {"name": "misused", "scopes": ["subscribe"]}
        token = client.post("/tokens", json=wanted).raise_for_status().json()["token"]
        canary = Canary(server)
        subscriber = Subscriber(server)
        handles = Meter(server).handles()
        before = observed(server, canary, subscriber, lambda: time.sleep(seconds))
        found: dict[str, int] = {}
        during = observed(server, canary, subscriber, lambda: found.update(attack(server, token, kind, seconds)))
        canary.finish()
        subscriber.finish(client.get("/queries/canary").json()["lastSeq"])
        assert found.get(_MET[kind], 0) > 0, found
        assert not any(status.startswith("status 5") for status in found), found
        until(lambda: Meter(server).handles() <= handles + 8)
    assert "Traceback" not in server.log
    print(f"{kind}: {found}\n  before {before}\n  during {during}")  # noqa: T201 - figures
