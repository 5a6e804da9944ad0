"""Every relative link of the documentation leads to an existing file, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/**/*.md"),
    ROOT / "clients/python/README.md",
]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    assert [link for link in _links(page) if not _leads_somewhere(page, link)] == []


def test_the_index_names_every_page() -> None:
    linked = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in _links(ROOT / "docs/index.md")}
    pages = {page for page in ROOT.glob("docs/**/*.md") if page.name != "index.md"}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - linked) == []


def _links(page: Path) -> list[str]:
    found = _LINK.findall(_FENCE.sub("", page.read_text()))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, fragment = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not fragment or (target.is_file() and fragment in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-") for heading in headings}
