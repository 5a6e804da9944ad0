from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_process import ServerProcess
from whorl_client import Client


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all tests that do not kill it."""
    started = ServerProcess(tmp_path_factory.mktemp("data"), {"registrations_per_minute": 100_000}).start()
    yield started
    assert started.stop() == 0
    assert "Traceback" not in started.log


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.token) as client:
        yield client


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Start a server of the test's own, which it may kill."""
    started: list[ServerProcess] = []

    def start(**settings: Any) -> ServerProcess:
        server = ServerProcess(tmp_path / "data", settings)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def iri(request: pytest.FixtureRequest) -> str:
    """The IRI of a stream of the test's own."""
    return f"http://example.org/{request.node.name.replace('[', '/').replace(']', '')}"
