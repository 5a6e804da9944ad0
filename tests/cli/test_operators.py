"""Tasks of operators: tokens, settings in a file, certificates, and the checks of `whorl doctor`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server_process import ServerProcess, run_to_exit
from typer.testing import Result
from whorl.server.config import ConfigError, load_settings
from whorl.server.security import check_certificate
from whorl_client import CertificateError, Client

Whorl = Callable[..., Result]
Start = Callable[..., ServerProcess]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory without a server, and an environment without settings."""
    for name in [name for name in os.environ if name.startswith("WHORL_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One for all tests that need nothing special of it."""
    started = ServerProcess(tmp_path_factory.mktemp("server") / "data").start()
    yield started
    started.kill()


# ---- tokens ----


def test_tokens_are_made_listed_and_revoked(whorl: Whorl, server: ServerProcess) -> None:
    at = ("--url", server.url, "--token", server.token)
    made = whorl("tokens", "create", "gateway", "--scope", "ingest", "--scope", "subscribe", *at)
    assert made.exit_code == 0
    text = made.stdout.strip()
    (listed,) = json.loads(whorl("tokens", "list", "--json", *at).stdout)
    assert (listed["name"], listed["scopes"]) == ("gateway", ["ingest", "subscribe"])
    assert listed["id"] in whorl("tokens", "list", *at).stdout
    assert text not in whorl("tokens", "list", "--json", *at).stdout
    assert whorl("streams", "http://ex/s", "--declare", "--url", server.url, "--token", text).exit_code == 1
    assert whorl("queries", "--url", server.url, "--token", text).exit_code == 0
    assert whorl("tokens", "revoke", listed["id"], *at).stderr == f"revoked {listed['id']}\n"
    assert whorl("queries", "--url", server.url, "--token", text).exit_code == 1
    again = whorl("tokens", "revoke", listed["id"], *at)
    assert (again.exit_code, again.stderr) == (1, f"error: there is no token with the id '{listed['id']}'\n")


def test_the_admin_token_is_found_again(
    whorl: Whorl, server: ServerProcess, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = whorl("token")
    assert missing.exit_code == 1
    assert "hint: set WHORL_DATA_DIR to the data directory of the server" in missing.stderr
    monkeypatch.setenv("WHORL_DATA_DIR", str(server.data_dir))
    assert whorl("token").stdout == f"{server.token}\n"
    assert whorl("token", "--link", "--url", server.url).stdout == f"{server.url}/#token={server.token}\n"
    monkeypatch.delenv("WHORL_DATA_DIR")
    (bare / "whorl.toml").write_text(f'data_dir = "{server.data_dir}"\n')
    monkeypatch.setenv("WHORL_CONFIG", "whorl.toml")
    assert whorl("token").stdout == f"{server.token}\n"
    assert whorl("queries", "--url", server.url).exit_code == 0, "commands find the token by the same file"


# ---- settings ----


def test_options_win_over_variables_and_variables_over_the_file(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bare / "whorl.toml"
    path.write_text('port = 1\ntick_ms = 20\nallowed_hosts = ["a.example", "b.example"]\nlog_format = "json"\n')
    monkeypatch.setenv("WHORL_TICK_MS", "30")
    monkeypatch.setenv("WHORL_PORT", "2")
    settings = load_settings({"port": 3}, path)
    assert (settings.port, settings.tick_ms, settings.log_format) == (3, 30, "json")
    assert settings.allowed_hosts == ("a.example", "b.example")
    assert settings.streams_max == 1_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "there is no setting prot; did you mean port?"),
        ("tick-ms = 20", "there is no setting tick-ms; did you mean tick_ms?"),
        ("[server]\nport = 1", "tables are not supported; move the settings in [server] to the top level"),
        ("port = 70000", "port: input should be less than or equal to 65535"),
        ("port =", "is not TOML: invalid value"),
    ],
)
def test_a_mistake_in_the_file_is_named(text: str, said: str, bare: Path, whorl: Whorl) -> None:
    (bare / "whorl.toml").write_text(text)
    refused = whorl("serve", "--config", "whorl.toml")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: whorl.toml")
    assert said in refused.stderr


@pytest.mark.usefixtures("bare")
def test_a_file_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"cannot read the settings in none\.toml: No such file"):
        load_settings({}, Path("none.toml"))


def test_a_server_reads_its_file(start_server: Start, tmp_path: Path) -> None:
    path = tmp_path / "whorl.toml"
    path.write_text("streams_max = 1\n")
    with start_server(config=path).client() as client:
        assert client.put("/streams/http%3A%2F%2Fex%2Fa", json={}).status_code == 201
        assert client.put("/streams/http%3A%2F%2Fex%2Fb", json={}).status_code == 429


