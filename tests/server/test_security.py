"""Who is let in: tokens, scopes, tickets, hosts, origins; and what no answer and no log tells."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from server_process import ServerProcess, run_to_exit
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin
from whorl.server.app import create_app
from whorl.server.routes import push_description
from whorl.server.security import TICKETS_PER_TOKEN_MAX
from whorl.server.settings import Settings

# Operations that answer without a token; everything else must not.
OPEN = {("GET", "/"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/docs"), ("GET", "/assets/{name}")}
# Sockets may say their token in their first message; their own tests hold them to it.
SOCKETS = {("WEBSOCKET", "/ws"), ("WEBSOCKET", "/queries/{name}/ws")}

# What a token with one scope may do. An operation that is not listed fails `test_every_operation_is_in_the_matrix`.
ANY = {"ingest", "subscribe", "register"}
MATRIX: dict[tuple[str, str], set[str]] = {
    ("GET", "/metrics"): ANY,
    ("GET", "/openapi.json"): ANY,
    ("GET", "/demo"): ANY,
    ("PUT", "/demo"): {"register"},
    ("GET", "/backup"): set(),
    ("POST", "/tokens"): set(),
    ("GET", "/tokens"): set(),
    ("DELETE", "/tokens/{token_id}"): set(),
    ("POST", "/tickets"): ANY,
    ("PUT", "/streams/{iri}"): {"register"},
    ("GET", "/streams"): ANY,
    ("GET", "/streams/{iri}"): ANY,
    ("DELETE", "/streams/{iri}"): {"register"},
    ("POST", "/streams/{iri}"): {"ingest"},
    ("POST", "/streams/{iri}/watermark"): {"ingest"},
    ("POST", "/streams/{iri}/close"): {"ingest"},
    ("PUT", "/streams/{iri}/mapping"): {"register"},
    ("GET", "/streams/{iri}/mapping"): ANY,
    ("DELETE", "/streams/{iri}/mapping"): {"register"},
    ("POST", "/streams/{iri}/stages"): {"ingest"},
    ("POST", "/streams/{iri}/commits"): {"ingest"},
    ("PUT", "/queries/{name}"): {"register"},
    ("POST", "/queries"): {"register"},
    ("POST", "/queries/validate"): {"register"},
    ("GET", "/queries"): {"subscribe", "register"},
    ("GET", "/queries/{name}"): {"subscribe", "register"},
    ("GET", "/queries/{name}/plan"): {"subscribe", "register"},
    ("GET", "/queries/{name}/why"): {"subscribe", "register"},
    ("POST", "/queries/{name}"): {"register"},
    ("DELETE", "/queries/{name}"): {"register"},
    ("GET", "/queries/{name}/results"): {"subscribe"},
    ("GET", "/queries/{name}/events"): {"subscribe"},
    ("POST", "/streams/{iri}/reopen"): {"ingest"},
    ("GET", "/graphs"): {"subscribe"},
    ("HEAD", "/graphs"): {"subscribe"},
    ("PUT", "/graphs"): {"register"},
    ("POST", "/graphs"): {"register"},
    ("DELETE", "/graphs"): {"register"},
    ("GET", "/graphs/{name:path}"): {"subscribe"},
    ("HEAD", "/graphs/{name:path}"): {"subscribe"},
    ("PUT", "/graphs/{name:path}"): {"register"},
    ("POST", "/graphs/{name:path}"): {"register"},
    ("DELETE", "/graphs/{name:path}"): {"register"},
    ("GET", "/sparql"): {"subscribe"},
    ("POST", "/sparql"): {"subscribe"},
}
OPERATIONS = sorted(MATRIX)

HOSTILE_ORIGINS = (
    "null",
    "http://evil.example",
    "https://evil.example",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://127.0.0.1.evil.example:{port}",
    "http://evil.example:{port}",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "http://user@127.0.0.1:{port}",
    "http://localhost:{port}",
    "file://",
)
HOSTILE_HOSTS = (
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example",
    "localhost@evil.example",
    "evil.example#localhost",
    "127.0.0.2:{port}",
    "0.0.0.0:{port}",
    "[::2]:{port}",
    "localhost:{port}:{port}",
    "",
)


def operations() -> set[tuple[str, str]]:
    app = create_app(Settings(data_dir=Path("unused")))
    # `PushMiddleware` handles one operation for which the framework has no route.
    routes = [*app.routes, *push_description.router.routes]
    found = [(route.path, route.methods) for route in iter_route_contexts(routes)]
    return {(method, path) for path, methods in found if path is not None for method in methods or {"WEBSOCKET"}}


def concrete(path: str) -> str:
    path = path.replace("{iri}", "http%3A%2F%2Fex.org%2Fnowhere").replace("{name:path}", "nowhere")
    return path.replace("{name}", "nowhere").replace("{token_id}", "nowhere")


def port_of(server: ServerProcess) -> str:
    return server.url.rpartition(":")[2]


def test_every_operation_is_in_the_matrix() -> None:
    assert operations() == MATRIX.keys() | OPEN | SOCKETS


@pytest.mark.parametrize("prefix", ["", "/v1"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_without_a_token_nothing_is_done(server: ServerProcess, method: str, path: str, prefix: str) -> None:
    with server.anonymous() as nobody:
        answer = nobody.request(method, prefix + concrete(path))
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    ["Bearer wrong", "Basic dXNlcjpwYXNz", "Bearer \u00e9", "bearer", "Bearer null", "Bearer {half}"],
)
def test_wrong_tokens_are_refused(server: ServerProcess, header: str) -> None:
    said = header.replace("{half}", server.token[:20]).encode()
    with server.anonymous() as nobody:
        assert nobody.get("/streams", headers={b"Authorization": said}).status_code == 401


@pytest.fixture(scope="module")
def scoped(server: ServerProcess) -> Iterator[dict[str, httpx.Client]]:
    """A client for each scope alone."""
    with server.client() as admin:
        made = {
            scope: admin.post("/tokens", json={"name": scope, "scopes": [scope]}).json()["token"]
            for scope in ("ingest", "subscribe", "register")
        }
    clients = {scope: server.client(token) for scope, token in made.items()}
    yield clients
    for client in clients.values():
        client.close()


@pytest.mark.parametrize("scope", sorted(ANY))
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_scope_allows_what_the_matrix_says(
    scoped: dict[str, httpx.Client], method: str, path: str, scope: str
) -> None:
    headers = {"Content-Type": "application/sparql-query"} if path == "/sparql" else {}
    answer = scoped[scope].request(method, concrete(path), headers=headers)
    if scope in MATRIX[method, path]:
        assert answer.status_code not in {401, 403}
    else:
        assert answer.status_code == 403


def test_an_update_needs_the_scope_register(scoped: dict[str, httpx.Client]) -> None:
    headers = {"Content-Type": "application/sparql-update"}
    assert scoped["subscribe"].post("/sparql", content="CLEAR ALL", headers=headers).status_code == 403
    assert scoped["subscribe"].post("/sparql", data={"update": "CLEAR ALL"}).status_code == 403
    assert scoped["ingest"].post("/sparql", data={"update": "CLEAR ALL"}).status_code == 403


def test_a_deleted_token_is_not_known(server: ServerProcess, client: httpx.Client) -> None:
    made = client.post("/tokens", json={"name": "short-lived", "scopes": ["ingest"]})
    assert made.status_code == 201
    token = made.json()
    listed = client.get("/tokens").json()["tokens"]
    assert token["id"] in {one["id"] for one in listed}
    assert token["token"] not in json.dumps(listed)
    with server.client(token["token"]) as other:
        assert other.get("/streams").status_code == 200
        assert client.delete(f"/tokens/{token['id']}").status_code == 204
        assert other.get("/streams").status_code == 401
    assert client.delete(f"/tokens/{token['id']}").status_code == 404


@pytest.mark.parametrize(
    "wanted",
    [{}, {"name": "x", "scopes": []}, {"name": "x", "scopes": ["root"]}, {"name": "\x1b[2J", "scopes": ["ingest"]}, []],
)
def test_tokens_that_make_no_sense_are_not_made(client: httpx.Client, wanted: object) -> None:
    answer = client.post("/tokens", json=wanted)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:whorl:problem:request-invalid"


def test_a_ticket_is_good_for_one_use(server: ServerProcess, client: httpx.Client) -> None:
    ticket = client.post("/tickets").json()
    assert ticket["expiresInS"] <= 30
    with server.anonymous() as nobody:
        assert nobody.get("/streams", params={"ticket": ticket["ticket"]}).status_code == 200
        assert nobody.get("/streams", params={"ticket": ticket["ticket"]}).status_code == 401
        assert nobody.get("/streams", params={"ticket": "made-up"}).status_code == 401


def test_one_token_cannot_take_the_tickets_of_all_others(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    with server.client() as admin:
        token = admin.post("/tokens", json={"name": "greedy", "scopes": ["ingest"]}).json()["token"]
        with server.client(token) as greedy:
            given = [greedy.post("/tickets") for _ in range(TICKETS_PER_TOKEN_MAX + 1)]
        assert [one.status_code for one in given] == [201] * TICKETS_PER_TOKEN_MAX + [429]
        assert int(given[-1].headers["retry-after"]) > 0
        assert admin.post("/tickets").status_code == 201


def test_a_token_in_the_query_string_is_ignored(server: ServerProcess) -> None:
    with server.anonymous() as nobody:
        assert nobody.get("/streams", params={"token": server.token}).status_code == 401


@pytest.mark.parametrize("origin", HOSTILE_ORIGINS)
def test_hostile_origins_are_refused(server: ServerProcess, client: httpx.Client, origin: str) -> None:
    said = {"Origin": origin.replace("{port}", port_of(server))}
    answer = client.get("/streams", headers=said)
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:whorl:problem:origin-not-allowed"
    assert "access-control-allow-origin" not in answer.headers
    preflight = client.options("/streams", headers={**said, "Access-Control-Request-Method": "GET"})
    assert preflight.status_code == 403


@pytest.mark.parametrize("origin", HOSTILE_ORIGINS)
def test_hostile_origins_get_no_socket(server: ServerProcess, origin: str) -> None:
    url = server.url.replace("http", "ws", 1) + "/ws"
    headers = {"Authorization": f"Bearer {server.token}"}
    with pytest.raises(InvalidStatus) as refused:
        connect(url, origin=Origin(origin.replace("{port}", port_of(server))), additional_headers=headers)
    assert refused.value.response.status_code == 403


def test_the_own_origin_is_accepted(server: ServerProcess, client: httpx.Client) -> None:
    assert client.get("/streams", headers={"Origin": server.url}).status_code == 200


def raw_exchange(server: ServerProcess, text: str) -> str:
    host, port = "127.0.0.1", int(port_of(server))
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(text.encode("latin-1"))
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received.decode("latin-1")


@pytest.mark.parametrize("host", HOSTILE_HOSTS)
def test_unknown_hosts_are_refused(server: ServerProcess, host: str) -> None:
    named = host.replace("{port}", port_of(server))
    answer = raw_exchange(server, f"GET /healthz HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n\r\n")
    assert re.match(r"HTTP/1.1 4(21|00)", answer)
    assert "alive" not in answer


@pytest.mark.parametrize("host", HOSTILE_HOSTS[:8])
def test_unknown_hosts_get_no_socket(server: ServerProcess, host: str) -> None:
    named = host.replace("{port}", port_of(server))
    answer = raw_exchange(
        server,
        f"GET /ws HTTP/1.1\r\nHost: {named}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    )
    assert re.match(r"HTTP/1.1 4\d\d", answer)


def test_no_host_and_two_hosts_are_refused(server: ServerProcess) -> None:
    for hosts in ("", "Host: localhost\r\nHost: localhost\r\n"):
        answer = raw_exchange(server, f"GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n")
        assert re.match(r"HTTP/1.1 4\d\d", answer)


@pytest.mark.parametrize("host", ["localhost", "localhost:{port}", "127.0.0.1", "[::1]:{port}", "LOCALHOST"])
def test_loopback_names_are_accepted(server: ServerProcess, host: str) -> None:
    named = host.replace("{port}", port_of(server))
    answer = raw_exchange(server, f"GET /healthz HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200")


def test_listed_hosts_and_origins_are_accepted(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(
        allowed_hosts='["rsp.example"]', allowed_origins='["https://app.example"]', token="planted-secret"
    )
    with server.client("planted-secret") as client:
        assert client.get("/streams", headers={"Host": "rsp.example"}).status_code == 200
        assert client.get("/streams", headers={"Host": "rsp.example.evil"}).status_code == 421
        listed = client.get("/streams", headers={"Origin": "https://app.example"})
        assert listed.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in listed.headers
        assert client.get("/streams", headers={"Origin": "https://app.example.evil"}).status_code == 403
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "PUT"}
        preflight = client.options("/streams", headers=asked)
        assert preflight.status_code == 204
        assert "PUT" in preflight.headers["access-control-allow-methods"]
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    server.stop()
    assert "planted-secret" not in server.log


def test_the_token_file_is_private_and_stays(start_server: Callable[..., ServerProcess]) -> None:
    first = start_server()
    token = first.token
    path = first.data_dir / "token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() == token
    with first.client() as client:
        made = client.post("/tokens", json={"name": "kept", "scopes": ["subscribe"]}).json()["token"]
    records = first.data_dir / "tokens.json"
    assert stat.S_IMODE(records.stat().st_mode) == 0o600
    assert made not in records.read_text()
    assert first.stop() == 0
    again = start_server()
    assert token not in again.log
    with again.client(token) as client, again.client(made) as other:
        assert client.get("/tokens").json()["tokens"][0]["name"] == "kept"
        assert other.get("/queries").status_code == 200


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"host": "0.0.0.0"}, "not a loopback address"),
        ({"host": "0.0.0.0", "anonymous": "true"}, "anonymous access is only for a loopback address"),
        ({"host": "0.0.0.0", "anonymous": "true", "behind_proxy": "true"}, "anonymous access"),
        ({"host": "::"}, "not a loopback address"),
        ({"tls_cert": "cert.pem"}, "belong together"),
        ({"port": "99999"}, "WHORL_PORT: "),
        ({"ack": "never"}, "WHORL_ACK: "),
    ],
)
def test_unsafe_or_wrong_settings_do_not_start(tmp_path: Path, settings: dict[str, str], reason: str) -> None:
    code, output = run_to_exit(tmp_path, settings)
    assert code == 2
    assert reason in output
    assert "Traceback" not in output


def test_a_taken_port_is_named(server: ServerProcess, tmp_path: Path) -> None:
    code, output = run_to_exit(tmp_path, {"port": port_of(server)})
    assert code == 2
    assert f"port {port_of(server)} is in use" in output


def test_anonymous_access_on_loopback_needs_no_token(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(anonymous="true")
    with server.anonymous() as nobody:
        assert nobody.put("/streams/http://ex.org/s").status_code == 201
        assert nobody.get("/tokens").status_code == 200


def test_no_answer_names_the_software(client: httpx.Client) -> None:
    for path in ("/", "/nowhere", "/streams/relative", "/queries/no such name"):
        answer = client.get(path)
        assert "server" not in answer.headers
        assert not re.search(r"uvicorn|starlette|fastapi|python|Traceback|File \"", answer.text, re.IGNORECASE)


def test_logs_hold_no_secrets_and_no_control_characters(server: ServerProcess, client: httpx.Client) -> None:
    ticket = client.post("/tickets").json()["ticket"]
    client.get("/streams", params={"ticket": ticket})
    client.get("/queries/%1b%5b2J%0d%0aforged")
    logged = "\n".join(line for line in server.lines if "whorl is ready" not in line)
    assert server.token not in logged
    assert ticket not in logged
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", logged)
