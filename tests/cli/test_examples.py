"""Every command that `examples/README.md` lists runs, and every query of the scenarios finds something."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from reference_data import reference_path

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"^\| `((?:python|whorl) [^`]*)` \|", (ROOT / "examples/README.md").read_text(), re.MULTILINE)
WHORL = "import sys; sys.argv[0] = 'whorl'; from whorl.cli import main; main()"
# They find nothing in the small slice of their data, as the tests of the workload say.
FRUITLESS = {"lubm/q1.cqels", "lubm/q3.cqels"}
LARGE = {"citybench": "q1.cqels", "lsbench": "q1.cqels", "srbench": "q1.rspql"}
needs_data = pytest.mark.skipif(
    reference_path("data", "README.md") is None, reason="the public data is not there; set WHORL_TEST_DATA"
)


def ran(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program, *words = shlex.split(command)
    start = [sys.executable, *(["-c", WHORL] if program == "whorl" else [])]
    surroundings = os.environ | environment
    return subprocess.run(
        [*start, *words], cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )


def listed(*, is_scenario: bool) -> list[str]:
    return [command for command in COMMANDS if ("examples/run.py" in command) == is_scenario]


def test_every_folder_of_queries_has_a_command() -> None:
    folders = {path.name for path in (ROOT / "examples").iterdir() if any(path.glob("*.*q*"))}
    # The commands of feeding stand in their guide; `--demo` plays the queries of the demo.
    assert {folder for folder in folders if not re.search(rf"[ /-]{folder}\b", str(COMMANDS))} == {"feeding"}


def alone() -> list[str]:
    """Commands that need no server and no input; the lines of the challenge have tests of their own."""
    return [command for command in listed(is_scenario=False) if "serve" not in command and " < " not in command]


@pytest.mark.parametrize("command", alone())
def test_a_command_without_data_sets_runs(command: str) -> None:
    shown = ran(command)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout


def marked() -> Iterator[object]:
    """Scenarios with much static data or many queries: one query of each, and all of them in the long campaign."""
    for command in listed(is_scenario=True):
        is_large = command.split()[-1] in LARGE
        yield pytest.param(command, marks=pytest.mark.long if is_large else ())
        if is_large:
            yield f"{command}/{LARGE[command.split()[-1]]}"


@needs_data
@pytest.mark.parametrize("command", list(marked()))
def test_a_scenario_runs_and_its_queries_find_something(command: str) -> None:
    shown = ran(command)
    assert shown.returncode == 0, shown.stderr
    found = dict(re.findall(r"^(\S+/\S+) .* (\d+) rows", shown.stdout, re.MULTILINE))
    assert {name for name, rows in found.items() if rows == "0"} <= FRUITLESS
    folder = command.split()[2].partition("/")[0]
    assert "/" in command.split()[2] or set(found) == {
        f"{folder}/{path.name}" for path in (ROOT / "examples" / folder).glob("*.*q*")
    }


def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path) -> None:
    absent = ran("python examples/run.py csrbench", WHORL_TEST_DATA=str(tmp_path / "nothing"))
    assert (absent.returncode, absent.stdout) == (1, "")
    assert "hint: set WHORL_TEST_DATA to the folder with the data sets" in absent.stderr
    mistyped = ran("python examples/run.py srbenc")
    assert mistyped.returncode == 1
    assert "there is no scenario 'srbenc'; there are csrbench, conference," in mistyped.stderr
