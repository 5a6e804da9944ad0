"""Results over real sockets: WebSockets, long polls, NDJSON and server-sent events, from rings that the test fills.

A tiny application stands around the routes, so that the test decides which result is published when; the engine is not
part of it. Client and server share an event loop, so nothing here sleeps to let the other side act.
"""

import asyncio
import contextlib
import json
import socket
import statistics
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from whorl.errors import QueryFailedError
from whorl.server.errors import DomainError, EngineRefusal, UnknownStreamError
from whorl.server.routes import results, ws
from whorl.server.routes.responses import problem_response
from whorl.server.schemas import QueryRequest
from whorl.server.security import Principal, Tokens
from whorl.server.services.ingest import PushOptions
from whorl.server.services.rings import Rings
from whorl.server.settings import Settings
from whorl.server.sockets import Server, SocketProtocol

TOKEN = "the-token"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
PROTOCOL = "rsp.v1.json"
ANSWER = b'{"head":{"vars":["s"]},"results":{"bindings":[]}}'


class Desk:
    """What the routes need of a runtime and of a registry: rings, a state, and queries that are noted."""

    def __init__(self, settings: Settings) -> None:
        self.rings = Rings(settings)
        self.state = "ready"
        self.registered: dict[str, QueryRequest] = {}
        self.dropped: list[str] = []
        self.core = SimpleNamespace(query=self._query, running=lambda name: (self._query(name), 1), engine=self)

    def _query(self, name: str) -> Any:
        ring = self.rings.ring(name)
        facts = {"form": "CONSTRUCT" if name == "graph" else "SELECT", "r2s": "RSTREAM"}
        return SimpleNamespace(facts=facts, incarnation=ring.incarnation, last_seq=ring.next_seq - 1, last_result_at=5)

    def answer(self, number: int, form: str) -> bytes:
        del number
        return ANSWER if form == "json" else form.encode()

    async def read(self, question: Callable[[Any], Any]) -> Any:
        return question(self.core)

    async def register_unnamed(self, wanted: QueryRequest, caller: Principal) -> str:
        name = f"{caller.id}-{len(self.registered)}"
        self.registered[name] = wanted
        self.rings.open(name, "b1", 1, {})
        self.rings.publish(name, [(1, 0, b'{"seq":1}')])
        return name

    async def drop_unnamed(self, name: str) -> None:
        self.dropped.append(name)
        self.rings.close(name, "deleted")

    async def push(self, iri: str, body: bytes, form: str, options: PushOptions) -> dict[str, Any]:
        if iri == "http://ex/none":
            raise UnknownStreamError("no such stream")
        return {"accepted": body.count(b"\n") + 1, "format": form, "iri": iri, "at": options.at}


class Live:
    """A server that runs in this event loop."""

    def __init__(self, server: Server, desk: Desk, tokens: Tokens, port: int) -> None:
        self.server = server
        self.desk = desk
        self.rings = desk.rings
        self.tokens = tokens
        self.port = port

    def publish(self, first: int, last: int, query: str = "q", pad: int = 0) -> None:
        self.rings.publish(query, [(seq, 0, envelope(seq, pad)) for seq in range(first, last + 1)])

    def connect(
        self, path: str = "/ws", *, plain: bool = False, headers: dict[str, str] | None = None, **more: Any
    ) -> connect:
        more.setdefault("subprotocols", None if plain else [PROTOCOL])
        known = HEADERS if headers is None else headers
        url = f"ws://127.0.0.1:{self.port}{path}"
        return connect(url, additional_headers=known, compression=None, proxy=None, ping_interval=None, **more)

    @contextlib.asynccontextmanager
    async def session(self, path: str = "/ws") -> AsyncIterator[ClientConnection]:
        async with self.connect(path) as socket_:
            await say(socket_, "connection_init")
            assert (await hear(socket_))["type"] == "connection_ack"
            yield socket_

    def http(self) -> httpx.AsyncClient:
        base = f"http://127.0.0.1:{self.port}"
        return httpx.AsyncClient(base_url=base, headers=HEADERS, timeout=30, trust_env=False)


