"""Limits: bodies, lines, inflated bodies, slow bodies, queues, registrations, numbers of things."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

import httpx
import pytest
from server_process import ServerProcess

NQUADS = {"Content-Type": "application/n-quads"}
NDJSON = {"Content-Type": "application/x-ndjson"}
RSPQL = {"Content-Type": "application/rsp-ql"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with small limits."""
    settings = {
        "body_bytes_max": 100_000,
        "body_seconds_max": 1,
        "streams_max": 3,
        "queries_max": 2,
        "graphs_bytes_max": 50_000,
        "registrations_per_minute": 10,
        "queue_bytes_max": 200_000,
    }
    server = ServerProcess(tmp_path_factory.mktemp("small"), settings).start()
    with server.client() as client:
        assert client.put("/streams/http://ex.org/s").status_code == 201
    yield server
    server.kill()


@pytest.fixture
def client(small: ServerProcess) -> Iterator[httpx.Client]:
    with small.client() as client:
        yield client


def spaces(n: int) -> Iterator[bytes]:
    for _ in range(n):
        yield b" " * 65536


def assert_too_large(answer: httpx.Response) -> None:
    assert answer.status_code == 413
    assert answer.json()["type"] in {"urn:whorl:problem:body-too-large", "urn:whorl:problem:inflates-too-much"}


def test_an_announced_body_is_refused_unread(client: httpx.Client) -> None:
    assert_too_large(client.post("/streams/http://ex.org/s", content=b" " * 100_001, headers=NQUADS))


def test_an_unannounced_body_is_refused_on_its_way(client: httpx.Client) -> None:
    # The server may close the connection before all is sent.
    with contextlib.suppress(httpx.WriteError, httpx.RemoteProtocolError):
        assert_too_large(client.post("/streams/http://ex.org/s", content=spaces(1000), headers=NQUADS))


def test_a_graph_and_a_query_have_limits(client: httpx.Client) -> None:
    turtle = {"Content-Type": "text/turtle"}
    assert_too_large(client.put("/graphs?default", content=b" " * 50_001, headers=turtle))
    assert_too_large(client.put("/queries/q", content=b" " * 65_537, headers=RSPQL))
    assert_too_large(client.put("/queries/q", json={"query": "x" * 65_537}))
    assert_too_large(client.post("/sparql", data={"query": "x" * 65_537}))


def test_a_line_has_a_limit_though_the_body_has_none(client: httpx.Client) -> None:
    line = b'{"t": 1000, "data": "<http://ex.org/a> <http://ex.org/p> 1 ."}\n'
    many = client.post("/streams/http://ex.org/s", content=(line * 1000 for _ in range(20)), headers=NDJSON)
    assert many.json()["accepted"] + many.json()["late"] == 20_000
    with contextlib.suppress(httpx.WriteError, httpx.RemoteProtocolError):
        assert_too_large(client.post("/streams/http://ex.org/s", content=spaces(40), headers=NDJSON))


def test_a_bomb_does_not_go_off(client: httpx.Client) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b" " * 1_000_000) for _ in range(50)) + packer.flush()
    assert len(bomb) < 100_000
    began = time.monotonic()
    assert_too_large(
        client.post("/streams/http://ex.org/s", content=bomb, headers={**NQUADS, "Content-Encoding": "gzip"})
    )
    assert_too_large(
        client.post("/streams/http://ex.org/s", content=bomb, headers={**NDJSON, "Content-Encoding": "gzip"})
    )
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("cut", [5, 20, -1])
def test_half_a_gzip_body_is_refused(client: httpx.Client, cut: int) -> None:
    body = gzip.compress(b"<http://ex.org/a> <http://ex.org/p> <http://ex.org/o> .\n")[:cut]
    answer = client.post("/streams/http://ex.org/s?t=1", content=body, headers={**NQUADS, "Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:whorl:problem:gzip-broken")


def test_a_slow_body_is_not_waited_for(small: ServerProcess) -> None:
    port = int(small.url.rpartition(":")[2])
    head = (
        f"POST /streams/http://ex.org/s?t=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {small.token}\r\n"
        "Content-Type: text/turtle\r\nContent-Length: 100\r\n\r\n<a"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_a_full_queue_says_when_to_come_back(small: ServerProcess) -> None:
    body = b"<http://ex.org/a> <http://ex.org/p> <http://ex.org/o> <http://ex.org/g> .\n" * 1200
    answers: list[httpx.Response] = []

    def flood() -> None:
        with small.client() as client:
            answers.extend(client.post("/streams/http://ex.org/s?t=1", content=body, headers=NQUADS) for _ in range(25))

    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert {answer.json()["type"] for answer in refused} == {"urn:whorl:problem:overloaded"}
    assert all(answer.status_code in {202, 422, 429} for answer in answers)


def test_there_are_only_so_many_streams(client: httpx.Client) -> None:
    made = [client.put(f"/streams/http://ex.org/many{n}").status_code for n in range(4)]
    assert made == [201, 201, 429, 429]
    assert client.put("/streams/http://ex.org/s").status_code == 200


def test_registrations_are_rationed(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(registrations_per_minute=3)
    with server.client() as client:
        answers = [client.post("/queries/validate", content="SELEKT", headers=RSPQL) for _ in range(6)]
    assert [answer.status_code for answer in answers[:3]] == [400, 400, 400]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_there_are_only_so_many_queries(client: httpx.Client) -> None:
    text = "SELECT ?s FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> [RANGE 10s STEP 10s] "
    text += "WHERE { WINDOW <http://ex.org/w> { ?s ?p ?o } }"
    made = [client.put(f"/queries/many{n}", content=text, headers=RSPQL) for n in range(3)]
    assert [answer.status_code for answer in made] == [201, 201, 429]
    assert made[-1].json()["type"] == "urn:whorl:problem:too-many-queries"


def test_a_head_without_end_is_cut_off(small: ServerProcess) -> None:
    port = int(small.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(OSError):
            for n in range(2000):
                connection.sendall(b"X-%d: " % n + b"x" * 1000 + b"\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(65536).startswith(b"HTTP/1.1 431")


def test_half_a_head_is_not_waited_for(small: ServerProcess) -> None:
    port = int(small.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: local")
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_a_connection_is_used_again(small: ServerProcess) -> None:
    with small.client() as client:
        answers = [client.get("/healthz", headers={"X-Fill": "x" * 8000}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5


def test_requests_in_a_row_are_all_answered(small: ServerProcess) -> None:
    """Together they are longer than a head may be; the last of them comes in two parts."""
    port = int(small.url.rpartition(":")[2])
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        requests = request * 1000
        connection.sendall(requests[:-10])
        time.sleep(0.2)
        connection.sendall(requests[-10:])
        answers = b""
        while answers.count(b'{"status":"alive"}') < 1000:
            piece = connection.recv(65536)
            assert piece, answers[-300:]
            answers += piece
    assert answers.count(b"HTTP/1.1 200") == 1000


def test_a_head_without_end_behind_other_requests_is_no_fault(start_server: Callable[..., ServerProcess]) -> None:
    """The answer to the one before could not be sent any more, which filled the log with stack traces."""
    server = start_server()
    port = int(server.url.rpartition(":")[2])
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, contextlib.suppress(OSError):
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Fill: ")
            for _ in range(40):
                connection.sendall(b"x" * 1000)
            while connection.recv(65536):
                pass
    with server.anonymous() as client:
        assert client.get("/healthz").status_code == 200
    assert "Traceback" not in server.log
    assert "ERROR" not in server.log
