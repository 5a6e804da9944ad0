"""Steps that several tests of the console share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

WINDOW = "FROM NAMED WINDOW :w ON :sensors [RANGE 5s STEP 1s]"
READING = "?o sosa:observedProperty :temperature ; sosa:hasFeatureOfInterest ?room ; sosa:hasSimpleResult ?t"
PREFIXES = "PREFIX : <http://whorl.example/> PREFIX sosa: <http://www.w3.org/ns/sosa/>"
MEAN = f"""{PREFIXES}
SELECT ?room (AVG(?t) AS ?mean) {WINDOW}
WHERE {{ WINDOW :w {{ {READING} }} }} GROUP BY ?room"""


def show(page: Page, view: str) -> None:
    """Go to a view as a link of the page would."""
    page.evaluate("view => { location.hash = view }", view)


def write(page: Page, text: str, name: str) -> None:
    """A new query with this text in the editor."""
    show(page, "#/gallery")
    show(page, "#/new")
    page.get_by_label("Name of the query").fill(name)
    rewrite(page, text)


def rewrite(page: Page, text: str) -> None:
    """Another text in the editor that is shown."""
    editor = page.get_by_label("Query text").and_(page.locator("[contenteditable=true]"))
    editor.click()
    page.keyboard.press("Control+a")
    # Pasted, not typed: the editor would close brackets by itself.
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+v")


def verdict(page: Page) -> Any:
    """What the page says of the text."""
    from playwright.sync_api import expect

    return expect(page.locator(".verdict"))


def number(text: str | None) -> int:
    """The first number of a text."""
    found = re.search(r"\d[\d.]*", text or "")
    assert found is not None, text
    return int(float(found[0]))


def resting(page: Page, selector: str, word: str) -> str | None:
    """The text of a number once it stays the same for three seconds; while the demo plays, it changes every second."""
    before = None
    for _ in range(20):
        now = page.locator(selector, has_text=word).text_content()
        if now == before:
            return now
        before = now
        page.wait_for_timeout(3_000)
    raise AssertionError(f"{before} never rests")
