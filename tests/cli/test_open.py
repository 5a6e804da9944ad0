"""`whorl open` passes a link with the token to a browser, and to no other program."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, build_opener

import pytest
from server_process import ServerProcess
from typer.testing import Result

Whorl = Callable[..., Result]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path_factory.mktemp("open") / "data").start()
    yield started
    started.kill()


class Browser:
    """Follows an address as a browser would, in a thread of its own, and notes where it is led."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.led_to: list[tuple[int, str | None]] = []
        monkeypatch.setattr(webbrowser, "open", self._open)

    def _open(self, address: str) -> bool:
        self.opened.append(address)
        threading.Thread(target=self._visit, args=(address,)).start()
        return True

    def _visit(self, address: str) -> None:
        # A neighbour on this machine that knows the port, and no more.
        for visited in (address.rpartition("/")[0] + "/guess", address):
            try:
                build_opener(_NoRedirect).open(visited)
            except HTTPError as answer:
                self.led_to.append((answer.code, answer.headers["Location"]))
                answer.close()


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def test_the_browser_is_led_to_the_link_and_a_guess_is_not(
    whorl: Whorl, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(monkeypatch)
    result = whorl("open", "--url", server.url, "--token", server.token)
    assert (result.exit_code, result.stdout) == (0, "")
    assert server.token not in browser.opened[0]
    assert browser.led_to == [(404, None), (302, f"{server.url}/#token={server.token}")]


def test_the_link_is_printed_with_the_token_of_the_data_directory(
    whorl: Whorl, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHORL_DATA_DIR", str(server.data_dir))
    result = whorl("open", "--url", server.url, "--print")
    assert result.stdout == f"{server.url}/#token={server.token}\n"


def test_a_machine_without_a_browser_is_told_about_the_link(
    whorl: Whorl, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    result = whorl("open", "--url", server.url, "--token", server.token)
    assert result.exit_code == 1
    assert "whorl open --print" in result.stderr


def test_a_wrong_token_opens_nothing(
    whorl: Whorl, server: ServerProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    browser = Browser(monkeypatch)
    assert whorl("open", "--url", server.url, "--token", "wrong").exit_code == 1
    assert browser.opened == []
