"""Generate the blocking client from the asyncio client: `_async_client.py` → `_client.py`, and so on.

    python clients/python/generate_sync.py           # write the files (make client-sync)
    python clients/python/generate_sync.py --check   # exit with 1 if a file is not what would be written

Only words change: `await` goes, `async def` becomes `def`, `AsyncClient` becomes `Client`, in code and in docstrings.
Where the two clients really differ, the source uses names that `_async_io` and `_sync_io` both define. Needs ruff to
format the result.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "src" / "whorl_client"
# Source and target.
FILES = {"_async_client.py": "_client.py", "_async_subscription.py": "_sync_subscription.py"}

HEADER = '''"""{title}

Generated from `{source}` by `clients/python/generate_sync.py`: edit that file and run `make client-sync`.
"""
'''
TITLES = {
    "_client.py": "The blocking client.",
    "_sync_subscription.py": "The I/O of a subscription, for blocking programs.",
}

# Applied in this order. `StopIteration` stays: a flow is a plain generator in both clients.
WORDS = (
    (r"\basync (?=def|with|for)", ""),
    (r"\bawait ", ""),
    (r"\ban (?=`for`)", "a "),
    (r"\b__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b_async_(?=io|subscription)", "_sync_"),
    (r"\bAsync(?=[A-Z])(?!Client\.subscribe` starts)", ""),
)


def generated(source: str, folder: Path = PACKAGE) -> str:
    """Return the text that a source becomes."""
    _, _, code = (folder / source).read_text("utf-8").partition('"""\n\nfrom __future__')
    text = "from __future__" + code
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    target = FILES[source]
    text = HEADER.format(title=TITLES[target], source=source.removesuffix(".py")) + "\n" + text
    # Shorter names change the order of imports and the breaks of lines.
    return _ruff(["format"], _ruff(["check", "--quiet", "--fix", "--select", "I"], text, target), target)


def main(arguments: list[str], folder: Path = PACKAGE) -> int:
    """Write the files, or compare them."""
    texts = {folder / target: generated(source, folder) for source, target in FILES.items()}
    if arguments == ["--check"]:
        return _check(texts)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return 0


def _check(texts: dict[Path, str]) -> int:
    stale = [path.name for path, text in texts.items() if path.read_text("utf-8") != text]
    for name in stale:
        sys.stderr.write(f"{name} is out of date; run `make client-sync` and commit the result\n")
    return 1 if stale else 0


def _ruff(arguments: list[str], text: str, target: str) -> str:
    # Ruff only uses the name to find its settings; it does not read the file.
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(PACKAGE / target), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603 - fixed arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
