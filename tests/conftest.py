"""Rules for all tests: campaigns run only on request, and no server opens outbound connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import server_process
from listener import Listener
from server_process import ServerProcess
from whorl_w3c.table import Outcome, table

# Their tests wait for other processes, in Python: a signal reaches them, fails one test and lets the others run. A test
# that waits inside the engine cannot be reached; a time-out there ends the run.
_OUTSIDE = {"cli", "client", "console", "docs", "faults", "packaging", "server", "spark"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _OUTSIDE & set(item.path.relative_to(Path(__file__).parent).parts[:1]):
            _time_out_by_signal(item, float(config.getini("timeout") or 0))
    if os.environ.get("WHORL_CAMPAIGN") == "long":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="runs with WHORL_CAMPAIGN=long"))


def _time_out_by_signal(item: pytest.Item, default_s: float) -> None:
    marker = item.get_closest_marker("timeout")
    seconds = marker.args[0] if marker is not None and marker.args else default_s
    item.add_marker(pytest.mark.timeout(seconds, method="signal"), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The W3C tests by directory, as far as they ran; here, because workers run tests and this process prints."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    outcomes = [
        Outcome(*value)
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "w3c" and report.when == "call"
    ]
    if outcomes:
        terminalreporter.section("W3C SPARQL tests through the engine")
        terminalreporter.write_line(table(outcomes))


@pytest.fixture(scope="session", autouse=True)
def listener() -> Iterator[Listener]:
    """All outbound connections come here: it is the proxy of all servers, and hostile requests point at it."""
    started = Listener()
    server_process.proxy_url = started.url
    yield started
    assert started.close() == []


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Start servers of the test's own, in its own directory, with settings; it may kill them."""
    started: list[ServerProcess] = []

    def start(**settings: Any) -> ServerProcess:
        server = ServerProcess(tmp_path / "data", settings)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.kill()