def envelope(seq: int, pad: int = 0) -> bytes:
    return f'{{"seq":{seq},"token":"a1:{seq}","pad":"{"x" * pad}"}}'.encode()


@contextlib.asynccontextmanager
async def live_server(data_dir: Path, *, ws_class: Any = SocketProtocol, **settings: Any) -> AsyncIterator[Live]:
    chosen = Settings(data_dir=data_dir, token=TOKEN, **settings)
    desk = Desk(chosen)
    desk.rings.open("q", "a1", 1, {"variables": ["s"]})
    app = FastAPI()
    app.include_router(results.router)
    app.include_router(ws.router)
    app.add_exception_handler(DomainError, on_problem)
    tokens = Tokens.open(chosen)
    app.state.settings, app.state.runtime, app.state.tokens = chosen, desk, tokens
    app.state.ingest, app.state.registry = desk, desk
    config = uvicorn.Config(
        app,
        ws=ws_class,
        lifespan="off",
        log_config=None,
        ws_max_size=chosen.message_bytes_max,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=5,
    )
    server = Server(config)
    server.rings = desk.rings
    listening = socket.create_server(("127.0.0.1", 0))
    # Small buffers in the kernel: a reader that does not read is stuck soon.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield Live(server, desk, tokens, listening.getsockname()[1])
    finally:
        server.should_exit = True
        await serving


async def on_problem(_: Any, error: Exception) -> Any:
    assert isinstance(error, DomainError)
    return problem_response(error)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with live_server(tmp_path) as running:
        yield running


async def say(socket_: ClientConnection, kind: str, name: str | None = None, **payload: Any) -> None:
    message = {"type": kind, **({} if name is None else {"id": name}), **({"payload": payload} if payload else {})}
    await socket_.send(json.dumps(message))


async def hear(socket_: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(20):
        message: dict[str, Any] = json.loads(await socket_.recv())
        return message


async def hear_until(socket_: ClientConnection, kind: str) -> list[dict[str, Any]]:
    heard = [await hear(socket_)]
    while heard[-1]["type"] != kind:
        heard.append(await hear(socket_))
    return heard


async def closing(socket_: ClientConnection) -> tuple[int, str]:
    with contextlib.suppress(ConnectionClosed):
        while True:
            async with asyncio.timeout(20):
                await socket_.recv()
    return socket_.close_code or 0, socket_.close_reason or ""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


# ---- the sub-protocol ----


async def test_every_message_of_the_table(live: Live) -> None:
    async with live.session() as socket_:
        assert socket_.subprotocol == PROTOCOL
        await say(socket_, "ping")
        assert await hear(socket_) == {"type": "pong"}
        await say(socket_, "subscribe", "1", query="q", credit=1, progress=True)
        assert (await hear(socket_))["payload"]["startSeq"] == 1
        live.publish(1, 2)
        assert (await hear(socket_))["payload"]["seq"] == 1
        await say(socket_, "ack", "1", seq=1)
        await say(socket_, "credit", "1", n=1)
        assert (await hear(socket_))["payload"]["seq"] == 2
        live.rings.progress("q", 9000)
        assert await hear(socket_) == {"type": "progress", "id": "1", "payload": {"watermark": 9000, "seq": 2}}
        live.rings.open("q", "b2", 1, {})
        await say(socket_, "credit", "1", n=1)
        assert (await hear(socket_))["type"] == "gap"
        live.rings.close("q", "deleted")
        assert await hear(socket_) == {"type": "complete", "id": "1", "payload": {"reason": "deleted"}}
        await say(socket_, "subscribe", "1", query="q", credit=1)
        assert (await hear(socket_))["payload"]["type"] == "urn:whorl:problem:unknown-query"


async def test_resume_at_every_sequence_number(live: Live) -> None:
    live.publish(1, 40)
    for after in range(41):
        async with live.session("/queries/q/ws") as socket_:
            await say(socket_, "subscribe", "1", after=f"a1:{after}", credit=1000)
            assert (await hear(socket_))["payload"]["startSeq"] == after + 1
            seqs = [(await hear(socket_))["payload"]["seq"] for _ in range(40 - after)]
            assert seqs == list(range(after + 1, 41))


async def test_resume_into_a_live_stream_has_no_gap_and_no_double(live: Live) -> None:
    live.publish(1, 500)
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="q", after="a1:100", credit=10_000)
        for seq in range(501, 1001):
            live.publish(seq, seq)
            if seq % 10 == 0:
                await asyncio.sleep(0)
        await hear(socket_)
        assert [(await hear(socket_))["payload"]["seq"] for _ in range(900)] == list(range(101, 1001))


