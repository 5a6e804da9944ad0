"""The pages about the library are correct: their Python runs in page order, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The other pages need a server (`test_guides.py`, `test_commands.py`) or Spark (`tests/spark/test_guides.py`).
PAGES = [
    "docs/tutorial.md",
    "docs/semantics.md",
    "docs/how-to/choosing-report-tick-semantics.md",
    "docs/how-to/explain-and-stats.md",
    "docs/how-to/feeding-data.md",
    "docs/how-to/late-events.md",
    "docs/how-to/reading-results.md",
    "docs/how-to/static-data.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_prints_what_the_page_says(page: str) -> None:
    names: dict[str, Any] = {}
    said, n_compared = "", 0
    for language, text in _FENCED.findall((ROOT / page).read_text()):
        if language == "python":
            said = output_of(text, names)
        elif language == "text":
            assert said.rstrip("\n") == text.rstrip("\n")
            n_compared += 1
    assert n_compared, "the page shows no output"


def output_of(code: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "page", "exec"), names)  # noqa: S102 - our own documentation
    return output.getvalue()
