"""The plain page at `/` shows commands for curl: run as they stand, they end in a result."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from reaper import watch
from server_process import ServerProcess

PAGE = Path(__file__).parents[2] / "server/whorl/server/page.html"
_SECONDS = 60


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_sample_of_the_landing_page_yields_a_result(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    script = "set -e\n" + _sample(server.url).replace("export TOKEN=…", f"export TOKEN={server.token}")
    assert server.token in script
    process = subprocess.Popen(
        ["bash", "-c", script.replace("curl ", "curl -sS --fail ")],  # noqa: S607 - whichever bash the reader has
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    watch(process)
    # The last command does not end by itself; without a result the script is stopped, and the test fails.
    timer = threading.Timer(_SECONDS, lambda: os.killpg(process.pid, 9))
    timer.start()
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("data:") and "http://ex.org/a" in line:
            break
    timer.cancel()
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()
    process.stdout.close()
    assert said, "the script wrote nothing"
    assert "http://ex.org/a" in said[-1], "".join(said)


def _sample(url: str) -> str:
    """The text that the page's script puts into the block, with `base` as the server's address."""
    block = r'getElementById\("curl"\)\.textContent = \[\n(.*?)\n\]\.join\("\\n"\);'
    found = re.search(block, PAGE.read_text(), re.DOTALL)
    assert found is not None
    literals = found.group(1).replace('" + base + "', url)
    lines: list[str] = json.loads("[" + literals.rstrip(",") + "]")
    return "\n".join(lines)
