"""What the packages say of themselves. The wheels are built and used by `make wheel-test`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from email.message import Message
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """What the wheel of whorl will say of itself."""
    directory = tmp_path_factory.mktemp("metadata")
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "pep517", "write-dist-info", "--metadata-directory", str(directory)]
    command += ["--interpreter", sys.executable]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (written,) = directory.glob("*.dist-info/METADATA")
    return Parser().parsestr(written.read_text())


def test_the_version_of_both_packages_is_that_of_the_workspace(metadata: Message) -> None:
    assert metadata["Version"] == VERSION
    assert version("whorl-client") == VERSION
    manifest = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())
    assert manifest["project"]["dynamic"] == ["version"]


def test_the_command_line_has_the_client_it_imports(metadata: Message) -> None:
    wanted = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    (client,) = [one for one in wanted if one.name == "whorl-client" and one.marker is None]
    assert VERSION in client.specifier


def test_the_extras_are_there(metadata: Message) -> None:
    assert {"arrow", "pandas", "spark", "dev"} <= set(metadata.get_all("Provides-Extra", []))


def test_nothing_of_the_package_imports_what_the_client_keeps_to_itself() -> None:
    sources = list((ROOT / "server/whorl").rglob("*.py"))
    assert [path.name for path in sources if "whorl_client._" in path.read_text()] == []
