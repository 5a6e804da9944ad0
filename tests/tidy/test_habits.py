"""One way to check and to build: hooks, hosted CI and the toolchain file say what the Makefile and Cargo.toml say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
LIBRARIES = ("engine-rs/Cargo.toml", "engine-rs/python/Cargo.toml")


def recipe(target: str) -> list[str]:
    """The commands of a target that are shown when it runs, with its variables expanded."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None
    lines = [line.removeprefix("\t") for line in found[1].splitlines()]
    return [expanded(line) for line in lines if not line.startswith("@")]


def expanded(text: str) -> str:
    variables = dict(re.findall(r"^(\w+) := (.*)$", MAKEFILE, re.MULTILINE))
    while (found := re.search(r"\$\((\w+)\)", text)) is not None:
        text = text.replace(found[0], variables[found[1]])
    return text


def manifest(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def test_the_hooks_are_the_commands_of_make_lint() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    hooks = repository["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    commands = [*recipe("lint-rust"), *recipe("lint-python")]
    assert [_command(hook["entry"]) for hook in hooks] == commands


def _command(entry: str) -> str:
    """What a hook runs, without the shell that sets a variable for it."""
    found = re.fullmatch(r"bash -c 'PYO3_PYTHON=\"\$PWD/\.venv/bin/python\" (.*)'", entry)
    return entry if found is None else found[1]


def test_hosted_ci_runs_what_everybody_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    assert workflow["permissions"] == {"contents": "read"}
    pinned = re.compile(r"actions/[a-z-]+@[0-9a-f]{40}")
    assert all(pinned.fullmatch(step["uses"]) for step in job["steps"] if "uses" in step)


def test_the_toolchain_has_what_lint_needs() -> None:
    toolchain = manifest("rust-toolchain.toml")["toolchain"]
    assert toolchain == {"channel": "stable", "components": ["rustfmt", "clippy"]}


def test_the_lowest_rust_is_the_one_that_the_documents_name() -> None:
    lowest = manifest("Cargo.toml")["workspace"]["package"]["rust-version"]
    for page in ("README.md", "CONTRIBUTING.md"):
        assert f"{lowest} or newer" in (ROOT / page).read_text(), page


def test_libraries_take_compatible_versions_of_their_dependencies() -> None:
    wanted = [(name, _version(one)) for path in LIBRARIES for name, one in manifest(path)["dependencies"].items()]
    assert [(name, version) for name, version in wanted if version.startswith("=")] == []


def _version(dependency: str | dict[str, Any]) -> str:
    return dependency if isinstance(dependency, str) else str(dependency.get("version", ""))
