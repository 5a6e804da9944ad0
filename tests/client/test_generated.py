"""The blocking client is generated from the asyncio client, and is up to date."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shutil
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
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [*script.FILES, *script.FILES.values(), script.KEYWORDS]:
        shutil.copy(script.PACKAGE / name, tmp_path)
    assert script.main(["--check"], tmp_path) == 0
    changed = tmp_path / "_async_client.py"
    changed.write_text(changed.read_text().replace("async def status(self)", "async def health(self)"))
    assert script.main(["--check"], tmp_path) == 1
    assert "_client.py is out of date; run `make client-sync`" in capsys.readouterr().err
    assert script.main([], tmp_path) == script.main(["--check"], tmp_path) == 0


def test_an_option_that_the_library_adds_is_noticed(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = tmp_path / "options.py"
    known = script.OPTIONS.read_text()
    options.write_text(known.replace("    tick: ", '    tock: Annotated[str | None, "new"]\n    tick: '))
    monkeypatch.setattr(script, "OPTIONS", options)
    assert "    tock: str | None\n" in script.keywords(options.read_text())
    assert script.main(["--check"]) == 1


def test_no_word_of_asyncio_is_left(script: ModuleType) -> None:
    text = "".join((script.PACKAGE / target).read_text() for target in script.FILES.values())
    # Both explain when they start to follow, in different words; and each file names its source.
    for told in (
        "`AsyncClient.subscribe` starts with the first iteration.",
        "`_async_client`",
        "`_async_resources`",
        "`_async_subscription`",
    ):
        assert text.count(told) == 1
        text = text.replace(told, "")
    assert re.findall(r"(?i)\w*async\w*|\bawait\b|__a\w+__|\baclose\b", text) == []


def test_the_examples_of_the_client_run(server: ServerProcess, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_TOKEN", server.token)
    names = {"client": client, "url": server.url, "Client": Client, "Event": Event, "Iri": Iri}
    tried = doctest.testmod(_client, extraglobs=names, optionflags=doctest.ELLIPSIS | doctest.REPORT_NDIFF)
    assert (tried.failed, tried.attempted > 15) == (0, True)
