"""Servers do not outlive the tests that started them, however those end: not even when the test process is killed.

A small separate process learns of every child. It waits at a pipe that ends with the test process, and then kills
the remaining ones. The start time distinguishes a process id that another process has got meanwhile.
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

_SCRIPT = """
import os, signal, sys
from pathlib import Path

children = [line.split() for line in sys.stdin]
for number, began in children:
    try:
        found = Path("/proc", number, "stat").read_text().rpartition(")")[2].split()[19]
        if found == began:
            os.kill(int(number), signal.SIGKILL)
    except OSError:
        pass
"""


def watch(child: subprocess.Popen[Any]) -> None:
    """Kill this child when the test process has ended, if it is still there."""
    try:
        began = Path("/proc", str(child.pid), "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return
    pipe = _pipe()
    pipe.write(f"{child.pid} {began}\n")
    pipe.flush()


@functools.cache
def _pipe() -> IO[str]:
    # In a session of its own, so that a signal to the group of the tests does not end it first.
    reaper = subprocess.Popen([sys.executable, "-c", _SCRIPT], stdin=subprocess.PIPE, text=True, start_new_session=True)
    pipe = reaper.stdin
    assert pipe is not None

    def end() -> None:
        pipe.close()
        reaper.wait()

    atexit.register(end)
    return pipe
