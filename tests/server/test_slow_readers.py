"""Stuck readers, over real sockets: they are disconnected, and no other reader is affected."""

import asyncio
import contextlib
import json
import socket
import statistics
import struct
import sys
import time
from pathlib import Path

import pytest
from live_results import TOKEN, Live, live_server, until
from websockets.asyncio.client import ClientConnection


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
