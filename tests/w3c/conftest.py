"""The package beside this file, and the table at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The results by directory, as far as tests were run."""
    from whorl_w3c.table import table

    reports = [report for found in terminalreporter.stats.values() for report in found]
    verdicts = [
        value
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "w3c" and report.when == "call"
    ]
    if verdicts:
        terminalreporter.section("W3C SPARQL tests through the engine")
        terminalreporter.write_line(table(verdicts))
