"""Generate the blocking client from the asyncio client, and the options of queries from those of the library.

    python clients/python/generate_sync.py           # write the files (make client-sync)
    python clients/python/generate_sync.py --check   # exit with 1 if a file is not what would be written

Only words change: `await` goes, `async def` becomes `def`, `AsyncClient` becomes `Client`, in code and in docstrings.
Where the two clients really differ, the source uses names that `_async_io` and `_sync_io` both define. The client
cannot import the library, so its `QueryKeywords` are copied from `server/whorl/options.py`. Needs ruff.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "src" / "whorl_client"
# Source and target.
FILES = {
    "_async_client.py": "_client.py",
    "_async_resources.py": "_sync_resources.py",
    "_async_subscription.py": "_sync_subscription.py",
}

# The options of queries: where they are defined, and the file that repeats them.
OPTIONS = Path(__file__).resolve().parents[2] / "server" / "whorl" / "options.py"
KEYWORDS = "_query_keywords.py"

HEADER = '''"""{title}

Generated from `{source}` by `clients/python/generate_sync.py`: edit that file and run `make client-sync`.
"""
'''
KEYWORDS_HEADER = '''"""The options of queries.

Generated from `server/whorl/options.py` by `clients/python/generate_sync.py`: edit that and run `make client-sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ._models import Time


class QueryKeywords(TypedDict, total=False):
    """Options of `register` and `validate`; those left out are as the query text or the server says."""

'''
TITLES = {
    "_client.py": "The blocking client.",
    "_sync_resources.py": "The static graphs and the tokens of a server, for blocking programs.",
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
    (r"\b_async_(?=io|resources|subscription)", "_sync_"),
    (r"\b_async_client\b", "_client"),
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


def keywords(library: str) -> str:
    """Return the module of `QueryKeywords`: the options of the library, without their descriptions."""
    (options,) = [
        node for node in ast.parse(library).body if isinstance(node, ast.ClassDef) and node.name == "QueryOptions"
    ]
    lines = [
        f"    {ast.unparse(option.target)}: {_type_in_client(option.annotation)}"
        for option in options.body
        if isinstance(option, ast.AnnAssign)
    ]
    return _ruff(["format"], KEYWORDS_HEADER + "\n".join(lines) + "\n", KEYWORDS)


def _type_in_client(annotation: ast.expr) -> str:
    """The first argument of `Annotated`, for JSON: a list is the only iterable there."""
    assert isinstance(annotation, ast.Subscript)  # noqa: S101 - a test of the library says so
    assert isinstance(annotation.slice, ast.Tuple)  # noqa: S101 - the same
    return ast.unparse(annotation.slice.elts[0]).replace("Iterable[", "list[").replace("'", '"')


def main(arguments: list[str], folder: Path = PACKAGE) -> int:
    """Write the files, or compare them."""
    texts = {folder / target: generated(source, folder) for source, target in FILES.items()}
    texts[folder / KEYWORDS] = keywords(OPTIONS.read_text("utf-8"))
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
