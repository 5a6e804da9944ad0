from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from live_results import Live, live_server
from server_process import ServerProcess


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for tests that leave nothing behind which others could stumble over."""
    started = ServerProcess(
        tmp_path_factory.mktemp("data"), {"log_format": "json", "registrations_per_minute": 100_000}
    ).start()
    yield started
    assert started.stop() == 0
    assert "Traceback" not in started.log


@pytest.fixture
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def stream(client: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """The path of a stream of the test's own."""
    path = f"/streams/http://ex.org/{re.sub(r'[^A-Za-z0-9]+', '-', request.node.name)}"
    assert client.put(path).status_code == 201
    yield path
    client.delete(path, params={"cascade": "true"})


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with live_server(tmp_path) as running:
        yield running


@pytest.fixture
def make_token(client: httpx.Client) -> Callable[[str], str]:
    def make(name: str) -> str:
        wanted = {"name": name, "scopes": ["register", "subscribe", "ingest"]}
        return str(client.post("/tokens", json=wanted).json()["token"])

    return make