async def test_a_query_by_text_ends_with_its_connection(live: Live) -> None:
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", rspql="SELECT …", options={"r2s": "ISTREAM"}, credit=5)
        assert [one["type"] for one in await hear_until(socket_, "next")] == ["subscribed", "next"]
        ((name, wanted),) = live.desk.registered.items()
        assert (wanted.query, wanted.options()) == ("SELECT …", {"r2s": "ISTREAM"})
    await until(lambda: live.desk.dropped == [name])


async def test_options_that_do_not_exist_are_refused(live: Live) -> None:
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", rspql="SELECT …", options={"colour": "red"}, credit=5)
        assert (await hear(socket_))["payload"]["status"] == 422
        assert live.desk.registered == {}


async def test_publishing_over_the_socket_in_order(live: Live) -> None:
    async with live.session() as socket_:
        for number in range(50):
            await say(socket_, "publish", str(number), stream="http://ex/s", events=[{"t": 1}] * (number + 1))
        heard = [await hear(socket_) for _ in range(50)]
        assert [(one["id"], one["payload"]["accepted"]) for one in heard] == [(str(n), n + 1) for n in range(50)]
        await say(socket_, "publish", "x", stream="http://ex/none", events=[])
        assert (await hear(socket_))["payload"]["status"] == 404
        await say(socket_, "publish", "x", stream="not an iri", events=[])
        assert (await hear(socket_))["payload"]["status"] == 400


async def test_a_snapshot_then_the_results_after_it(live: Live) -> None:
    live.publish(1, 3)
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="q", snapshot=True, credit=5)
        await hear(socket_)
        payload = (await hear(socket_))["payload"]
        assert (payload["snapshot"], payload["seq"], payload["token"]) == (True, 3, "a1:3")
        assert payload["results"] == json.loads(ANSWER)
        live.publish(4, 4)
        assert (await hear(socket_))["payload"]["seq"] == 4


async def test_a_snapshot_of_a_graph_is_text(live: Live) -> None:
    live.rings.open("graph", "g1", 1, {})
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="graph", snapshot=True, credit=5)
        await hear(socket_)
        payload = (await hear(socket_))["payload"]
        assert (payload["type"], payload["results"]) == ("graph", "nquads")


async def test_the_heart_beats_over_the_socket(tmp_path: Path) -> None:
    async with live_server(tmp_path, heartbeat_s=0.05) as live, live.session() as socket_:
        assert await hear(socket_) == {"type": "ping"}
        await say(socket_, "pong")
        assert await hear(socket_) == {"type": "ping"}


async def test_the_routes_work_without_the_protocol_class_of_ours(tmp_path: Path) -> None:
    async with live_server(tmp_path, ws_class="websockets-sansio") as live, live.session() as socket_:
        live.publish(1, 100)
        await say(socket_, "subscribe", "1", query="q", after="a1:0", credit=100)
        await hear(socket_)
        assert [(await hear(socket_))["payload"]["seq"] for _ in range(100)] == list(range(1, 101))


@pytest.mark.parametrize("size", [0, 100, 126, 200, 65_400, 65_600, 300_000])
async def test_envelopes_of_every_length_arrive_whole(live: Live, size: int) -> None:
    async with live.connect("/queries/q/ws?from=earliest", plain=True) as socket_:
        live.publish(1, 2, pad=size)
        assert [json.loads(await socket_.recv()) for _ in range(2)] == [json.loads(envelope(n, size)) for n in (1, 2)]


