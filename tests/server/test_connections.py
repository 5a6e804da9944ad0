"""HTTP connections on which only the client can go on: each state has a deadline and a size.

The deadlines are those of the server, made short, so that a test waits for tenths of seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from whorl.server import connections
from whorl.server.connections import HEAD_BYTES_MAX, reading_within

HOST = b"Host: localhost\r\n"
CHUNKED = b"POST /body HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED = b"POST /refused HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
DEADLINE_S = 0.4


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body of `/body`, and answers anything else at once."""
    if scope["path"] == "/body":
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            more = message["more_body"]
    size = 50_000 if scope["path"] == "/large" else 2
    headers = [(b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"x" * size})


class Peer(asyncio.Protocol):
    """A client that keeps what it received, also what came just before a reset."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.received = b""
        self._came = asyncio.Event()
        self._lost = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._began = time.monotonic()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._came.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, _: Exception | None) -> None:
        self._lost.set()
        self._may_write.set()

    @property
    def is_connected(self) -> bool:
        return not self._lost.is_set()

    async def send(self, data: bytes) -> None:
        self.transport.write(data)
        await asyncio.sleep(0)
        await self._may_write.wait()

    async def answered(self) -> bytes:
        """What came by the end of the next head."""
        count = self.received.count(b"\r\n\r\n")
        async with asyncio.timeout(20 * DEADLINE_S):
            while self.received.count(b"\r\n\r\n") == count:
                self._came.clear()
                await self._came.wait()
        return self.received

    async def lived_s(self, keep_busy: bytes = b"") -> float:
        """How long until the server has closed the connection; meanwhile, something may be sent now and then."""
        async with asyncio.timeout(20 * DEADLINE_S):
            while self.is_connected:
                self.transport.write(keep_busy)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(DEADLINE_S / 4):
                        await self._lost.wait()
        return time.monotonic() - self._began


@dataclass
class Served:
    """The application under uvicorn."""

    server: uvicorn.Server
    port: int
    peers: list[Peer] = field(default_factory=list)

    async def connect(self) -> Peer:
        _, peer = await asyncio.get_running_loop().create_connection(Peer, "127.0.0.1", self.port)
        self.peers.append(peer)
        return peer


@pytest.fixture
async def served(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(connections, "HEAD_SECONDS_MAX", DEADLINE_S)
    monkeypatch.setattr(connections, "REST_SECONDS_MAX", DEADLINE_S)
    monkeypatch.setattr(connections, "REST_BYTES_MAX", 1_000_000)
    protocol = reading_within(DEADLINE_S, 1_000_000)
    config = uvicorn.Config(app, port=0, http=protocol, lifespan="off", log_config=None, timeout_keep_alive=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    found = Served(server, port)
    yield found
    for peer in found.peers:
        peer.transport.abort()
    server.should_exit = True
    await serving


async def test_trailers_without_end_are_refused_by_their_size(served: Served) -> None:
    peer = await served.connect()
    await peer.send(CHUNKED + b"5\r\nhello\r\n")
    await asyncio.sleep(0.05)
    await peer.send(b"0\r\n")
    for number in range(3 * HEAD_BYTES_MAX // 1000):
        await peer.send(b"X-%d: " % number + b"x" * 1000 + b"\r\n")
        await asyncio.sleep(0.002)
    assert await peer.lived_s() < 5 * DEADLINE_S
    assert peer.received.startswith(b"HTTP/1.1 431")


async def test_one_trailer_without_end_is_refused_by_its_size(served: Served) -> None:
    """It is gathered by the parser, which tells nobody before its end."""
    peer = await served.connect()
    await peer.send(CHUNKED + b"0\r\nX: ")
    for _ in range(10):
        await peer.send(b"x" * (HEAD_BYTES_MAX // 4))
        await asyncio.sleep(0.01)
    assert await peer.lived_s() < 5 * DEADLINE_S
    assert peer.received.startswith(b"HTTP/1.1 431")


async def test_extensions_of_a_chunk_without_end_are_refused(served: Served) -> None:
    peer = await served.connect()
    await peer.send(CHUNKED + b"5;x=")
    for _ in range(10):
        await peer.send(b"x" * (HEAD_BYTES_MAX // 4))
        await asyncio.sleep(0.01)
    await peer.lived_s()
    assert peer.received.startswith(b"HTTP/1.1 431")


async def test_slow_trailers_are_not_waited_for(served: Served) -> None:
    peer = await served.connect()
    await peer.send(CHUNKED + b"5\r\nhello\r\n0\r\n")
    assert DEADLINE_S / 2 < await peer.lived_s(b"X") < 5 * DEADLINE_S
    assert peer.received.startswith(b"HTTP/1.1 408")


async def test_a_body_may_pause_between_its_chunks(served: Served) -> None:
    """A stream of events is silent for as long as there are none."""
    peer = await served.connect()
    await peer.send(CHUNKED + b"5\r\nhello")
    await asyncio.sleep(0.05)
    await peer.send(b"\r\n")
    await asyncio.sleep(3 * DEADLINE_S)
    await peer.send(b"5\r\nhello\r\n0\r\nX-Trailer: short\r\n\r\n")
    assert (await peer.answered()).startswith(b"HTTP/1.1 200")


async def test_a_small_chunk_at_a_time_is_no_trailer(served: Served) -> None:
    peer = await served.connect()
    await peer.send(CHUNKED)
    for _ in range(HEAD_BYTES_MAX // 4):
        await peer.send(b"1\r\nx\r\n")
    await peer.send(b"0\r\n\r\n")
    assert (await peer.answered()).startswith(b"HTTP/1.1 200")


async def test_the_rest_of_a_refused_body_has_a_deadline(served: Served) -> None:
    peer = await served.connect()
    await peer.send(REFUSED + b"5\r\nhello\r\n")
    assert DEADLINE_S / 2 < await peer.lived_s(b"5\r\nhello\r\n") < 5 * DEADLINE_S
    assert peer.received.startswith(b"HTTP/1.1 200")


async def test_the_rest_of_a_refused_body_has_a_size(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REST_SECONDS_MAX", 60.0)
    peer = await served.connect()
    await peer.send(REFUSED)
    await peer.answered()
    sent = 0
    while peer.is_connected and sent < 50_000_000:
        await peer.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        sent += 65536
    assert sent < 50_000_000


async def test_a_connection_is_used_again_after_the_rest_of_a_refused_body(served: Served) -> None:
    peer = await served.connect()
    await peer.send(REFUSED + b"5\r\nhello\r\n")
    await peer.answered()
    await peer.send(b"0\r\n\r\n")
    await asyncio.sleep(0.05)
    await peer.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    await peer.answered()
    assert peer.received.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("request_line", [b"", b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"], ids=["first", "next"])
async def test_bytes_that_begin_no_request_keep_no_connection(served: Served, request_line: bytes) -> None:
    """The deadline of uvicorn for idle connections ended with the first empty line."""
    peer = await served.connect()
    if request_line:
        await peer.send(request_line)
        await peer.answered()
    assert await peer.lived_s(b"\r\n") < 2 + 5 * DEADLINE_S


async def test_a_short_answer_that_nobody_reads_keeps_no_closing_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing is not paused for it; the closing connection waited for its reader for ever."""
    made = connections.BoundedHttpProtocol.connection_made

    def taking_little(self: connections.BoundedHttpProtocol, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        made(self, transport)

    monkeypatch.setattr(connections.BoundedHttpProtocol, "connection_made", taking_little)
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.setblocking(False)
        await asyncio.get_running_loop().sock_connect(stuck, ("127.0.0.1", served.port))
        request = b"GET /large HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
        await asyncio.get_running_loop().sock_sendall(stuck, request)
        await asyncio.sleep(DEADLINE_S / 2)
        (protocol,) = served.server.server_state.connections
        assert 0 < protocol.transport.get_write_buffer_size() < 64 * 1024
        async with asyncio.timeout(20 * DEADLINE_S):
            while served.server.server_state.connections:
                await asyncio.sleep(DEADLINE_S / 10)
