from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_process import ServerProcess


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("WHORL_CAMPAIGN") == "long":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="runs with WHORL_CAMPAIGN=long"))


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
