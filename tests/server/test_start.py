"""A server that cannot start says why in one line; lists in variables are comma-separated words."""

from __future__ import annotations

import os
import subprocess
import sys
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
    (store,) = tmp_path.glob("store/log-*")
    store.write_bytes(b"something else" * 1000)
    assert str(store) in refused(tmp_path)


def test_a_setting_that_is_no_number_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert "WHORL_QUERIES_MAX: " in refused(tmp_path, queries_max="many")


@pytest.mark.parametrize("spelled", ["a.example, b.example", '["a.example", "b.example"]', "a.example,b.example,"])
def test_a_list_is_words_with_commas_between_them(monkeypatch: pytest.MonkeyPatch, spelled: str) -> None:
    monkeypatch.setenv("WHORL_ALLOWED_HOSTS", spelled)
    assert Settings().allowed_hosts == ("a.example", "b.example")


def test_a_broken_list_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert "comma-separated words" in refused(tmp_path, allowed_hosts='["a.example"')


def test_the_admin_token_can_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mounted-secret\n")
    server = ServerProcess(tmp_path / "data", {"token_file": secret}, token="mounted-secret").start()
    with server.client() as client:
        assert client.get("/tokens").status_code == 200
    assert server.stop() == 0
    assert "mounted-secret" not in server.log
    assert not (tmp_path / "data" / "token").exists()


def test_a_named_token_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    assert f"the token file {secret} is missing" in refused(tmp_path / "data", token_file=secret)
    assert not secret.exists()


def test_a_new_token_is_told_to_nobody_but_its_file(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data").start()
    assert server.stop() == 0
    assert server.token not in server.log
    assert f"the admin token is in {tmp_path / 'data' / 'token'}" in server.log


def test_all_that_a_server_writes_is_its_owners(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", {"snapshot_log_bytes": 1}).start()
    with server.client() as client:
        assert client.put("/streams/http://ex.org/s").status_code == 201
        assert client.post("/tokens", json={"name": "reader", "scopes": ["subscribe"]}).status_code == 201
    assert server.stop() == 0
    found = [server.data_dir, *server.data_dir.rglob("*")]
    assert len(found) > 5
    assert {path for path in found if path.stat().st_mode & 0o077} == set()


def test_a_token_and_a_token_file_together_are_refused(tmp_path: Path) -> None:
    assert "token_file" in refused(tmp_path, token="a", token_file=tmp_path / "secret")


def test_the_probe_says_whether_the_server_is_ready(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    port = server.url.rpartition(":")[2]
    assert _probe(port, "127.0.0.1") == 0
    # A wildcard address can be listened on, but not connected to.
    assert _probe(port, "0.0.0.0") == 0
    server.kill()
    assert _probe(port, "127.0.0.1") == 1


def _probe(port: str, host: str) -> int:
    environment = {**os.environ, "WHORL_PORT": port, "WHORL_HOST": host}
    command = [sys.executable, "-m", "whorl.server.probe"]
    return subprocess.run(command, env=environment, capture_output=True, timeout=30, check=False).returncode
