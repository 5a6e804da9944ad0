"""A tiny application around the routes of results, from rings that the test fills.

The test decides which result is published when; the engine is not part of it. Client and server share an event loop, so
nothing here sleeps to let the other side act.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from whorl.server.errors import DomainError, UnknownStreamError
from whorl.server.routes import results, ws
from whorl.server.routes.responses import problem_response
from whorl.server.schemas import QueryRequest
from whorl.server.security import Principal, Tokens
from whorl.server.services.asking import Asking
from whorl.server.services.ingest import PushOptions
from whorl.server.services.rings import Rings
from whorl.server.settings import Settings
from whorl.server.sockets import Server, SocketProtocol

TOKEN = "the-token"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
PROTOCOL = "rsp.v1.json"
ANSWER = b'{"head":{"vars":["s"]},"results":{"bindings":[]}}'


class FakeServices:
    """A stand-in for runtime and registry: rings, a state, and recorded queries."""

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

    def copy_answer(self, number: int, form: str) -> Any:
        del number
        return SimpleNamespace(document=lambda _: ANSWER if form == "json" else form.encode())

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

    def __init__(self, server: Server, services: FakeServices, tokens: Tokens, port: int) -> None:
        self.server = server
        self.services = services
        self.rings = services.rings
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
    services = FakeServices(chosen)
    services.rings.open("q", "a1", 1, {"variables": ["s"]})
    app = FastAPI()
    app.include_router(results.router)
    app.include_router(ws.router)
    app.add_exception_handler(DomainError, on_problem)
    tokens = Tokens.open(chosen)
    app.state.settings, app.state.runtime, app.state.tokens = chosen, services, tokens
    app.state.ingest, app.state.registry = services, services
    app.state.asking = Asking(services, chosen)  # type: ignore[arg-type]  # a stand-in for the runtime
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
    server.rings = services.rings
    listening = socket.create_server(("127.0.0.1", 0))
    # Small buffers in the kernel: a reader that does not read is stuck soon.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield Live(server, services, tokens, listening.getsockname()[1])
    finally:
        server.should_exit = True
        await serving


async def on_problem(_: Any, error: Exception) -> Any:
    assert isinstance(error, DomainError)
    return problem_response(error)


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
