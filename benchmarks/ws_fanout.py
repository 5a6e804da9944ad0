"""Results per second to 1, 10 and 100 subscribers, beside a bare FastAPI `send_text` loop in the same server.

    python benchmarks/ws_fanout.py [--results 20000] [--runs 5] [--bytes 200]

The server is a separate process, under uvloop; the clients are raw sockets in this one, which only count bytes, so that
the server is the bottleneck. Both servers send the same frames: `next` messages of `rsp.v1.json`. Before the
measurement, a real client checks that every result arrives once and in order. The last line is a round trip.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import multiprocessing
import os
import platform
import socket
import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import uvicorn
import uvloop
from fastapi import FastAPI, WebSocket
from websockets.asyncio.client import connect
from whorl.server.routes import ws
from whorl.server.security import Tokens
from whorl.server.services.buckets import Buckets
from whorl.server.services.rings import Rings
from whorl.server.settings import Settings
from whorl.server.sockets import Server, SocketProtocol

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

BATCH = 100
AHEAD_MAX = 4096
PREFIX = '{"type":"next","id":"1","payload":'


def envelope(seq: int, size: int) -> bytes:
    """An envelope of exactly `size` bytes."""
    # One more digit than needed, so that all numbers have the same length.
    head = f'{{"query":"q","seq":{10**11 + seq},"pad":"'
    return (head + "x" * (size - len(head) - 2) + '"}').encode()


# ---- the server process ----


def serve(listening: socket.socket, pipe: Connection, size: int, data_dir: str) -> None:
    settings = Settings(data_dir=Path(data_dir), anonymous=True, ring_behind_s=600, ring_bytes_max=64 * 1024 * 1024)
    app, rings = bench_app(settings, size)
    config = uvicorn.Config(
        app, ws=SocketProtocol, lifespan="off", log_config=None, access_log=False, ws_per_message_deflate=False
    )
    server = Server(config)
    server.rings = rings
    pipe.send("ready")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[listening]))


def bench_app(settings: Settings, size: int) -> tuple[FastAPI, Rings]:
    app = FastAPI()
    rings = Rings(settings)
    rings.open("q", "a1", 1, {})
    app.include_router(ws.router)
    app.state.settings, app.state.tokens = settings, Tokens.open(settings)
    app.state.runtime = SimpleNamespace(rings=rings, state="ready")
    app.state.registrations = Buckets(100)
    bare = add_bare(app, size)

    @app.get("/readers")
    async def readers() -> dict[str, int]:
        return {"rings": rings.subscribers()["q"], "bare": len(bare)}

    @app.get("/run/rings")
    async def run_rings(n: int) -> dict[str, float]:
        began, cpu, first = time.perf_counter(), time.process_time(), rings.ring("q").next_seq
        for at in range(first, first + n, BATCH):
            rings.publish("q", [(seq, 0, envelope(seq, size)) for seq in range(at, at + BATCH)])
            await asyncio.sleep(0)
            while slowest(rings) < at - AHEAD_MAX:
                await asyncio.sleep(0)
        while slowest(rings) < first + n:
            await asyncio.sleep(0)
        return {"s": time.perf_counter() - began, "cpu": time.process_time() - cpu}

    return app, rings


def add_bare(app: FastAPI, size: int) -> set[WebSocket]:
    """The obvious implementation with FastAPI."""
    bare: set[WebSocket] = set()

    @app.websocket("/bare")
    async def bare_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        bare.add(websocket)
        try:
            await websocket.receive()
        finally:
            bare.discard(websocket)

    @app.websocket("/echo")
    async def echo(websocket: WebSocket) -> None:
        await websocket.accept()
        while (event := await websocket.receive())["type"] != "websocket.disconnect":
            await websocket.send_text(event["text"])

    @app.get("/run/bare")
    async def run_bare(n: int) -> dict[str, float]:
        began, cpu = time.perf_counter(), time.process_time()
        for seq in range(1, n + 1):
            text = f"{PREFIX}{envelope(seq, size).decode()}}}"
            for websocket in tuple(bare):
                await websocket.send_text(text)
            if seq % BATCH == 0:
                await asyncio.sleep(0)
        return {"s": time.perf_counter() - began, "cpu": time.process_time() - cpu}

    return bare


def slowest(rings: Rings) -> int:
    found: Any = rings.ring("q").readers
    return min(int(reader.cursor.next_seq) for reader in found)


# ---- the clients ----


class Counter(asyncio.Protocol):
    """Performs the handshake, sends the given messages, then counts bytes."""

    def __init__(self, path: str, hello: list[str]) -> None:
        self.path, self.hello = path, hello
        self.bytes = 0
        self.is_open = False
        self.done: asyncio.Future[None] | None = None
        self.wanted = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        protocol = "Sec-WebSocket-Protocol: rsp.v1.json\r\n" if self.hello else ""
        key = base64.b64encode(os.urandom(16)).decode()
        self.transport.write(
            f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{protocol}\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        if not self.is_open:
            self.is_open = True
            for text in self.hello:
                self.transport.write(masked(text))
            return
        self.bytes += len(data)
        if self.done is not None and self.bytes >= self.wanted and not self.done.done():
            self.done.set_result(None)

    def expect(self, wanted: int) -> asyncio.Future[None]:
        self.bytes, self.wanted = 0, wanted
        self.done = asyncio.get_running_loop().create_future()
        return self.done


def masked(text: str) -> bytes:
    """A client's frame, masked with zeros."""
    payload = text.encode()
    length = bytes((0x80 | len(payload),)) if len(payload) < 126 else bytes((0xFE,)) + len(payload).to_bytes(2)
    return b"\x81" + length + b"\0\0\0\0" + payload


