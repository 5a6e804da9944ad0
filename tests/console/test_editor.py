"""The editor in Chromium: warnings with quick fixes, formatting, programs to copy, and the border beside it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from demo_server import DemoServer
from steps import MEAN, PREFIXES, number, rewrite, show, verdict, write

pytest.importorskip("playwright", reason="Playwright is not installed: make setup does it")

from playwright.sync_api import Page, expect

WINDOW = "FROM NAMED WINDOW :w ON :sensors [{}] WHERE {{ WINDOW :w {{ {} }} }}"
SIMPLE = f"{PREFIXES}\nSELECT (AVG(?t) AS ?mean) {WINDOW}"


def test_a_warning_is_mended_by_its_quick_fix(page: Page) -> None:
    write(page, SIMPLE.format("RANGE 5s STEP 1s", "?room :heat ?t"), "merged")
    page.get_by_role("button", name="Add SEMANTICS BAG").click()
    expect(page.locator(".cm-content")).to_contain_text("[RANGE 5s STEP 1s SEMANTICS BAG]")
    expect(page.get_by_role("button", name="Add SEMANTICS BAG")).to_have_count(0)


@pytest.mark.parametrize(
    ("window", "fix", "mended"),
    [
        ("RANGE 5 STEP 1s SEMANTICS BAG", "Write 5s", "RANGE 5s STEP 1s"),
        ("RANGE 5s STEP 9s SEMANTICS BAG", "Write STEP 5s", "RANGE 5s STEP 5s"),
    ],
)
def test_windows_that_are_hardly_meant_are_mended(page: Page, window: str, fix: str, mended: str) -> None:
    write(page, SIMPLE.format(window, "?room :heat ?t"), "odd")
    page.get_by_role("button", name=fix, exact=True).click()
    expect(page.locator(".cm-content")).to_contain_text(mended)


def test_an_order_without_a_limit_gets_one(page: Page) -> None:
    write(page, MEAN + "\nORDER BY ?mean", "ordered")
    page.get_by_role("button", name="Add LIMIT 10").click()
    expect(page.locator(".cm-content")).to_contain_text("LIMIT 10")
    verdict(page).to_contain_text("no errors")


def test_beside_static_data_predicates_of_the_stream_alone_are_looked_up(page: Page) -> None:
    static = "GRAPH :building { ?room :noSuchPredicate ?floor }"
    wrong = MEAN.replace("hasSimpleResult", "hasSimpleResul").replace("} GROUP", static + " } GROUP")
    write(page, wrong, "static")
    expect(page.get_by_role("button", name="Write sosa:hasSimpleResult")).to_be_visible()
    page.get_by_role("button", name="Write sosa:hasSimpleResult").click()
    verdict(page).not_to_contain_text("Write")
    expect(page.locator(".cm-lintRange-warning")).to_have_count(0)


def test_words_of_streams_are_highlighted_and_those_of_others_refused(page: Page) -> None:
    write(page, MEAN.replace("STEP 1s", "STEP 1s REPORT CLOSE NONEMPTY TICK TIME"), "words")
    verdict(page).to_contain_text("no errors")
    rewrite(page, MEAN.replace("STEP 1s", "STEP 1s EMIT ON_CLOSE"))
    verdict(page).to_contain_text("unexpected 'EMIT'")


def test_long_lines_go_on_behind_their_indentation(page: Page) -> None:
    write(page, f"SELECT ?s\n  # {'long ' * 40}\nWHERE {{ }}", "wide")
    line = page.locator(".cm-line.cm-indent-2")
    expect(line).to_have_css("text-indent", re.compile(r"^-\d"))
    inset, height = line.evaluate("line => [parseFloat(getComputedStyle(line).paddingLeft), line.clientHeight]")
    assert inset > 20
    assert height > 40, "it is wrapped"


def test_a_text_is_formatted_without_changing_its_meaning(page: Page) -> None:
    write(page, " ".join(MEAN.split()), "format")
    verdict(page).to_contain_text("no errors")
    page.get_by_role("button", name="Format").click()
    lines = page.locator(".cm-line")
    expect(lines.filter(has_text=re.compile("^SELECT"))).to_have_count(1)
    expect(lines.filter(has_text=re.compile("^GROUP BY"))).to_have_count(1)
    verdict(page).to_contain_text("no errors")


def snippet(page: Page, language: str, name: str) -> str:
    write(page, MEAN, name)
    page.get_by_role("button", name="Copy as").click()
    dialog = page.locator("dialog")
    dialog.get_by_role("button", name=language).click()
    text = dialog.locator("pre").text_content()
    page.keyboard.press("Escape")
    assert text is not None
    return text


def first_lines(command: list[str], demo: DemoServer, wanted: str) -> str:
    """What a program that never ends prints until a line has what is wanted."""
    token = (demo.data_dir / "token").read_text().strip()
    environment = {**os.environ, "TOKEN": token, "PYTHONUNBUFFERED": "1"}
    said = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as program:
        assert program.stdout is not None
        try:
            for line in program.stdout:
                said.append(line)
                if wanted in line:
                    break
        finally:
            os.killpg(program.pid, signal.SIGKILL)
    return "".join(said)


@pytest.mark.timeout(120)
def test_the_copied_curl_commands_run_as_they_are(page: Page, demo: DemoServer) -> None:
    text = snippet(page, "curl", "by-curl")
    assert "kitchen" in first_lines(["bash", "-c", text.replace("curl -", "curl -s -")], demo, "kitchen")


@pytest.mark.timeout(120)
def test_the_copied_python_program_runs_as_it_is(page: Page, demo: DemoServer) -> None:
    text = snippet(page, "Python", "by-python")
    assert "kitchen" in first_lines([sys.executable, "-c", text], demo, "kitchen")


def test_the_border_beside_the_editor_moves_by_keys(page: Page) -> None:
    show(page, "#/query/average-temperature/result")
    border = page.get_by_role("separator")
    before = number(border.get_attribute("aria-valuenow"))
    border.focus()
    page.keyboard.press("ArrowRight")
    expect(border).to_have_attribute("aria-valuenow", str(before + 2))
    page.evaluate("localStorage.removeItem('split')")