# ---- close codes ----


async def test_1000_when_a_plain_query_ends(live: Live) -> None:
    async with live.connect("/queries/q/ws", plain=True) as socket_:
        await until(lambda: live.rings.subscribers()["q"] == 1)
        live.rings.close("q", "deleted")
        assert await closing(socket_) == (1000, "deleted")


async def test_1001_when_the_server_stops(tmp_path: Path) -> None:
    async with live_server(tmp_path) as live:
        async with live.session() as first, live.connect("/queries/q/ws", plain=True) as second:
            await until(lambda: live.rings.connected == 2)
            began = time.monotonic()
            live.server.should_exit = True
            assert await closing(first) == (1001, "the server stops")
            assert (await closing(second))[0] == 1001
        assert time.monotonic() - began < 2


async def test_1009_when_a_message_is_too_large(tmp_path: Path) -> None:
    async with live_server(tmp_path, message_bytes_max=1000) as live, live.session() as socket_:
        await socket_.send("x" * 1001)
        assert (await closing(socket_))[0] == 1009


async def test_1011_when_the_server_has_a_fault(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live.session() as socket_:
        monkeypatch.setattr(live.rings, "ring", lambda _: 1 / 0)
        await say(socket_, "subscribe", "1", query="q", credit=1)
        code, reason = await closing(socket_)
        assert code == 1011
        assert "division" not in reason


async def test_1012_when_the_server_is_not_ready(live: Live) -> None:
    live.desk.state = "starting"
    async with live.connect() as socket_:
        assert (await closing(socket_))[0] == 1012


async def test_1013_when_credit_is_withheld_for_too_long(tmp_path: Path) -> None:
    async with live_server(tmp_path, ring_behind_s=0.2) as live, live.session() as socket_:
        live.publish(1, 5)
        await say(socket_, "subscribe", "1", query="q", after="a1:0", credit=2)
        assert await closing(socket_) == (1013, "slow reader, last seq 2")


@pytest.mark.parametrize("frame", ["{", '{"type":"subscribe"}', b"bytes"])
async def test_4400_when_a_frame_is_no_message(live: Live, frame: str | bytes) -> None:
    async with live.session() as socket_:
        await socket_.send(frame)
        assert (await closing(socket_))[0] == 4400


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/ws", {"Authorization": "Bearer wrong"}),
        ("/ws?ticket=wrong", {}),
        ("/queries/q/ws", {"Authorization": "Bearer wrong"}),
    ],
)
async def test_4401_when_nobody_knows_the_token(live: Live, path: str, headers: dict[str, str]) -> None:
    async with live.connect(path, headers=headers) as socket_:
        assert (await closing(socket_))[0] == 4401


async def test_4401_without_a_token_in_the_init_or_before_it(live: Live) -> None:
    for messages in ([("connection_init", {})], [("connection_init", {"token": "no"})], [("subscribe", {"credit": 1})]):
        async with live.connect(headers={}) as socket_:
            for kind, payload in messages:
                await say(socket_, kind, "1" if kind == "subscribe" else None, **payload)
            assert (await closing(socket_))[0] == 4401
    async with live.connect("/queries/q/ws", plain=True, headers={}) as socket_:
        assert (await closing(socket_))[0] == 4401


async def test_a_token_in_the_init_and_a_ticket_are_as_good_as_a_header(live: Live) -> None:
    principal = live.tokens.authenticate(TOKEN)
    async with live.connect(headers={}) as socket_:
        await say(socket_, "connection_init", token=TOKEN)
        assert (await hear(socket_))["type"] == "connection_ack"
    async with live.connect(f"/ws?ticket={live.tokens.issue_ticket(principal)}", headers={}) as socket_:
        await say(socket_, "connection_init")
        assert (await hear(socket_))["type"] == "connection_ack"
    async with live.connect(
        f"/queries/q/ws?ticket={live.tokens.issue_ticket(principal)}", plain=True, headers={}
    ) as socket_:
        await until(lambda: live.rings.subscribers()["q"] == 1)
        live.publish(1, 1)
        assert json.loads(await socket_.recv())["seq"] == 1


