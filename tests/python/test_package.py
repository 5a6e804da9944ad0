"""The package itself: what it exports, and that its examples run."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest
import whorl
import whorl.engine
from whorl import errors

ROOT = Path(__file__).parents[2]


def test_everything_exported_exists_and_every_error_is_exported() -> None:
    assert [name for name in whorl.__all__ if not hasattr(whorl, name)] == []
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")}
    assert defined <= set(whorl.__all__)


def test_version_stands_in_one_place() -> None:
    cargo = (ROOT / "Cargo.toml").read_text()
    found = re.search(r'^version = "(.*)"$', cargo, re.MULTILINE)
    assert found is not None
    assert whorl.__version__ == found[1]


@pytest.mark.parametrize("module", [whorl, whorl.engine], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module: ModuleType) -> None:
    tried = doctest.testmod(module)
    assert (tried.failed, tried.attempted > 0) == (0, True)


def test_quickstart_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"), run_name="__main__")
    output = capsys.readouterr().out
    assert "alarm" in output
    assert "on average" in output
