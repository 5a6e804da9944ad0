"""The console in Chromium, on the demo: the first minutes of a new user, and that the page survives a crash.

Tests are steps of one visit, in this order; each leaves the page where the next can begin.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from demo_server import DemoServer
from steps import MEAN, number, resting, rewrite, show, verdict, write
from whorl.server.routes import console

pytest.importorskip("playwright", reason="Playwright is not installed: make setup does it")

from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[2]
AXE = ROOT / "server/web/node_modules/axe-core/axe.min.js"
BUNDLE_BYTES_MAX = 400 * 1024
SENSORS = "#/streams/http%3A%2F%2Fwhorl.example%2Fsensors"
VIEWS = (
    "#/gallery",
    "#/query/warmest-rooms",
    "#/query/warmest-rooms/chart",
    "#/query/average-temperature/chart",
    "#/query/fire-alert/history",
    "#/query/evacuation/graph",
    "#/query/taxi-routes/map",
    "#/query/people-in-smoke/plan",
    "#/new",
    "#/streams",
    SENSORS,
    "#/system",
)
# What opens a dialog, and where.
DIALOGS = (
    ("#/streams", "Declare"),
    (SENSORS, "Delete"),
    ("#/query/warmest-rooms", "Copy as"),
    ("#/query/warmest-rooms", "Delete"),
    ("#/system", "Create a token"),
    ("#/gallery", "Keyboard shortcuts"),
)


def test_the_printed_link_signs_in_and_the_demo_moves(page: Page) -> None:
    expect(page.get_by_role("heading", name="Queries that never stop answering")).to_be_visible()
    assert "token" not in page.url
    assert page.evaluate("sessionStorage.getItem('token')")
    expect(page.locator(".live.online")).to_contain_text("/s")
    expect(page.locator(".card", has_text="Top-k").get_by_text("running")).to_be_visible()


def test_a_query_of_the_gallery_shows_its_answer(page: Page) -> None:
    show(page, "#/gallery")
    for title, kind in (("Filter", "filter"), ("Join of two streams", "join"), ("Alert", "alert"), ("Top-k", "top")):
        card = page.locator(".card").filter(has=page.get_by_text(title, exact=True))
        expect(card.locator(f".kind-{kind}")).to_be_visible()
    page.locator(".card", has_text="Top-k").click()
    expect(page.locator("h1.query-name")).to_have_text("warmest-rooms")
    expect(page.locator(".panel tbody tr:not(.gone)")).to_have_count(3)
    expect(page.locator(".panel tbody td.iri").first).to_have_text(re.compile(r"^:\w+$"))
    before = page.locator(".number-fact", has_text="results").text_content()
    expect(page.locator(".number-fact", has_text="results")).not_to_have_text(before or "")


def test_bars_are_drawn_for_the_first_few_of_an_order(page: Page) -> None:
    page.get_by_role("tab", name="Chart").click()
    expect(page.locator(".bars li")).to_have_count(3)


def test_a_wrong_query_shows_its_fault_where_it_is_and_the_quick_fix_mends_it(page: Page) -> None:
    write(page, MEAN.replace("WHERE", "WHER"), "mean")
    verdict(page).to_contain_text("3:1 unexpected 'WHER'")
    expect(page.locator(".cm-lintRange-error")).to_have_text("WHER")
    page.get_by_role("button", name="Write WHERE").click()
    verdict(page).to_contain_text("no errors")
    verdict(page).to_contain_text("RSP-QL")


def test_rows_and_chart_of_a_query_of_ones_own_move(page: Page) -> None:
    page.get_by_role("button", name="Run").click()
    expect(page.locator("h1.query-name")).to_have_text("mean")
    expect(page.locator(".panel tbody tr:not(.gone)")).to_have_count(6)
    expect(page.locator("td.changed").first).to_be_visible()
    page.get_by_role("tab", name="Chart").click()
    plot = page.locator(".plot")
    expect(plot).to_have_attribute("data-points", re.compile(r"\d+"))
    points = plot.get_attribute("data-points")
    expect(plot).not_to_have_attribute("data-points", points or "")
    expect(page.locator(".legend li", has_text="kitchen").locator("strong")).to_have_text(re.compile(r"\d"))


def test_completion_offers_predicates_after_a_chart_was_drawn(page: Page) -> None:
    prefixes = "PREFIX : <http://whorl.example/> PREFIX sosa: <http://www.w3.org/ns/sosa/>"
    write(page, f"{prefixes}\nSELECT * WHERE {{ STREAM :sensors [NOW] {{ ?s ", "seen")
    page.keyboard.type("sosa:hasS")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("sosa:hasSimpleResult")
    page.keyboard.press("Escape")


def test_a_changed_text_replaces_the_query_and_a_wrong_one_does_not(page: Page) -> None:
    show(page, "#/query/mean/result")
    rewrite(page, MEAN.replace("AVG", "MAX"))
    page.get_by_role("button", name="Replace").click()
    expect(page.locator(".toast", has_text="mean was replaced")).to_be_visible()
    expect(page.locator(".panel tbody tr:not(.gone)")).to_have_count(6)
    rewrite(page, MEAN.replace("?room", "?raum", 1))
    page.get_by_role("button", name="Replace").click()
    expect(page.locator(".toast.bad")).to_be_visible()
    expect(page.locator(".state .status")).to_have_text("running")
    page.get_by_role("button", name="Revert").click()
    expect(page.locator(".cm-content")).to_contain_text("MAX(?t)")


def test_the_demo_plays_faster_and_pauses(page: Page) -> None:
    show(page, "#/gallery")
    rates = page.get_by_role("group", name="Event rate of the demo")
    expect(rates.get_by_role("button", name="1×")).to_have_attribute("aria-pressed", "true")
    rates.get_by_role("button", name="4×").click()
    expect(page.locator(".toast", has_text="4× as many events")).to_be_visible()
    expect(rates.get_by_role("button", name="4×")).to_have_attribute("aria-pressed", "true")
    rates.get_by_role("button", name="Pause").click()
    expect(page.locator(".toast", has_text="The demo is paused")).to_be_visible()
    show(page, "#/query/mean/history")
    held = resting(page, ".number-fact", "results")
    show(page, "#/gallery")
    rates.get_by_role("button", name="1×").click()
    show(page, "#/query/mean/result")
    expect(page.locator(".number-fact", has_text="results")).not_to_have_text(held or "")


def test_a_misspelled_predicate_is_warned_of_and_explained(page: Page) -> None:
    write(page, MEAN.replace("hasSimpleResult", "hasSimpleResul"), "typo")
    expect(page.get_by_role("button", name="Write sosa:hasSimpleResult")).to_be_visible()
    page.get_by_role("button", name="Run").click()
    reason = page.locator(".why h3")
    expect(reason).to_have_text(re.compile("no triple has matched the pattern \\?o sosa:hasSimpleResul \\?t"))
    expect(page.locator(".why")).to_contain_text("did you mean sosa:hasSimpleResult?")


def test_a_query_is_paused_and_deleted(page: Page) -> None:
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".state .status")).to_have_text("paused")
    expect(page.locator(".why h3")).to_have_text("the query is paused")
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".query-list").get_by_text("typo")).to_have_count(0)


def test_counters_of_a_plan_change(page: Page) -> None:
    show(page, "#/query/people-in-smoke/plan")
    note = page.locator(".part.leaf .part-note").first
    before = number(note.text_content())
    expect(note).not_to_have_text(f"{before} matched")
    assert number(note.text_content()) > before
    page.locator(".part.operator", has_text="join").click()
    expect(page.locator(".details")).to_contain_text("Ring indexes")
    expect(page.locator(".details .index").first).to_contain_text(re.compile(r"\d+ keys? · [\d.]+ (B|KiB)"))


def test_a_plan_names_the_orders_of_probing_and_the_memory_of_its_parts(page: Page) -> None:
    show(page, "#/query/taxi-rates/plan")
    expect(page.locator(".order .step").first).to_have_text(re.compile(r"^\S*:\w+|^\?\w+ "))
    expect(page.locator(".order strong").first).to_have_text(re.compile(r"%$"))
    expect(page.locator(".band rect").first).to_be_attached()
    expect(page.locator(".part.window")).to_have_count(3)
    expect(page.locator(".part.window .part-note").first).to_have_text(re.compile(r"[\d.K]+ live · [\d.]+ (B|KiB|MiB)"))
    expect(page.locator(".tree-facts")).to_contain_text("results kept")
    expect(page.locator(".flow-rate", has_text="/s").first).to_be_visible()
    group = page.locator(".part.operator", has_text="group").locator(".part-note")
    expect(group).to_have_text(re.compile(r"keeps [\d.K]+ · [\d.]+ (B|KiB|MiB) · by \?taxi"))
    page.locator(".part.window").first.click()
    expect(page.locator(".details")).to_contain_text("memory")


def test_windows_without_a_name_are_numbered(page: Page) -> None:
    write(
        page,
        "PREFIX : <http://whorl.example/> SELECT * WHERE { STREAM :people [RANGE 5s] { ?who :isIn ?room } }",
        "who",
    )
    expect(page.locator(".preview-list")).to_contain_text("window #1 [RANGE 5s] on http://whorl.example/people")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator(".part.window .part-kind")).to_have_text("window #1")
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    # The page leaves the view only when the query is gone.
    expect(page.locator("h1", has_text="Queries that never stop")).to_be_visible()


def test_a_stream_is_declared_and_an_event_pushed_by_hand_is_seen(page: Page) -> None:
    show(page, "#/streams")
    page.get_by_role("button", name="Declare").click()
    page.get_by_label("IRI").fill("http://whorl.example/attic")
    page.locator("dialog").get_by_role("button", name="Declare").click()
    expect(page.get_by_role("heading", name="http://whorl.example/attic")).to_be_visible()
    page.get_by_label("Turtle").fill("PREFIX : <http://whorl.example/> :attic :temperature 41.5 .")
    page.get_by_role("button", name="Push").click()
    expect(page.locator(".toast", has_text="1 accepted")).to_be_visible()
    expect(page.locator(".peek tbody")).to_contain_text(":attic")


def test_a_link_opens_the_page_with_a_text(page: Page) -> None:
    show(page, "#/query/mean")
    page.get_by_role("button", name="Share").click()
    expect(page.locator(".toast", has_text="The link is copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "token" not in link
    show(page, link.partition("#")[2])
    expect(page.locator(".cm-content")).to_contain_text("SELECT ?room (MAX(?t) AS ?mean)")


def test_the_page_goes_on_by_itself_when_the_server_was_killed(page: Page, demo: DemoServer) -> None:
    show(page, "#/query/mean/result")
    expect(page.locator(".panel tbody tr:not(.gone)").first).to_be_visible()
    results = number(page.locator(".number-fact", has_text="results").text_content())
    demo.kill()
    expect(page.locator(".banner")).to_contain_text("is not responding")
    demo.start()
    assert "#token=" in demo.link, "a later start prints a link that signs in, too"
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator(".state")).to_contain_text("no result was missed")
    expect(page.locator("td.changed").first).to_be_visible()
    assert number(page.locator(".number-fact", has_text="results").text_content()) >= results
    expect(page.get_by_text("results missing")).to_have_count(0)


def serious_faults(page: Page) -> list[tuple[str, list[Any]]]:
    """What axe calls serious or critical on the page as it is."""
    # Evaluated, because the policy of the page allows no script from elsewhere.
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:5])
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_fault_of_accessibility(page: Page, scheme: Any) -> None:
    if not AXE.exists():
        pytest.skip("axe is not installed: make setup does it, where Node is")
    page.evaluate("scheme => { document.documentElement.dataset.theme = scheme }", scheme)
    for view in VIEWS:
        show(page, view)
        page.wait_for_timeout(500)
        assert serious_faults(page) == [], view
    for view, button in DIALOGS:
        show(page, view)
        page.get_by_role("button", name=button, exact=True).first.click()
        expect(page.locator("dialog")).to_be_visible()
        assert serious_faults(page) == [], f"{view} {button}"
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)


def test_every_view_fits_a_phone(page: Page) -> None:
    size = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 800})
    for view in VIEWS:
        show(page, view)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    page.get_by_role("button", name="Queries").click()
    page.locator("dialog").get_by_text("warmest-rooms").click()
    expect(page.locator("h1.query-name")).to_have_text("warmest-rooms")
    assert size is not None
    page.set_viewport_size(size)


def test_the_api_is_browsed_with_the_token_of_the_console(page: Page, demo: DemoServer) -> None:
    page.goto(demo.link.partition("#")[0] + "docs")
    expect(page.locator(".opblock").first).to_be_visible()
    expect(page.locator('[data-path="/queries/{name}/why"]')).to_be_visible()


def test_without_a_token_the_page_asks_for_one(browser: Browser, demo: DemoServer) -> None:
    stranger = browser.new_page()
    stranger.goto(demo.link.partition("#")[0])
    expect(stranger.get_by_role("heading", name="Sign in")).to_be_visible()
    stranger.get_by_placeholder("token").fill((demo.data_dir / "token").read_text().strip())
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.locator(".card").first).to_be_visible()
    stranger.close()


@pytest.mark.skipif(not console._files(), reason="the console is not built: Node was not there")
def test_the_bundle_is_small() -> None:
    own = {name: file for name, file in console._files().items() if "swagger" not in name}
    assert sum(len(gzip.compress(file.content)) for file in own.values()) < BUNDLE_BYTES_MAX
