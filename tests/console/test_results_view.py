"""Results in Chromium: sorting, holding, exporting, the graph, the map, and beginning anew."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from steps import MEAN, PREFIXES, READING, WINDOW, number, show, write

pytest.importorskip("playwright", reason="Playwright is not installed: make setup does it")

from playwright.sync_api import Page, expect

ROWS = ".panel tbody tr:not(.gone)"


def column(page: Page, at: int) -> list[str]:
    return page.locator(f"{ROWS} td:nth-child({at})").all_text_contents()


def test_a_click_on_a_head_sorts_and_another_turns_the_order_round(page: Page) -> None:
    show(page, "#/query/average-temperature/result")
    expect(page.locator(ROWS)).to_have_count(6)
    # A held view does not change.
    page.get_by_role("button", name="Freeze").click()
    head = page.get_by_role("columnheader", name="room")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    rising = column(page, 1)
    assert rising == sorted(rising)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert column(page, 1) == rising[::-1]


def test_what_is_held_stays_while_the_query_goes_on(page: Page) -> None:
    before = page.locator(".panel tbody").text_content()
    results = page.locator(".number-fact", has_text="results").text_content()
    expect(page.locator(".number-fact", has_text="results")).not_to_have_text(results or "")
    assert page.locator(".panel tbody").text_content() == before
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("td.changed").first).to_be_visible()


def exported(page: Page, form: str) -> str:
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=form).or_(page.get_by_role("menuitem", name=form)).first.click()
    return Path(download.value.path()).read_text()


def test_the_answer_is_exported(page: Page) -> None:
    show(page, "#/query/average-temperature/result")
    expect(page.locator(ROWS)).to_have_count(6)
    rows = list(csv.reader(exported(page, "CSV").splitlines()))
    assert rows[0] == ["room", "mean", "readings"]
    assert len(rows) == 7
    assert len(json.loads(exported(page, "JSON"))["results"]["bindings"]) == 6


def test_a_construct_is_drawn_as_a_graph_and_exported_as_triples(page: Page) -> None:
    show(page, "#/query/evacuation/graph")
    # Between two fires there is nothing to draw; the next one is not far.
    expect(page.locator(".graph .node").first).to_be_visible()
    assert page.locator(".graph .edge").count() > 0


def test_routes_are_drawn_on_a_map(page: Page) -> None:
    show(page, "#/query/taxi-routes/map")
    expect(page.locator(".map .trip").first).to_be_attached()
    assert page.locator(".map .trip").count() == 10
    expect(page.locator(".map-key")).to_have_text("○ from → ● to · size: trips")


def test_a_map_fills_its_place(page: Page) -> None:
    size = page.locator(".graph-frame").evaluate("place => `0 0 ${place.clientWidth} ${place.clientHeight}`")
    expect(page.locator("svg.map")).to_have_attribute("viewBox", size)


def test_bars_say_what_they_show(page: Page) -> None:
    show(page, "#/query/taxi-routes/chart")
    expect(page.locator(".bars-head")).to_contain_text("fromRow · fromColumn · toRow · toColumn")
    expect(page.locator(".bars-head")).to_contain_text("trips")


def test_graphs_that_are_constructed_have_a_column(page: Page) -> None:
    text = (
        f"{PREFIXES}\nCONSTRUCT {{ GRAPH ?room {{ ?room :has ?t }} }} {WINDOW}\nWHERE {{ WINDOW :w {{ {READING} }} }}"
    )
    write(page, text, "by-room")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(ROWS).first).to_be_visible()
    expect(page.get_by_role("columnheader", name="graph")).to_be_visible()
    assert set(column(page, 1)) <= {":hall", ":kitchen", ":laboratory", ":library", ":office", ":workshop"}
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("h1", has_text="Queries that never stop")).to_be_visible()


def test_all_that_acts_on_results_is_in_sight_on_a_phone(page: Page) -> None:
    size = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 800})
    show(page, "#/query/taxi-routes/chart")
    for name in ("Freeze", "Export", "Pause", "Restart"):
        button = page.get_by_role("button", name=name, exact=True).first
        expect(button).to_be_visible()
        box = button.bounding_box()
        assert box is not None, name
        assert box["x"] + box["width"] <= 390, name
    show(page, "#/streams")
    expect(page.locator('.streams td[data-name="watermark"]').first).to_be_visible()
    assert size is not None
    page.set_viewport_size(size)


def test_a_query_that_is_restarted_begins_anew(page: Page) -> None:
    write(page, MEAN, "anew")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(ROWS)).to_have_count(6)
    expect(page.locator(".number-fact", has_text="results")).to_have_text(re.compile(r"results ([4-9]|\d\d)"))
    before = number(page.locator(".number-fact", has_text="results").text_content())
    page.get_by_role("button", name="Restart").click()
    expect(page.locator(".toast", has_text="anew was restarted")).to_be_visible()
    page.wait_for_function(
        "before => Number(/\\d+/.exec([...document.querySelectorAll('.number-fact')]"
        ".find((one) => one.textContent.includes('results')).textContent)[0]) < before",
        arg=before,
    )
    expect(page.locator(ROWS)).to_have_count(6)
