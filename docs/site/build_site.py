"""Build the documentation as a site that needs no server and no network: `python docs/site/build_site.py OUTPUT`.

The pages stay as they are read in the repository. They are copied into a directory of the build, together with the
pages that stand outside `docs`; links between pages are kept, and links to other files of the repository become plain
text, because the site does not have those files. The navigation is the list of pages in `docs/index.md`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HERE = Path(__file__).parent
# Pages outside docs, and where the site has them.
OUTSIDE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "clients/python/README.md": "project/client.md",
    "examples/README.md": "project/examples.md",
}
_FENCE = re.compile(r"(^ *```.*?^ *```\n)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)\s#]+)\.md\)", re.MULTILINE)


def pages() -> dict[Path, str]:
    """Every page of the site: its file, and its place in the site."""
    own = {page: str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))}
    return own | {ROOT / name: place for name, place in OUTSIDE.items()}


def stage(target: Path) -> None:
    """Collect the pages, the pictures and the settings of Sphinx in a directory."""
    places = pages()
    for page, place in places.items():
        text = rewritten(page, place, places)
        destination = target / place
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text(text + navigation(text) if place == "index.md" else text, "utf-8")
    shutil.copytree(DOCS / "pictures", target / "pictures")
    shutil.copytree(DOCS / "performance", target / "performance")
    shutil.copy(ROOT / "server/web/src/icon.svg", target / "pictures")
    for own in ("conf.py", "scorer.js"):
        shutil.copy(HERE / own, target)
    (target / "static").mkdir()
    shutil.copy(HERE / "whorl.css", target / "static")


def rewritten(page: Path, place: str, places: dict[Path, str]) -> str:
    """The text of a page with its links as the site has them; code blocks stay as they are."""
    parts = _FENCE.split(page.read_text("utf-8"))
    return "".join(
        part if at % 2 else _LINK.sub(lambda found: _link(found, page, place, places), part)
        for at, part in enumerate(parts)
    )


def _link(found: re.Match[str], page: Path, place: str, places: dict[Path, str]) -> str:
    mark, label, target = found.groups()
    path, hash_mark, fragment = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return found[0]
    file = (page.parent / path).resolve()
    if file in places:
        return f"{mark}[{label}]({os.path.relpath(places[file], Path(place).parent)}{hash_mark}{fragment})"
    return found[0] if mark else label


def navigation(index: str) -> str:
    """What the index lists, section by section, as Sphinx wants to be told."""
    sections = ((title, _ENTRY.findall(body)) for title, body in _SECTION.findall(index))
    return "".join(_tree(title, entries) for title, entries in sections if entries)


def _tree(title: str, entries: list[str]) -> str:
    return "\n```{toctree}\n:hidden:\n:caption: " + title + "\n\n" + "\n".join(entries) + "\n```\n"


def build(output: Path) -> int:
    """Build the site; 0 if there was nothing to warn of."""
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "pages"
        source.mkdir()
        stage(source)
        options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(Path(directory) / "read")]
        return build_main([*options, str(source), str(output)])


if __name__ == "__main__":
    raise SystemExit(build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")))
