"""A test that is timed out fails alone: the others run, and its server is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_TESTS = """
import os, signal, subprocess, sys, time
from reaper import watch

def test_it_hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    watch(child)
    open("child", "w").write(str(child.pid))
    {hang}

def test_the_next_one_runs():
    pass
"""


def run_tests(directory: Path, hang: str) -> tuple[int, str]:
    """Tests in a directory of their own, under the rules of this suite for tests of servers."""
    tests = directory / "tests" / "server"
    tests.mkdir(parents=True)
    (tests / "test_hang.py").write_text(_TESTS.format(hang=hang))
    (directory / "tests" / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={directory}"]
    paths = [ROOT / "tests/common", ROOT / "tests/w3c", ROOT / "server", os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [*command, "-o", "timeout=3", "-o", "pythonpath=", str(tests)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def is_alive(directory: Path) -> bool:
    try:
        state = Path("/proc", (directory / "child").read_text(), "stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_time_out_fails_one_test_and_leaves_no_child(tmp_path: Path) -> None:
    code, said = run_tests(tmp_path, "child.wait()")
    assert code == 1, said
    assert "1 failed, 1 passed" in said
    assert not is_alive(tmp_path)


def test_tests_that_are_killed_leave_no_child(tmp_path: Path) -> None:
    code, said = run_tests(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert code == -9, said
    # The reaper is on its way: it was told by the end of the tests, as we were.
    while is_alive(tmp_path):
        pass