def hello() -> list[str]:
    subscribe = {"type": "subscribe", "id": "1", "payload": {"query": "q", "credit": 1_000_000_000}}
    return [json.dumps({"type": "connection_init"}), json.dumps(subscribe)]


async def get(port: int, path: str) -> dict[str, Any]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    document: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return document


async def check(port: int, size: int) -> None:
    """Check that every result arrives once and in order."""
    url = f"ws://127.0.0.1:{port}/ws"
    async with connect(url, subprotocols=["rsp.v1.json"], compression=None, proxy=None) as client:  # type: ignore[list-item]  # a NewType of str
        for text in hello():
            await client.send(text)
        start = [json.loads(await client.recv()) for _ in range(2)][1]["payload"]["startSeq"]
        running = asyncio.create_task(get(port, "/run/rings?n=1000"))
        for seq in range(start, start + 1000):
            received = await client.recv()
            if received != f"{PREFIX}{envelope(seq, size).decode()}}}":
                raise SystemExit(f"wrong result at {seq}: {received!r}")
        await running


async def measure(port: int, way: str, n_subscribers: int, n_results: int, size: int) -> tuple[float, float]:
    """Deliveries per second and microseconds of the server's processor time for each."""
    loop = asyncio.get_running_loop()
    clients = []
    for _ in range(n_subscribers):
        path, words = ("/ws", hello()) if way == "rings" else ("/bare", [])
        _, client = await loop.create_connection(lambda p=path, w=words: Counter(p, w), "127.0.0.1", port)  # type: ignore[misc]  # mypy cannot infer it
        clients.append(client)
    while (await get(port, "/readers"))[way] < n_subscribers:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    payload = len(PREFIX) + size + 1
    frame = payload + (2 if payload < 126 else 4 if payload < 65536 else 10)
    began = time.perf_counter()
    arrived = [client.expect(n_results * frame) for client in clients]
    told = await get(port, f"/run/{way}?n={n_results}")
    await asyncio.wait_for(asyncio.gather(*arrived), 120)
    seconds = time.perf_counter() - began
    for client in clients:
        client.transport.close()
    while (await get(port, "/readers"))[way]:
        await asyncio.sleep(0.01)
    n = n_results * n_subscribers
    return n / seconds, told["cpu"] / n * 1e6


async def round_trips(port: int, n: int) -> tuple[float, float]:
    """Round trips per second over the bare echo, and their median in microseconds."""
    async with connect(f"ws://127.0.0.1:{port}/echo", compression=None, proxy=None) as client:
        taken = []
        for _ in range(n):
            began = time.perf_counter()
            await client.send("x" * 200)
            await client.recv()
            taken.append(time.perf_counter() - began)
    return n / sum(taken), statistics.median(taken) * 1e6


async def run(port: int, arguments: argparse.Namespace) -> None:
    await check(port, arguments.bytes)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{arguments.results} results of {arguments.bytes} B, median of {arguments.runs} runs (least–most)\n")
    print(f"{'subscribers':>11}  {'way':6} {'deliveries/s':>28}  {'server µs/delivery':>24}")
    for n in (1, 10, 100):
        results = max(BATCH, arguments.results // (max(1, n)) // BATCH * BATCH)
        # In rotation, so that other load on the machine affects both alike.
        taken: dict[str, list[tuple[float, float]]] = {"rings": [], "bare": []}
        for _ in range(arguments.runs):
            for way, sample in taken.items():
                sample.append(await measure(port, way, n, results, arguments.bytes))
        for way, sample in taken.items():
            rates, costs = [sorted(one) for one in zip(*sample, strict=True)]
            rate = f"{statistics.median(rates):,.0f} ({rates[0]:,.0f}–{rates[-1]:,.0f})"
            cost = f"{statistics.median(costs):.2f} ({costs[0]:.2f}–{costs[-1]:.2f})"
            print(f"{n:>11}  {way:6} {rate:>28}  {cost:>24}")
    per_s, median = await round_trips(port, 2000)
    print(f"\nbare echo, one client: {per_s:,.0f} round trips/s, p50 {median:.0f} µs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=200)
    arguments = parser.parse_args()
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    here, there = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as data_dir:
        child = multiprocessing.Process(target=serve, args=(listening, there, arguments.bytes, data_dir), daemon=True)
        child.start()
        here.recv()
        try:
            uvloop.run(run(listening.getsockname()[1], arguments))
        finally:
            child.terminate()
            child.join()


if __name__ == "__main__":
    main()