async def test_4403_when_the_token_may_not_follow(live: Live) -> None:
    _, ingest = live.tokens.create("feeder", ["ingest"])
    async with live.connect("/queries/q/ws", headers={"Authorization": f"Bearer {ingest}"}) as socket_:
        await say(socket_, "connection_init")
        assert (await closing(socket_))[0] == 4403
    async with live.connect("/queries/q/ws", plain=True, headers={"Authorization": f"Bearer {ingest}"}) as socket_:
        assert (await closing(socket_))[0] == 4403


@pytest.mark.parametrize(
    ("path", "offered"), [("/ws", ["graphql-transport-ws"]), ("/queries/q/ws", ["other"]), ("/ws", None)]
)
async def test_4406_without_a_common_sub_protocol(live: Live, path: str, offered: Any) -> None:
    async with live.connect(path, subprotocols=offered) as socket_:
        assert (await closing(socket_))[0] == 4406


async def test_4408_when_no_init_comes(tmp_path: Path) -> None:
    async with live_server(tmp_path, init_timeout_s=0.05) as live, live.connect() as socket_:
        assert (await closing(socket_))[0] == 4408


async def test_4409_when_an_id_is_in_use(live: Live) -> None:
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="q", credit=1)
        await say(socket_, "subscribe", "1", query="q", credit=1)
        assert (await closing(socket_))[0] == 4409


async def test_4429_for_a_second_init_and_for_too_many_connections(tmp_path: Path) -> None:
    async with live_server(tmp_path, subscribers_max=1) as live, live.session() as socket_:
        async with live.connect() as refused:
            assert (await closing(refused))[0] == 4429
        await say(socket_, "connection_init")
        assert (await closing(socket_))[0] == 4429


async def test_a_client_that_goes_leaves_nothing_behind(live: Live) -> None:
    for _ in range(20):
        async with live.session() as socket_:
            await say(socket_, "subscribe", "1", query="q", credit=1)
            await hear(socket_)
    async with live.connect("/queries/q/ws", plain=True) as socket_:
        await until(lambda: live.rings.connected == 1)
        socket_.transport.abort()
    await until(lambda: live.rings.connected == 0)
    assert live.rings.subscribers() == {"q": 0}


# ---- plain connections ----


async def test_ten_lines_are_enough_to_follow_a_query(live: Live) -> None:
    async with live.connect("/queries/q/ws?from=earliest", plain=True) as socket_:
        assert socket_.subprotocol is None
        live.publish(1, 3)
        seen = []
        async for frame in socket_:
            seen.append(json.loads(frame)["seq"])
            if len(seen) == 3:
                break
        assert seen == [1, 2, 3]


async def test_a_plain_reader_resumes_by_token(live: Live) -> None:
    live.publish(1, 5)
    async with live.connect("/queries/q/ws?after=a1:3", plain=True) as socket_:
        assert [json.loads(await socket_.recv())["seq"] for _ in range(2)] == [4, 5]


@pytest.mark.parametrize("path", ["/queries/nope/ws", "/queries/q/ws?after=rubbish"])
async def test_a_plain_reader_is_told_why_it_cannot_read(live: Live, path: str) -> None:
    async with live.connect(path, plain=True) as socket_:
        assert json.loads(await socket_.recv())["type"] == "error"
        assert (await closing(socket_))[0] == 4400


async def test_a_plain_reader_with_an_unknown_parameter_is_refused(live: Live) -> None:
    async with live.connect("/queries/q/ws?form=earliest", plain=True) as socket_:
        assert (await closing(socket_))[0] == 4400


# ---- slow readers ----


