"""The client that waits is made from the one for asyncio, and is what would be made of it today."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from server_process import ServerProcess
from whorl_client import Client, Event, Iri, _client

SCRIPT = Path(__file__).parents[2] / "clients" / "python" / "generate_sync.py"


@pytest.fixture
def script() -> ModuleType:
    """A copy of its own, so that a test may point it at other files."""
    spec = importlib.util.spec_from_file_location("generate_sync", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_client_is_up_to_date(script: ModuleType) -> None:
    assert script.main(["--check"]) == 0, "run `make client-sync`"


def test_a_source_that_was_changed_alone_is_noticed(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = tmp_path / "_async_client.py"
    source = script.SOURCE.read_text()
    changed.write_text(source.replace("async def status(self)", "async def health(self)"))
    assert changed.read_text() != source
    monkeypatch.setattr(script, "SOURCE", changed)
    assert script.main(["--check"]) == 1
    assert "make client-sync" in capsys.readouterr().err


def test_no_word_of_asyncio_is_left(script: ModuleType) -> None:
    text = script.TARGET.read_text()
    # Where the two begin to follow is told in both.
    told = "`AsyncClient.subscribe` begins with the first result."
    assert told in text
    assert re.findall(r"\b(?:await|async|asyncio|Async\w+|__a\w+__|aclose)\b", text.replace(told, "")) == []


def test_the_examples_of_the_client_run(server: ServerProcess, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_TOKEN", server.token)
    names = {"client": client, "url": server.url, "Client": Client, "Event": Event, "Iri": Iri}
    tried = doctest.testmod(_client, extraglobs=names, optionflags=doctest.ELLIPSIS | doctest.REPORT_NDIFF)
    assert (tried.failed, tried.attempted > 15) == (0, True)
