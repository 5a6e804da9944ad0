"""The documentation as a site: it builds without a warning, has every page, and loads nothing from other hosts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="Sphinx is not installed: make setup does it")

from build_site import HERE, pages

NODE = shutil.which("node")
# What a browser loads by itself; links to other sites are for people to follow.
_LOADED = re.compile(r'<(?:script|img|link|iframe)\b[^>]*?(?:src|href)="(?:https?:)?//')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("site")
    # A process of its own, as `make docs` has: Sphinx warns of its extensions, and here warnings are errors.
    done = subprocess.run(
        [sys.executable, HERE / "build_site.py", output], capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return output


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    for place in pages().values():
        text = (site / place).with_suffix(".html").read_text("utf-8")
        assert _LOADED.search(text) is None, place


def test_the_search_knows_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    assert index.startswith("Search.setIndex(")
    assert all(f'"{word}"' in index or f"{word}:" in index for word in ("watermark", "cqel", "tumbl"))


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_a_search_finds_guides_before_records_of_decisions(site: Path) -> None:
    script = (site / "_static/language_data.js").read_text("utf-8")
    names = ("tutorial", "how-to/late-events", "semantics", "explanation/papers", "decisions/0002-first-window")
    assert NODE is not None
    asked = f"console.log({list(names)}.map(name => Scorer.score([name, '', '', null, 15])).join(' '))"
    told = subprocess.run(
        [NODE, "-e", "var window = {}, EnglishStemmer;" + script + asked],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    scores = [int(score) for score in told.stdout.split()]
    assert max(scores) == scores[0]
    assert min(scores) == scores[-1] < 15 <= min(scores[:-1])


def test_pictures_are_part_of_it(site: Path) -> None:
    text = (site / "explanation/how-it-works.html").read_text("utf-8")
    shown = re.findall(r'<img[^>]*src="([^"]+\.svg)"', text)
    drawings = [one for one in shown if "icon" not in one]
    assert len(drawings) == 4
    assert all((site / "explanation" / one).resolve().is_file() for one in drawings)
