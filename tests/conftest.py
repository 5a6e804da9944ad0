"""What holds for all tests: campaigns run only when they are asked for, and no server calls anybody."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import server_process
from listener import Listener


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("WHORL_CAMPAIGN") == "long":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="runs with WHORL_CAMPAIGN=long"))


@pytest.fixture(scope="session", autouse=True)
def listener() -> Iterator[Listener]:
    """Who calls out calls here: servers of the suite have it as their proxy, and hostile requests point at it."""
    started = Listener()
    server_process.proxy_url = started.url
    yield started
    assert started.close() == []
