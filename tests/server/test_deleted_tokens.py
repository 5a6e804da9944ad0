"""Whatever is open ends with its token: sockets, feeds, polls and uploads. Nothing can be published afterwards."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from server_process import ServerProcess
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

RSPQL = {"Content-Type": "application/rsp-ql"}
NDJSON = {"Content-Type": "application/x-ndjson"}
PROTOCOL = [Subprotocol("rsp.v1.json")]
EVENT = {"t": 1, "event": {"@id": "http://ex.org/a", "http://ex.org/p": 1}}


@dataclass
class Caller:
    """Somebody with a token, which the admin can delete."""

    server: ServerProcess
    admin: httpx.Client
    id: str
    token: str

    def delete(self) -> None:
        assert self.admin.delete(f"/tokens/{self.id}").status_code == 204

    def connect(self, path: str, **options: Any) -> Any:
        url = self.server.url.replace("http", "ws", 1) + path
        options.setdefault("additional_headers", {"Authorization": f"Bearer {self.token}"})
        return connect(url, proxy=None, **options)

    @contextlib.contextmanager
    def session(self) -> Iterator[ClientConnection]:
        with self.connect("/ws", subprotocols=PROTOCOL) as socket:
            socket.send(json.dumps({"type": "connection_init"}))
            assert json.loads(socket.recv(30))["type"] == "connection_ack"
            yield socket


@pytest.fixture
def caller(server: ServerProcess, client: httpx.Client) -> Iterator[Caller]:
    scopes = ["ingest", "subscribe", "register"]
    made = client.post("/tokens", json={"name": "leaver", "scopes": scopes}).json()
    yield Caller(server, client, made["id"], made["token"])
    client.delete(f"/tokens/{made['id']}")


@pytest.fixture
def name(client: httpx.Client, stream: str) -> str:
    text = (
        f"SELECT ?s FROM NAMED WINDOW <http://ex.org/w> ON <{stream.removeprefix('/streams/')}> [RANGE 1s STEP 1s] "
        "WHERE { WINDOW <http://ex.org/w> { ?s ?p ?o } }"
    )
    found: str = client.post("/queries", content=text, headers=RSPQL).json()["id"]
    return found


def events(client: httpx.Client, stream: str) -> int:
    return int(client.get(stream).json()["events"])


def check_closed(socket: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed) as closed:
        deque(iter(lambda: socket.recv(10), None), maxlen=0)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4401, "the token has been deleted")


def test_a_session_ends_and_publishes_no_more(caller: Caller, client: httpx.Client, stream: str, name: str) -> None:
    publication = {"stream": stream.removeprefix("/streams/"), "events": [EVENT]}
    with caller.session() as socket:
        socket.send(json.dumps({"type": "subscribe", "id": "s", "payload": {"query": name, "credit": 10}}))
        assert json.loads(socket.recv(30))["type"] == "subscribed"
        socket.send(json.dumps({"type": "publish", "id": "before", "payload": publication}))
        assert json.loads(socket.recv(30))["type"] == "published"
        caller.delete()
        with contextlib.suppress(ConnectionClosed):
            socket.send(json.dumps({"type": "publish", "id": "after", "payload": publication}))
        check_closed(socket)
    assert events(client, stream) == 1


def test_publications_that_wait_when_the_token_goes_are_all_answered_or_not_taken(
    caller: Caller, client: httpx.Client, stream: str
) -> None:
    publication = {"stream": stream.removeprefix("/streams/"), "events": [EVENT]}
    with caller.session() as socket:
        for number in range(200):
            socket.send(json.dumps({"type": "publish", "id": str(number), "payload": publication}))
        caller.delete()
        at_deletion = events(client, stream)
        check_closed(socket)
    # Those that had been handed to the engine by then, and no other.
    assert events(client, stream) == at_deletion


def test_a_plain_socket_ends(caller: Caller, name: str) -> None:
    with caller.connect(f"/queries/{name}/ws") as socket:
        caller.delete()
        check_closed(socket)


def test_a_socket_that_came_by_a_ticket_ends_with_the_token(caller: Caller, name: str) -> None:
    with caller.server.client(caller.token) as client:
        ticket = client.post("/tickets").json()["ticket"]
    with caller.connect(f"/queries/{name}/ws?ticket={ticket}", additional_headers={}) as socket:
        caller.delete()
        check_closed(socket)


def test_a_socket_cannot_begin_with_a_token_that_is_gone_since_the_handshake(caller: Caller) -> None:
    with caller.connect("/ws", subprotocols=PROTOCOL) as socket:
        caller.delete()
        socket.send(json.dumps({"type": "connection_init"}))
        check_closed(socket)


def test_sockets_of_others_go_on(caller: Caller, server: ServerProcess) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    with caller.connect("/ws", subprotocols=PROTOCOL, additional_headers=headers) as socket, caller.session() as own:
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv(30))["type"] == "connection_ack"
        caller.delete()
        check_closed(own)
        socket.send(json.dumps({"type": "ping"}))
        assert json.loads(socket.recv(30))["type"] == "pong"


def test_the_unnamed_queries_of_a_token_go_with_its_socket(caller: Caller, client: httpx.Client, stream: str) -> None:
    text = (
        f"SELECT ?s FROM NAMED WINDOW <http://ex.org/w> ON <{stream.removeprefix('/streams/')}> [RANGE 1s STEP 1s] "
        "WHERE { WINDOW <http://ex.org/w> { ?s ?p ?o } }"
    )
    with caller.session() as socket:
        socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"rspql": text, "credit": 10}}))
        unnamed = json.loads(socket.recv(30))["payload"]["query"]
        with caller.connect(f"/queries/{unnamed}/ws", additional_headers=admin(caller)) as follower:
            caller.delete()
            check_closed(socket)
            with pytest.raises(ConnectionClosed) as closed:
                follower.recv(30)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.reason == "deleted"
    assert client.get(f"/queries/{unnamed}").status_code == 404


def admin(caller: Caller) -> dict[str, str]:
    return {"Authorization": f"Bearer {caller.server.token}"}


@pytest.mark.parametrize("path", ["/queries/{}/events", "/queries/{}/results"])
def test_a_feed_ends(caller: Caller, name: str, path: str) -> None:
    accept = {"Accept": "application/x-ndjson, text/event-stream"}
    with (
        caller.server.client(caller.token) as reader,
        reader.stream("GET", path.format(name), headers=accept) as answer,
    ):
        assert answer.status_code == 200
        caller.delete()
        # The end of the response; without it this would wait for the client's time-out and fail.
        assert "".join(answer.iter_text()).strip() in {"", "retry: 1000"}


def test_an_upload_ends(caller: Caller, client: httpx.Client, stream: str) -> None:
    """A body that streams is taken up to the deletion; the next batch is refused."""
    lines: queue.Queue[bytes | None] = queue.Queue()
    # Longer than a batch, so that it is taken as soon as it has come.
    lines.put((json.dumps(EVENT).encode() + b"\n") * 5000)
    answers: list[dict[str, Any]] = []

    def upload() -> None:
        with caller.server.client(caller.token) as sender:
            answer = sender.post(stream, params={"ack": "batch"}, content=iter(lines.get, None), headers=NDJSON)
            answers.extend(json.loads(line) for line in answer.text.splitlines())

    sending = threading.Thread(target=upload)
    sending.start()
    while events(client, stream) == 0:
        time.sleep(0.01)
    caller.delete()
    before = events(client, stream)
    lines.put((json.dumps(EVENT).encode() + b"\n") * 5000)
    lines.put(None)
    sending.join(30)
    assert answers[-1]["problem"]["type"].endswith("unauthenticated")
    assert answers[-1]["problem"]["taken"]["accepted"] == before
    assert events(client, stream) == before
