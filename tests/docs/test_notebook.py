"""`examples/notebook.ipynb` runs from top to bottom in IPython, against a server that plays the demo."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo_server import DemoServer, free_port
from whorl.demo.queries import gallery
from whorl_client import Client

pytest.importorskip("IPython", reason="IPython is not installed: make setup does it")

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

NOTEBOOK = Path(__file__).parents[2] / "examples/notebook.ipynb"
_ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    server = DemoServer(tmp_path / "whorl-data", free_port())
    server.start()
    with Client(server.link.partition("/#")[0], (tmp_path / "whorl-data/token").read_text().strip()) as client:
        while len(client.queries.list()) < len(gallery()):
            time.sleep(0.05)
    monkeypatch.chdir(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=settings)
    shell.display_pub = CapturingDisplayPublisher(parent=shell)
    yield shell
    InteractiveShell.clear_instance()


def cells() -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "notebooks are committed without outputs"
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_every_cell_runs_and_what_it_shows_is_html(demo: DemoServer, shell: InteractiveShell) -> None:
    shown: list[str] = []
    for source in cells():
        done = shell.run_cell(source.replace(_ADDRESS, demo.link.partition("/#")[0]))
        done.raise_error()
        if done.result is not None:
            shown.append(done.result._repr_html_())
    for text, expected in zip(shown, ["warmest", "kitchen", "leaf ?room", "warmest-rooms", "<table"], strict=True):
        assert expected in text


def test_a_live_result_is_one_output_that_is_redrawn(demo: DemoServer, shell: InteractiveShell) -> None:
    connecting, live, *_, closing = cells()[3:]
    for source in (connecting, live, closing):
        shell.run_cell(source.replace(_ADDRESS, demo.link.partition("/#")[0])).raise_error()
    outputs = shell.display_pub.outputs
    assert [output["update"] for output in outputs] == [False, True, True, True, True]
    assert len({output["transient"]["display_id"] for output in outputs}) == 1
    assert all("<table>" in output["data"]["text/html"] for output in outputs)
