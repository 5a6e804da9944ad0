"""SIGTERM ends a server within ten seconds, whatever its connections; no acknowledged event is lost."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from server_process import ServerProcess
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

STREAM = "/streams/http://ex.org/s"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?s ?o FROM NAMED WINDOW :w ON <http://ex.org/s> [RANGE 1s STEP 1s] WHERE { WINDOW :w { ?s :p ?o } }"""
_SUBSCRIBERS = 20
_STUCK = 3
_LOADERS = 3
_GRACE_S = 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path / "data").start()
    with started.client() as client:
        assert client.put(STREAM).status_code == 201
        headers = {"Content-Type": "application/rsp-ql"}
        assert client.put("/queries/all", content=QUERY, headers=headers).status_code == 201
    yield started
    started.kill()


class Load:
    """Pushes until it is refused or the server has stopped, and records the acknowledged events."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._next = 0
        self.acknowledged = 0
        self.flowing = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(_LOADERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()
        assert self.flowing.wait(30)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        with self._server.client() as client, contextlib.suppress(httpx.TransportError):
            while True:
                with self._lock:
                    self._next += 1
                    at = self._next * 100
                # All of one instant or later ones: none is late for another.
                lines = [json.dumps({"t": at, "data": f"<a:{at}> <http://ex.org/p> {n} ."}) for n in range(200)]
                answer = client.post(STREAM, content="\n".join(lines), headers={"Content-Type": "application/x-ndjson"})
                if answer.status_code != 202:
                    return
                with self._lock:
                    told = answer.json()
                    self.acknowledged += told["accepted"] + told["late"]
                    if self.acknowledged > 5000:
                        self.flowing.set()


def subscribed(server: ServerProcess) -> ClientConnection:
    headers = {"Authorization": f"Bearer {server.token}"}
    address = server.url.replace("http", "ws", 1) + "/queries/all/ws"
    return connect(address, additional_headers=headers, proxy=None, close_timeout=1)


def code_of_end(socket: ClientConnection, codes: list[int]) -> None:
    try:
        while True:
            socket.recv(timeout=60)
    except ConnectionClosed as closed:
        codes.append(closed.rcvd.code if closed.rcvd is not None else 1006)


def test_it_ends_in_time_under_load_and_with_subscribers(server: ServerProcess) -> None:
    load = Load(server)
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(subscribed(server)) for _ in range(_SUBSCRIBERS)]
        # They never read: the server does not wait for them.
        for _ in range(_STUCK):
            stack.enter_context(subscribed(server))
        codes: list[int] = []
        listening = [threading.Thread(target=code_of_end, args=(socket, codes)) for socket in readers]
        for thread in listening:
            thread.start()
        load.start()
        assert server.process is not None
        began = time.monotonic()
        server.process.terminate()
        assert server.process.wait(30) == 0
        took_s = time.monotonic() - began
        load.join()
        for thread in listening:
            thread.join()
    assert took_s < _GRACE_S
    assert codes == [1001] * _SUBSCRIBERS
    assert "Traceback" not in server.log
    with server.start().client() as client:
        stream = client.get(STREAM).json()
    assert stream["events"] + stream["late"] >= load.acknowledged


def test_a_body_that_streams_does_not_hold_it_up(server: ServerProcess) -> None:
    taken = threading.Event()
    release = threading.Event()

    def lines() -> Iterator[bytes]:
        yield b'{"t": 1000, "data": "<a:a> <http://ex.org/p> 1 ."}\n'
        taken.set()
        release.wait(60)

    def send() -> None:
        with server.client() as client, contextlib.suppress(httpx.TransportError):
            client.post(STREAM, content=lines(), headers={"Content-Type": "application/x-ndjson"})

    sending = threading.Thread(target=send)
    sending.start()
    assert taken.wait(30)
    assert server.process is not None
    began = time.monotonic()
    server.process.terminate()
    assert server.process.wait(30) == 0
    took_s = time.monotonic() - began
    release.set()
    sending.join()
    assert took_s < _GRACE_S
