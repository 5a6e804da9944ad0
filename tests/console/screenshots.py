"""Screenshots of every view, from the running product: `make screenshots`, or `screenshots.py DIRECTORY [--all]`.

Without `--all` there are the few that the documentation shows; with it, every view in both
colours, wide and on a phone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "common"))

from demo_server import CHROMIUM, DemoServer, free_port
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
VIEWS = {
    "gallery": "#/gallery",
    "query": "#/query/average-temperature/result",
    "chart": "#/query/average-temperature/chart",
    "plan": "#/query/taxi-rates/plan",
    "streams": "#/streams/http%3A%2F%2Fwhorl.example%2Fsensors",
    "system": "#/system",
}
FURTHER = {
    "arrivals": "#/query/fire-alert/history",
    "bars": "#/query/taxi-routes/chart",
    "map": "#/query/taxi-routes/map",
    "areas": "#/query/taxi-areas/map",
    "graph": "#/query/evacuation/graph",
    "new": "#/new",
    "why": "#/query/fire-alert/result",
}
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
# Taxis have caught up with half an hour, and charts have something to show.
_SETTLE_S = 25


def main(arguments: list[str]) -> None:
    """Take them."""
    directory = Path(next((one for one in arguments if not one.startswith("--")), ROOT / "docs/pictures"))
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        demo = DemoServer(Path(data) / "data", free_port())
        demo.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                time.sleep(_SETTLE_S)
                _take_all(browser, demo, directory, everything="--all" in arguments)
                browser.close()
        finally:
            demo.kill()


def _take_all(browser: Browser, demo: DemoServer, directory: Path, *, everything: bool) -> None:
    if not everything:
        _take(browser, demo, VIEWS, WIDE, "light", f"{directory}/console-{{}}.png")
        return
    for size, name in ((WIDE, "wide"), (PHONE, "phone")):
        for scheme in ("light", "dark"):
            _take(browser, demo, VIEWS | FURTHER, size, scheme, f"{directory}/{name}-{scheme}-{{}}.png")


def _take(
    browser: Browser, demo: DemoServer, views: dict[str, str], size: dict[str, int], scheme: str, to: str
) -> None:
    context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=1)  # type: ignore[arg-type]  # a literal
    page = context.new_page()
    page.goto(demo.link)
    for name, view in views.items():
        _show(page, view)
        page.screenshot(path=to.format(name))
    context.close()


def _show(page: Page, view: str) -> None:
    page.evaluate("view => { location.hash = view }", view)
    page.wait_for_timeout(3_000)


if __name__ == "__main__":
    main(sys.argv[1:])
