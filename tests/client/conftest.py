from __future__ import annotations

from collections.abc import Iterator

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
def iri(request: pytest.FixtureRequest) -> str:
    """The IRI of a stream that only this test uses."""
    return f"http://example.org/{request.node.name.replace('[', '/').replace(']', '')}"
