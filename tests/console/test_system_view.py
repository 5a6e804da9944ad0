"""Streams, tokens and numbers in Chromium, and scenarios that play a sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from server_process import ServerProcess
from steps import show

pytest.importorskip("playwright", reason="Playwright is not installed: make setup does it")

from playwright.sync_api import Browser, Page, expect

# One query of each scenario that answers soon.
SCENARIOS = {
    "Conference Q2": "conference-q2",
    "DEBS 2015 Q1": "debs2015-q1",
    "SRBench Q4": "srbench-q4",
    "LSBench Q10": "lsbench-q10",
    "CityBench Q10": "citybench-q10",
}


def test_a_stream_is_declared_with_all_settings_and_says_what_it_refused(page: Page) -> None:
    show(page, "#/streams")
    page.get_by_role("button", name="Declare").click()
    page.get_by_label("IRI").fill("http://whorl.example/cellar")
    page.get_by_label("Allowed lateness").fill("3s")
    page.get_by_label("Idle timeout").fill("1m")
    page.get_by_label("Retention of the log").fill("1d")
    page.get_by_label("Time zone of times").fill("Europe/Paris")
    page.locator("dialog").get_by_role("button", name="Declare").click()
    details = page.locator(".stream-details")
    expect(details).to_contain_text("allowed lateness 3 s")
    expect(details).to_contain_text("idle timeout 1 min")
    expect(details).to_contain_text("log kept for 1 d")
    expect(details).to_contain_text("zone Europe/Paris assumed")
    page.get_by_label("Turtle").fill("this is no Turtle")
    page.get_by_role("button", name="Push").click()
    expect(page.locator(".toast.bad")).to_be_visible()
    expect(page.locator(".refusal")).to_contain_text("1 refused")


def test_a_peek_shows_events_with_their_times(page: Page) -> None:
    show(page, "#/streams/http%3A%2F%2Fwhorl.example%2Fsensors")
    expect(page.locator(".peek .event-head").first).to_contain_text("triple")
    expect(page.locator(".spread")).to_contain_text("median")


def test_numbers_have_a_past_when_somebody_looks(page: Page) -> None:
    show(page, "#/system")
    expect(page.locator(".tile .spark-line")).to_have_count(8)
    expect(page.locator(".page-head").first).to_contain_text("Python 3.")


def test_revoking_a_token_is_asked_about(page: Page) -> None:
    page.get_by_role("button", name="Create a token").click()
    page.get_by_label("Name").fill("gateway")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Revoke").click()
    page.locator("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Revoke")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    page.locator("dialog").get_by_role("button", name="Revoke").click()
    expect(page.locator(".toast", has_text="gateway is revoked")).to_be_visible()
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)


@pytest.mark.parametrize(("title", "name"), SCENARIOS.items(), ids=SCENARIOS.values())
def test_a_card_of_a_scenario_plays_its_sample(page: Page, title: str, name: str) -> None:
    show(page, "#/gallery")
    page.locator("article.card").filter(has=page.get_by_text(title, exact=True)).get_by_role("button").first.click()
    expect(page.locator("h1.query-name")).to_have_text(name)
    expect(page.locator(".panel tbody tr").first).to_be_visible()


def test_a_query_in_two_dialects_is_one_card(page: Page) -> None:
    show(page, "#/gallery")
    cards = page.locator("article.card").filter(has=page.get_by_text("CityBench Q1", exact=True))
    expect(cards).to_have_count(1)
    expect(cards.get_by_role("button")).to_have_text(["▶ CQELS-QL", "▶ C-SPARQL"])


def test_without_the_demo_the_gallery_says_how_to_start_it(browser: Browser, tmp_path: Path) -> None:
    server = ServerProcess(tmp_path).start()
    try:
        page = browser.new_page()
        page.goto(f"{server.url}/#token={server.token}")
        expect(page.get_by_role("heading", name="Queries of the demo")).to_be_visible()
        expect(page.locator(".note-line")).to_contain_text("Start it with whorl demo")
        page.close()
    finally:
        server.kill()
