"""The guides for the server are correct: their commands run against a server, and print what the guides show."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_process import ServerProcess

GUIDES = Path(__file__).parents[2] / "docs/how-to"
_ADDRESS = "http://127.0.0.1:8080"
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path / "whorl-data").start()
    yield started
    started.kill()


def test_the_guide_to_the_client_runs(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_TOKEN", server.token)
    names: dict[str, Any] = {}
    said = ""
    for language, text in _fenced("python-client.md"):
        if language == "python":
            said = _output_of(text.replace(_ADDRESS, server.url), names)
        elif language == "text":
            assert said == text


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")
def test_the_ten_commands_run(server: ServerProcess) -> None:
    walk = (GUIDES / "run-the-server.md").read_text().split("## Ten commands")[1].split("\n## ")[0]
    commands = [text for language, text in _blocks(walk) if language == "" and "websocat" not in text]
    script = "set -e\n" + "\necho\n".join(commands).replace(_ADDRESS, server.url).replace("curl ", "curl -sS --fail ")
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607 - whichever bash the reader has
        cwd=server.data_dir.parent,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for language, text in _blocks(walk):
        if language in {"text", "json"}:
            assert text in done.stdout.replace("\r\n", "\n")


def _fenced(guide: str) -> list[tuple[str, str]]:
    return _blocks((GUIDES / guide).read_text())


def _blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks: language and text, without the indentation of the list they stand in."""
    return [
        (language, re.sub(rf"^{indent}", "", block, flags=re.MULTILINE))
        for indent, language, block in _FENCED.findall(text)
    ]


def _output_of(code: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "guide", "exec"), names)  # noqa: S102 - our own documentation
    return output.getvalue()
