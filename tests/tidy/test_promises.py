"""SECURITY.md names, promise by promise, the test that guards it: each of these tests exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def promises() -> list[str]:
    """The rows of the table."""
    _, _, table = (ROOT / "SECURITY.md").read_text().partition("## Tests that guard these promises")
    rows = table.partition("\n## ")[0].splitlines()
    return [row for row in rows if row.startswith("| ") and not row.startswith("| promise")]


def test_every_promise_names_a_test() -> None:
    assert len(promises()) > 20
    unguarded = [row for row in promises() if not NAMED.search(row)]
    assert unguarded == []


def test_every_named_test_exists() -> None:
    named = [found for row in promises() for found in NAMED.findall(row)]
    missing = [f"{path}::{test}" for path, test in named if f"def {test}(" not in read(path)]
    assert missing == []


def read(path: str) -> str:
    return (ROOT / path).read_text() if (ROOT / path).is_file() else ""
