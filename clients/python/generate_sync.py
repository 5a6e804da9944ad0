"""Make the client that waits from the one for asyncio: `_async_client.py` → `_client.py`.

    python clients/python/generate_sync.py           # write it (make client-sync)
    python clients/python/generate_sync.py --check   # exit with 1 if it is not what would be written

Only words change: `await` goes, `async def` becomes `def`, `AsyncClient` becomes `Client`, in code and in docstrings.
Where the two clients really differ, the source uses what `_async_io` and `_sync_io` both have. Needs ruff, which
formats the result as everything else is formatted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "src" / "whorl_client"
SOURCE = PACKAGE / "_async_client.py"
TARGET = PACKAGE / "_client.py"

HEADER = '''"""The client for programs that wait.

Generated from `_async_client` by `clients/python/generate_sync.py`: change that file, and run `make client-sync`.
"""
'''

# In this order, on whole words. `StopIteration` of a flow, which is a plain generator in both, stays as it is.
WORDS = (
    (r"\basync (?=def|with|for)", ""),
    (r"\bawait ", ""),
    (r"\ban (?=`for`)", "a "),
    (r"\b__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b_async_io\b", "_sync_io"),
    (r"\bAsync(?=[A-Z])(?!Client\.subscribe` begins)", ""),
)


def generated() -> str:
    """The text of the client that waits."""
    _, _, code = SOURCE.read_text("utf-8").partition('"""\n\nfrom __future__')
    text = HEADER + "\nfrom __future__" + code
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    # Other names sort and break in other ways.
    return _ruff(["format"], _ruff(["check", "--quiet", "--fix", "--select", "I"], text))


def main(arguments: list[str]) -> int:
    """Write, or compare."""
    text = generated()
    if arguments != ["--check"]:
        TARGET.write_text(text, "utf-8")
        return 0
    if TARGET.read_text("utf-8") == text:
        return 0
    sys.stderr.write(f"{TARGET.name} is not what {SOURCE.name} says; run `make client-sync` and commit the result\n")
    return 1


def _ruff(arguments: list[str], text: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