async def stuck_socket(live: Live, path: str = "/queries/q/ws?from=earliest") -> socket.socket:
    """A WebSocket that shakes hands and reads no more."""
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    stuck = await stuck_request(live, path, upgrade + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    assert (await asyncio.get_running_loop().sock_recv(stuck, 12)) == b"HTTP/1.1 101"
    return stuck


async def stuck_request(live: Live, path: str, headers: str) -> socket.socket:
    """A client that asks and does not read the answer, with as small a buffer as the system gives."""
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(stuck, ("127.0.0.1", live.port))
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n{headers}\r\n"
    await loop.sock_sendall(stuck, request.encode())
    return stuck


async def test_a_stuck_reader_is_let_go_and_its_connection_broken(tmp_path: Path) -> None:
    async with live_server(tmp_path, ring_behind_s=0.3, ring_bytes_max=64 * 1024 * 1024) as live:
        stuck = await stuck_socket(live)
        await until(lambda: live.rings.connected == 1)
        live.publish(1, 100, pad=50_000)
        began = time.monotonic()
        await until(lambda: live.rings.connected == 0)
        assert time.monotonic() - began < 5
        await until(lambda: not live.server.server_state.connections)
        stuck.close()


@pytest.mark.parametrize(("path", "accept"), [("events", "text/event-stream"), ("results", "application/x-ndjson")])
async def test_a_stuck_reader_over_http_is_let_go(tmp_path: Path, path: str, accept: str) -> None:
    async with live_server(tmp_path, ring_behind_s=0.3, ring_bytes_max=64 * 1024 * 1024) as live:
        stuck = await stuck_request(live, f"/queries/q/{path}?from=earliest", f"Accept: {accept}\r\n")
        await until(lambda: live.rings.connected == 1)
        live.publish(1, 100, pad=50_000)
        began = time.monotonic()
        await until(lambda: live.rings.connected == 0)
        assert time.monotonic() - began < 5
        stuck.close()


async def test_a_stuck_reader_does_not_hold_the_shutdown_up(tmp_path: Path) -> None:
    async with live_server(tmp_path, ring_bytes_max=64 * 1024 * 1024) as live:
        stuck = await stuck_socket(live)
        await until(lambda: live.rings.connected == 1)
        live.publish(1, 100, pad=50_000)
        await asyncio.sleep(0)
        began = time.monotonic()
    assert time.monotonic() - began < 4
    stuck.close()


async def latencies(live: Live, readers: list[ClientConnection], n: int, pad: int) -> list[tuple[float, float]]:
    """How long each of n results takes to each reader: milliseconds of the clock, and of this process."""
    first = live.rings.ring("q").next_seq
    sent: dict[int, tuple[float, float]] = {}
    taken: list[tuple[float, float]] = []

    async def read(reader: ClientConnection) -> None:
        for _ in range(n):
            clock, cpu = sent[json.loads(await reader.recv())["seq"]]
            taken.append(((time.perf_counter() - clock) * 1000, (time.process_time() - cpu) * 1000))

    reading = [asyncio.create_task(read(reader)) for reader in readers]
    for seq in range(first, first + n):
        sent[seq] = time.perf_counter(), time.process_time()
        live.publish(seq, seq, pad=pad)
        expected = (seq - first + 1) * len(readers)
        while len(taken) < expected:
            await asyncio.sleep(0)
    await asyncio.gather(*reading)
    return taken


async def test_a_stuck_reader_is_not_noticed_by_a_hundred_healthy_ones(tmp_path: Path) -> None:
    alone: list[tuple[float, float]] = []
    beside: list[tuple[float, float]] = []
    async with live_server(tmp_path, ring_behind_s=60) as live, contextlib.AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(live.connect("/queries/q/ws", plain=True)) for _ in range(100)]
        await until(lambda: live.rings.subscribers()["q"] == 100)
        await latencies(live, readers, 20, pad=1000)
        # In turns, so that what else the machine does falls on both alike.
        for _ in range(4):
            await latencies(live, readers, 20, pad=20_000)
            alone += await latencies(live, readers, 40, pad=1000)
            stuck = await stuck_socket(live, "/queries/q/ws")
            await until(lambda: live.rings.subscribers()["q"] == 101)
            # Enough to fill the buffers of the stuck one; the same was done before the others were measured alone.
            await latencies(live, readers, 20, pad=20_000)
            beside += await latencies(live, readers, 40, pad=1000)
            assert live.rings.subscribers()["q"] == 101
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stuck.close()
            await until(lambda: live.rings.subscribers()["q"] == 100)
    quantiles: dict[int, list[float]] = {}
    for measure, name in enumerate(("ms", "ms of processor time")):
        for place in (50, 99):
            samples = [[one[measure] for one in sample] for sample in (alone, beside)]
            quantiles[place] = [statistics.quantiles(sample, n=100)[place - 1] for sample in samples]
            before, after = quantiles[place]
            ratio = f"{after / before:.2f}×"
            said = f"{before:.2f} {name} alone, {after:.2f} beside a stuck one, {ratio}"
            sys.stdout.write(f"\np{place} of 100 readers: {said}")
    # Of processor time, which others on the machine disturb less.
    assert quantiles[50][1] < 1.5 * quantiles[50][0]
    assert quantiles[99][1] < 3 * quantiles[99][0]


