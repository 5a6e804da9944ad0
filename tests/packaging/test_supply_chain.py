"""What the lock files let in. `make audit` asks more, with tools and services that a test should not need."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DENY = tomllib.loads((ROOT / "deny.toml").read_text())
ALLOWED = set(DENY["licenses"]["allow"])


@pytest.fixture(scope="module")
def packages() -> list[dict[str, Any]]:
    """All crates of the lock file, as they describe themselves."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    listed: list[dict[str, Any]] = json.loads(found.stdout)["packages"]
    return listed


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met by licences that are allowed."""
    words = re.findall(r"\(|\)|\bOR\b|\bAND\b|[^\s()/]+(?: WITH [^\s()]+)?", expression.replace("/", " OR "))
    terms = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    return bool(eval(" ".join(terms.get(word, str(word in ALLOWED)) for word in words)))  # noqa: S307 - of True, False


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT AND Apache-2.0 WITH Classpath-exception-2.0", False),
    ],
)
def test_expressions_are_read_as_they_are_meant(expression: str, expected: bool) -> None:
    assert is_allowed(expression) is expected


def test_every_crate_has_a_licence_that_is_allowed(packages: list[dict[str, Any]]) -> None:
    assert [(one["name"], one["license"]) for one in packages if not is_allowed(one["license"] or "none")] == []


def test_every_crate_comes_from_the_registry_or_from_here(packages: list[dict[str, Any]]) -> None:
    sources = {one["source"] for one in packages}
    assert {source.partition("+")[0] for source in sources if source is not None} == {"registry"}
    assert len(sources) == 2
    assert DENY["sources"] == {"unknown-registry": "deny", "unknown-git": "deny", "allow-git": []}


def test_every_python_requirement_is_one_version() -> None:
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in wanted if not re.fullmatch(r"[A-Za-z0-9._-]+==[^\s;]+", line)] == []
