from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_process import ServerProcess


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
