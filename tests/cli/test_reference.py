"""The help is complete, and the pages of the manual agree with it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result
from whorl.cli.app import COMMANDS, load
from whorl.cli.reference import reference
from whorl.server.settings import Settings

Whorl = Callable[..., Result]
ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_the_commands_say() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    assert page == reference(), "python -m whorl.cli.reference > docs/reference/cli.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_that_it_understands(command: str) -> None:
    parser = load(command)
    examples = re.findall(rf"whorl ({command}\b[^\n|]*)", re.sub(r" > \S+", "", parser.help))
    assert examples
    for example in examples:
        # Parsing alone: wrong names of options and missing arguments are errors here.
        parser.make_context("whorl", shlex.split(example)[1:])


def test_every_setting_is_an_option_of_serve(whorl: Whorl) -> None:
    shown = whorl("serve", "--help").stdout
    for name, field in Settings.model_fields.items():
        assert f"--{name.replace('_', '-')} " in shown
        assert f"WHORL_{name.upper()}" in shown
        assert field.description is not None, name
        assert field.description[:20] in re.sub(r"\s+", " ", shown)


def test_options_of_serve_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.cli.serve import settings_of

    monkeypatch.setenv("WHORL_PORT", "9001")
    monkeypatch.setenv("WHORL_ACK", "memory")
    chosen = settings_of({"port": 9002, "ack": None, "allowed_hosts": ["a.example", "b.example"]})
    assert (chosen.port, chosen.ack, chosen.allowed_hosts) == (9002, "memory", ("a.example", "b.example"))


@pytest.mark.parametrize(("option", "value"), [("--port", "70000"), ("--ack", "never"), ("--tick-ms", "1")])
def test_a_wrong_setting_is_wrong_use_and_named(whorl: Whorl, option: str, value: str) -> None:
    result = whorl("serve", option, value)
    assert result.exit_code == 2
    assert f"error: {option}: " in result.stderr


def test_a_wrong_variable_is_named(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_PORT", "many")
    result = whorl("serve")
    assert result.exit_code == 2
    assert "WHORL_PORT" in result.stderr


@pytest.mark.parametrize("command", [["status"], ["queries"], ["streams"], ["query", "avg"], ["explain", "avg"]])
def test_without_a_server_the_command_says_how_to_start_one(whorl: Whorl, command: list[str]) -> None:
    # Port 9 is discard: nothing listens there.
    result = whorl(*command, "--url", "http://127.0.0.1:9")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "whorl serve" in result.stderr


def test_an_address_that_is_none_is_wrong_use(whorl: Whorl) -> None:
    assert whorl("status", "--url", "nonsense").exit_code == 2


def test_completion_knows_the_commands() -> None:
    import os
    import subprocess
    import sys

    environment = {**os.environ, "_WHORL_COMPLETE": "complete_bash", "COMP_WORDS": "whorl st", "COMP_CWORD": "1"}
    script = "import sys; sys.argv[0] = 'whorl'; from whorl.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.split() == ["streams", "status"]


def test_the_token_is_read_from_the_file_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.cli.remote import local_token

    (tmp_path / "secret").write_text("mounted\n")
    monkeypatch.delenv("WHORL_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert local_token("http://whorl:8080") is None
    monkeypatch.setenv("WHORL_TOKEN_FILE", str(tmp_path / "secret"))
    assert local_token("http://whorl:8080") == "mounted"
