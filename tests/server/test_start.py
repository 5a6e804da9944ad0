"""A server that cannot start says why in one line; lists in variables are words with commas between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from server_process import ServerProcess, run_to_exit
from whorl.server.settings import Settings


def refused(data_dir: Path, **settings: object) -> str:
    code, output = run_to_exit(data_dir, settings)
    assert code != 0
    assert len(output.strip().splitlines()) == 1, output
    return output


def test_a_second_server_on_one_directory_is_refused_in_a_sentence(start_server: Callable[..., ServerProcess]) -> None:
    first = start_server()
    assert "is another server using it?" in refused(first.data_dir)
    with first.client() as client:
        assert client.get("/readyz").status_code == 200


def test_a_file_that_is_no_store_is_refused_in_a_sentence(tmp_path: Path) -> None:
    first = ServerProcess(tmp_path).start()
    assert first.stop() == 0
    (store,) = tmp_path.glob("*.sqlite3")
    store.write_bytes(b"something else" * 1000)
    assert str(store) in refused(tmp_path)


def test_a_setting_that_is_no_number_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert "queries_max" in refused(tmp_path, queries_max="many")


@pytest.mark.parametrize("spelled", ["a.example, b.example", '["a.example", "b.example"]', "a.example,b.example,"])
def test_a_list_is_words_with_commas_between_them(monkeypatch: pytest.MonkeyPatch, spelled: str) -> None:
    monkeypatch.setenv("WHORL_ALLOWED_HOSTS", spelled)
    assert Settings().allowed_hosts == ("a.example", "b.example")


def test_a_broken_list_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert "words with commas between them" in refused(tmp_path, allowed_hosts='["a.example"')
