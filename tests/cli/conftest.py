"""Commands are run as a user runs them, in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result
from whorl.cli.app import app

Whorl = Callable[..., Result]


@pytest.fixture
def whorl(monkeypatch: pytest.MonkeyPatch) -> Whorl:
    for name in ("WHORL_URL", "WHORL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    runner = CliRunner()

    def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return runner.invoke(app, list(arguments), input=stdin, prog_name="whorl", catch_exceptions=False)

    return run
