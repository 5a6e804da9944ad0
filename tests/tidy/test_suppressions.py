"""Each suppression of a lint or a type error has its reason beside it."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
GENERATED = {"node_modules", "target", "build", "web-dist"}

# The suppression itself, with its codes; what follows on the line is the reason.
PYTHON = re.compile(
    r"#\s*(?:noqa(?::\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*)?|(?:type|pyright):\s*ignore(?:\[[^\]]*\])?"
    r"|pragma:\s*no cover)"
)
RUST = re.compile(r"#!?\[\s*(?:allow|expect)\(((?:[^\]\"]|\"[^\"]*\")*)\)\s*\]")
SCRIPT = re.compile(r"eslint-disable|@ts-(?:ignore|expect-error|nocheck)")
# A word of at least two letters, somewhere after the suppression.
WORD = re.compile(r"[^\W\d_]{2,}")


def bare_in_python(text: str) -> list[str]:
    """Suppressions without a reason; only comments count, not text that looks like one."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [comment for comment in comments if PYTHON.search(comment) and not WORD.search(PYTHON.sub("", comment))]


def bare_in_rust(text: str) -> list[str]:
    return [found[0] for found in RUST.finditer(text) if not re.search(r"reason\s*=\s*\"[^\"]+\"", found[1])]


def bare_in_script(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if SCRIPT.search(line) and " -- " not in line]


FINDERS = {
    ".py": bare_in_python,
    ".pyi": bare_in_python,
    ".rs": bare_in_rust,
    ".ts": bare_in_script,
    ".tsx": bare_in_script,
}


def sources() -> Iterator[Path]:
    for folder in ("server", "clients", "tests", "benchmarks", "examples", "engine-rs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in FINDERS and not GENERATED.intersection(path.relative_to(ROOT).parts):
                yield path


def test_every_suppression_says_why() -> None:
    bare = {path.relative_to(ROOT): FINDERS[path.suffix](path.read_text(encoding="utf-8")) for path in sources()}
    assert len(bare) > 500, "the sources are elsewhere"
    assert {path: found for path, found in bare.items() if found} == {}


@pytest.mark.parametrize(
    ("find", "text", "count"),
    [
        (bare_in_python, "x = 1  # noqa: A001, B002", 1),
        (bare_in_python, "x = f()  # type: ignore[misc]", 1),
        (bare_in_python, "x = 1  # noqa: A001 - the public name", 0),
        (bare_in_python, "x = f()  # type: ignore[misc]  # no stubs", 0),
        (bare_in_rust, "#[allow(dead_code)]", 1),
        (bare_in_rust, '#![expect(clippy::unwrap_used, reason = "a test may panic")]', 0),
        (bare_in_script, "// eslint-disable-next-line no-alert", 1),
        (bare_in_script, "// eslint-disable-next-line no-alert -- asked for", 0),
    ],
)
def test_a_suppression_without_a_reason_is_found(find: Callable[[str], list[str]], text: str, count: int) -> None:
    assert len(find(text)) == count