# ---- HTTP ----


@pytest.mark.parametrize(
    ("query", "accept", "media_type", "form"),
    [
        ("q", "*/*", "application/sparql-results+json", "json"),
        ("q", "application/sparql-results+xml", "application/sparql-results+xml", "xml"),
        ("q", "text/csv", "text/csv; charset=utf-8", "csv"),
        ("q", "text/tab-separated-values", "text/tab-separated-values; charset=utf-8", "tsv"),
        ("graph", "*/*", "text/turtle; charset=utf-8", "turtle"),
        ("graph", "application/n-triples", "application/n-triples", "ntriples"),
        ("graph", "application/n-quads", "application/n-quads", "nquads"),
        ("graph", "application/trig", "application/trig", "trig"),
        ("graph", "application/ld+json", "application/ld+json", "jsonld"),
    ],
)
async def test_the_current_answer_in_every_format(
    live: Live, query: str, accept: str, media_type: str, form: str
) -> None:
    live.rings.open("graph", "g1", 1, {})
    async with live.http() as http:
        answer = await http.get(f"/queries/{query}/results", headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    assert answer.content == (ANSWER if form == "json" else form.encode())


async def test_what_is_not_offered_is_406_and_what_is_not_there_404(live: Live) -> None:
    async with live.http() as http:
        assert (await http.get("/queries/q/results", headers={"Accept": "text/turtle"})).status_code == 406
        assert (await http.get("/queries/nope/results")).status_code == 404
        assert (await http.get("/queries/nope/events")).status_code == 404
        assert (await http.get("/queries/q/results", headers={"Authorization": "Bearer no"})).status_code == 401


async def test_a_long_poll_at_every_sequence_number(live: Live) -> None:
    live.publish(1, 10)
    async with live.http() as http:
        for after in range(11):
            page = (await http.get("/queries/q/results", params={"after": f"a1:{after}"})).json()
            assert [one["seq"] for one in page["results"]] == list(range(after + 1, 11))
            assert page["next"] == "a1:10"


async def test_a_long_poll_waits_for_a_result_and_no_longer(live: Live) -> None:
    async with live.http() as http:
        polling = asyncio.create_task(http.get("/queries/q/results", params={"after": "a1:0", "wait": "20s"}))
        await until(lambda: live.rings.connected == 1)
        live.rings.progress("q", 5)
        live.publish(1, 2)
        assert [one["seq"] for one in (await polling).json()["results"]] == [1, 2]
        empty = await http.get("/queries/q/results", params={"after": "a1:2", "wait": "50ms"})
        assert empty.json() == {"results": [], "next": "a1:2"}
    await until(lambda: live.rings.connected == 0)


async def test_a_long_poll_whose_client_has_gone_ends(live: Live) -> None:
    async with live.http() as http:
        polling = asyncio.create_task(http.get("/queries/q/results", params={"after": "a1:0", "wait": "60s"}))
        await until(lambda: live.rings.connected == 1)
        polling.cancel()
        await until(lambda: live.rings.connected == 0)


@pytest.mark.parametrize(
    ("parameters", "status"),
    [({"after": "old:1"}, 410), ({"after": "rubbish"}, 400), ({"after": "a1:99"}, 400), ({"wait": "soon"}, 400)],
)
async def test_a_token_that_cannot_be_followed_is_refused(live: Live, parameters: dict[str, str], status: int) -> None:
    async with live.http() as http:
        assert (await http.get("/queries/q/results", params=parameters)).status_code == status


async def test_an_expired_token_says_where_to_go_on(tmp_path: Path) -> None:
    async with live_server(tmp_path, ring_bytes_max=2000) as live, live.http() as http:
        live.publish(1, 50)
        gone = await http.get("/queries/q/results", params={"after": "a1:1"})
        assert (gone.status_code, gone.json()["type"]) == (410, "urn:whorl:problem:token-expired")
        page = (await http.get("/queries/q/results", params={"after": gone.json()["earliest"]})).json()
        assert page["results"][-1]["seq"] == 50


async def test_ndjson_goes_on_for_ever_and_breathes(tmp_path: Path) -> None:
    async with live_server(tmp_path, heartbeat_s=0.05) as live, live.http() as http:
        live.publish(1, 2)
        request = http.stream("GET", "/queries/q/results?from=earliest", headers={"Accept": "application/x-ndjson"})
        async with request as answer:
            assert answer.headers["content-type"] == "application/x-ndjson"
            lines = answer.aiter_lines()
            assert await next_line(lines) == ""
            assert [json.loads(await next_line(lines))["seq"] for _ in range(2)] == [1, 2]
            assert await next_line(lines) == ""
            live.publish(3, 3)
            assert json.loads(await next_full(lines))["seq"] == 3
            live.rings.close("q", "deleted")
            assert json.loads(await next_full(lines))["type"] == "complete"
            assert [line async for line in lines] == []


async def test_server_sent_events_resume_at_every_sequence_number(live: Live) -> None:
    live.publish(1, 10)
    async with live.http() as http:
        for after in range(10):
            headers = {"Last-Event-ID": f"a1:{after}"}
            async with http.stream("GET", "/queries/q/events", headers=headers) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                lines = answer.aiter_lines()
                assert await next_line(lines) == "retry: 1000"
                for seq in range(after + 1, 11):
                    assert await next_full(lines) == f"id: a1:{seq}"
                    data = await next_line(lines)
                    assert json.loads(data.removeprefix("data: "))["seq"] == seq
    await until(lambda: live.rings.connected == 0)


async def test_server_sent_events_tell_gaps_and_ends(tmp_path: Path) -> None:
    headers = {"Last-Event-ID": "old:3"}
    async with contextlib.AsyncExitStack() as stack:
        live = await stack.enter_async_context(live_server(tmp_path, heartbeat_s=0.05))
        http = await stack.enter_async_context(live.http())
        answer = await stack.enter_async_context(http.stream("GET", "/queries/q/events", headers=headers))
        lines = answer.aiter_lines()
        await next_line(lines)
        assert await next_full(lines) == "event: gap"
        gap = json.loads((await next_line(lines)).removeprefix("data: "))
        assert (gap["fromSeq"], gap["toSeq"], gap["reason"]) == (4, None, "restart")
        assert await next_full(lines) == ":", "a comment is the heartbeat"
        live.rings.fail("q", EngineRefusal(QueryFailedError("no more")))
        line = await next_full(lines)
        while line == ":":
            line = await next_full(lines)
        assert line == "event: error"


async def test_streams_over_http_end_when_the_server_stops(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        live = await stack.enter_async_context(live_server(tmp_path))
        http = await stack.enter_async_context(live.http())
        answer = await stack.enter_async_context(http.stream("GET", "/queries/q/events"))
        lines = answer.aiter_lines()
        await next_line(lines)
        live.server.should_exit = True
        assert [line async for line in lines] == [""]


async def next_line(lines: AsyncIterator[str]) -> str:
    async with asyncio.timeout(20):
        return await anext(lines)


async def next_full(lines: AsyncIterator[str]) -> str:
    while (line := await next_line(lines)) == "":
        pass
    return line
