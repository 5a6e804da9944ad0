"""What holds for all tests: campaigns run only when they are asked for."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("WHORL_CAMPAIGN") == "long":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="runs with WHORL_CAMPAIGN=long"))