# ---- certificates ----


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", *curve, *names, "-keyout", str(key), "-out", str(cert), "-days", "1"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def test_a_certificate_that_is_not_trusted_is_named(
    start_server: Start, certificate: tuple[Path, Path], whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server(tls_cert=certificate[0], tls_key=certificate[1])
    url = server.url.replace("127.0.0.1", "localhost")
    refused = whorl("queries", "--url", url, "--token", server.token)
    assert refused.exit_code == 3
    assert f"no connection to {url}: its certificate is not trusted: self-signed certificate" in refused.stderr
    assert "hint: set SSL_CERT_FILE" in refused.stderr
    with Client(url, server.token) as client, pytest.raises(CertificateError, match="is not trusted"):
        client.subscribe("any")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert whorl("queries", "--url", url, "--token", server.token).exit_code == 0


def test_a_server_without_tls_is_named(server: ServerProcess, whorl: Whorl) -> None:
    refused = whorl("queries", "--url", server.url.replace("http:", "https:"), "--token", server.token)
    assert refused.exit_code == 3
    assert "it does not speak TLS; write http:// instead of https://" in refused.stderr


def test_a_certificate_that_is_missing_or_wrong_is_named_at_the_start(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    code, output = run_to_exit(tmp_path / "data", {"tls_cert": cert, "tls_key": key})
    assert code == 2
    assert output == f"whorl cannot start: tls_cert names {cert}, which cannot be read: No such file or directory\n"
    cert.write_text("no certificate")
    key.write_text("no key")
    with pytest.raises(ValueError, match="are not a certificate and its private key, both PEM and without a password"):
        check_certificate(cert, key)


# ---- doctor ----


@pytest.mark.usefixtures("bare")
def test_doctor_finds_nothing_wrong_where_a_server_could_start(whorl: Whorl) -> None:
    found = whorl("doctor", "--url", "http://127.0.0.1:9", "--json")
    assert found.exit_code in (0, 1), found.stderr
    checks = {check["name"]: check for check in json.loads(found.stdout)}
    assert checks["versions"]["state"] == "ok"
    assert checks["settings"]["says"] == "all are defaults"
    assert checks["data directory"]["says"] == "whorl-data is created at the first start"


@pytest.mark.usefixtures("bare")
def test_doctor_names_what_would_keep_a_server_from_starting(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_TOKEN_FILE", "none")
    monkeypatch.setenv("WHORL_HOST", "0.0.0.0")
    found = whorl("doctor", "--url", "http://127.0.0.1:9")
    assert found.exit_code == 1
    assert "FAULT    admin token: none is missing\n         hint: create none\n" in found.stdout
    assert "FAULT    exposure: 0.0.0.0 is not a loopback address: set tls_cert and tls_key" in found.stdout


@pytest.mark.usefixtures("bare")
def test_doctor_sees_open_files_and_a_taken_port(
    whorl: Whorl, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHORL_PORT", server.url.rpartition(":")[2])
    monkeypatch.setenv("WHORL_DATA_DIR", str(server.data_dir))
    (server.data_dir / "token").chmod(0o644)
    found = whorl("doctor", "--url", "http://127.0.0.1:9")
    assert "warning  admin token: " in found.stdout
    assert "hint: chmod 600" in found.stdout
    assert "FAULT    server: port" in found.stdout
    assert f"ok       server: {server.url} runs" in whorl("doctor", "--url", server.url).stdout


def test_the_bundle_has_no_secret_and_no_event(
    whorl: Whorl, bare: Path, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHORL_TOKEN", server.token)
    at = ("--url", server.url, "--token", server.token)
    whorl("streams", "http://ex/s", "--declare", *at)
    text = "PREFIX : <http://ex/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE { WINDOW :w { ?x :p ?y } }"
    whorl("query", text, "--name", "asked", *at)
    (bare / "event.ttl").write_text('<http://ex/a> <http://ex/p> "told in confidence" .')
    whorl("push", "event.ttl", "--stream", "http://ex/s", "--t", "1000", "-q", *at)
    assert whorl("doctor", "--bundle", "support.tar.gz", *at).exit_code in (0, 1)
    with tarfile.open("support.tar.gz") as bundle:
        files = {one.name: bundle.extractfile(one) for one in bundle.getmembers()}
        contents = {name: file.read().decode() for name, file in files.items() if file is not None}
    assert {"checks.json", "settings.json", "versions.json", "metrics.txt", "streams.json", "queries.json"} <= {
        name.removeprefix("whorl-support/") for name in contents
    }
    assert "?x :p ?y" in contents["whorl-support/queries.json"]
    assert "whorl-support/why/asked.json" in contents
    everything = "\n".join(contents.values())
    assert server.token not in everything
    assert "told in confidence" not in everything
    assert "(set, not shown)" in contents["whorl-support/settings.json"]
    again = whorl("doctor", "--bundle", "support.tar.gz", *at)
    assert "support.tar.gz is there already" in again.stderr
