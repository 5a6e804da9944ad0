"""One server with the demo and one browser for all tests; without Chromium, Playwright or a built console they skip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from demo_server import CHROMIUM, DemoServer, free_port
from whorl.server.routes import console

if TYPE_CHECKING:
    # Not at run time: without Playwright, all other tests must still run.
    from playwright.sync_api import Browser, BrowserContext, Page, Request

# Machines that run tests may be slow; a fast one does not wait longer.
_WAIT_MS = 90_000


@dataclass
class Watcher:
    """Actions that pages should not have performed."""

    host: str
    faults: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note errors, and requests to other hosts."""
        page.on("console", lambda message: self._said(message.type, message.text))
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", self._asked)

    def _said(self, kind: str, text: str) -> None:
        # Browsers log every refusal and every lost connection, which tests here provoke.
        if kind == "error" and "Failed to load resource" not in text and "WebSocket connection to" not in text:
            self.faults.append(f"console: {text}")

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"blob", "data"} and parts.netloc != self.host:
            self.faults.append(f"request to {request.url}")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    if not console._files():
        pytest.skip("the console is not built: Node was not there")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    server = DemoServer(tmp_path_factory.mktemp("console") / "data", free_port())
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def browser(demo: DemoServer) -> Iterator[Browser]:  # noqa: ARG001 - without a server there is nothing to see
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=_WAIT_MS)
    with sync_playwright() as playwright:
        # In a container Chromium has no right to a sandbox of its own; it loads nothing but our own page here.
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def watcher(demo: DemoServer) -> Watcher:
    return Watcher(urlsplit(demo.link).netloc)


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1360, "height": 860}, color_scheme="light")
    context.set_default_timeout(_WAIT_MS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture(scope="session")
def page(context: BrowserContext, demo: DemoServer, watcher: Watcher) -> Page:
    """The tab that the printed link opened; its token is in its session."""
    page = context.new_page()
    watcher.watch(page)
    page.goto(demo.link)
    return page


@pytest.fixture(autouse=True)
def no_faults(watcher: Watcher) -> Iterator[None]:
    yield
    faults, watcher.faults = watcher.faults, []
    assert faults == []
