"""The commands of the README and of the guide to the command line run as they stand, beside a server with the demo.

Changed are only the address of the server, and commands that go on for ever: they end with their first result. What
opens a browser, waits for the demo's next fire or needs Spark is left out; `tests/spark/test_guides.py` has the last.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo_server import DemoServer, free_port

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ADDRESS = "127.0.0.1:8080"
_LEFT_OUT = (
    "whorl open",
    "fire-alert",
    "websocat",
    "whorl spark",
    "whorl serve",
    "source .venv",
    "curl -N",
    "make ",
    "docker ",
)

pytestmark = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the examples, as the repository has them."""
    folder = tmp_path_factory.mktemp("walk")
    shutil.copytree(ROOT / "examples/first", folder / "examples/first")
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[DemoServer]:
    started = DemoServer(place / "whorl-data", free_port())
    started.start()
    yield started
    started.kill()


def run(block: str, place: Path, server: DemoServer) -> str:
    """What the commands of a block print; each must succeed."""
    script = re.sub(r"--follow(?! --limit)", "--follow --limit 1", block.replace(_ADDRESS, f"127.0.0.1:{server.port}"))
    lines = script.replace("\\\n", " ").split("\n")
    kept = "\n".join(line for line in lines if not any(word in line for word in _LEFT_OUT))
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "WHORL_URL": f"http://127.0.0.1:{server.port}",
        "WHORL_DATA_DIR": str(server.data_dir),
        "NO_COLOR": "1",
        "HOME": str(place),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", kept],  # noqa: S607 - whichever bash the reader has
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{kept}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def commands(page: str, heading: str) -> list[str]:
    """The blocks of commands below a heading."""
    section = (ROOT / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [text for language, text in _FENCED.findall(section) if language == ""]


def test_the_first_minutes_of_the_readme(place: Path, server: DemoServer) -> None:
    listed, asked, fed = commands("README.md", "The first minutes")
    said = run(listed, place, server)
    assert "average-temperature" in said
    assert "row" in run(asked, place, server)
    assert ":attic" in run(fed.replace("--speed x60", "--speed max"), place, server)


def test_curl_in_the_readme(place: Path, server: DemoServer) -> None:
    (block,) = commands("README.md", "With curl")
    assert run(block, place, server).startswith("room,mean,readings")


def test_python_over_the_network_in_the_readme(place: Path, server: DemoServer) -> None:
    section = (ROOT / "README.md").read_text().split("\n## From Python, over the network\n")[1].split("\n## ")[0]
    ((_, code),) = _FENCED.findall(section)
    (place / "subscribe.py").write_text(code.replace(_ADDRESS, f"127.0.0.1:{server.port}"))
    assert run("python subscribe.py\n", place, server).count("room") >= 3


def test_the_guide_to_the_command_line(place: Path, server: DemoServer) -> None:
    page = "docs/how-to/command-line.md"
    (_, demo) = commands(page, "Start the demo")
    assert "average-temperature" in run(demo, place, server)
    (without,) = commands(page, "Without a server")
    printed = run(without, place, server)
    section = (ROOT / page).read_text().split("\n## Without a server\n")[1].split("\n## ")[0]
    (shown,) = [text for language, text in _FENCED.findall(section) if language == "text"]
    assert shown in printed
    (push,) = commands(page, "Feed a stream")
    assert "hot" in run("cd examples/first\n" + push, place, server)


def test_the_mappings_in_the_guides_are_the_files(place: Path) -> None:
    for page, name in (("command-line.md", "rows.rq"), ("kafka.md", "topic.rq")):
        shown = [
            text
            for language, text in _FENCED.findall((ROOT / "docs/how-to" / page).read_text())
            if language == "sparql"
        ]
        file = re.sub(r"^#.*\n", "", (place / "examples/first" / name).read_text())
        assert file in shown, page
