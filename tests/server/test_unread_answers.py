"""Unread responses: their memory is bounded, and slow readers still get them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from measure import Meter
from server_process import ServerProcess


def unread_answers(server: ServerProcess, n: int) -> list[socket.socket]:
    """Connections on which a graph of some megabytes was asked for, and nothing is read."""
    found = []
    for _ in range(n):
        connection = socket.socket()
        connection.settimeout(30)
        # Before it connects, so that the system holds little of an answer.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        head = f"Host: localhost\r\nAccept: application/n-triples\r\nAuthorization: Bearer {server.token}"
        connection.sendall(f"GET /graphs?default= HTTP/1.1\r\n{head}\r\n\r\n".encode())
        found.append(connection)
    return found


def is_cut(connection: socket.socket) -> bool:
    """Whether the server has given up on it: what the system held is there, the end of the answer is not."""
    received = 0
    try:
        while piece := connection.recv(65536):
            received += len(piece)
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return received < 5_000_000


def put_large_graph(server: ServerProcess) -> None:
    with server.client(headers={"Content-Type": "text/turtle"}) as client:
        text = "".join(f"<urn:{'s' * 80}{n}> <urn:p> {n} . " for n in range(60_000))
        client.put("/graphs", params={"default": ""}, content=text).raise_for_status()


def test_an_answer_that_nobody_reads_is_not_kept_for_ever(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(answer_seconds_max=1)
    put_large_graph(server)
    stuck = unread_answers(server, 3)
    slow = unread_answers(server, 1)[0]
    # Slow, but not stuck.
    for _ in range(20):
        time.sleep(0.1)
        assert slow.recv(60_000)
    assert all(is_cut(one) for one in stuck)
    for one in (*stuck, slow):
        one.close()
    with server.client() as client:
        assert len(client.get("/graphs", params={"default": ""}).content) > 5_000_000
    assert "Traceback" not in server.log


def test_unread_answers_have_only_so_much_room(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(answers_bytes_max=20_000_000)
    put_large_graph(server)
    meter = Meter(server)
    handles = meter.handles()
    stuck = unread_answers(server, 8)
    with server.client() as client:
        deadline = time.monotonic() + 30
        # Those stuck longest give way to the others.
        while not handles < meter.handles() < handles + 8 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert client.get("/healthz").status_code == 200
    # Which ones depends on the order in which they were answered.
    assert 0 < sum(is_cut(one) for one in stuck) < len(stuck)
    for one in stuck:
        one.close()
    assert "Traceback" not in server.log
