"""Bodies that are received at the same time are bounded together; small ones always find room."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from whorl.server.app import create_app
from whorl.server.errors import OverloadedError
from whorl.server.services.lines import BATCH_BYTES_MAX, LineCutter
from whorl.server.services.room import FREE_BYTES, Room, Share
from whorl.server.settings import Settings

STREAM = "/streams/http://ex.org/s"
MIB = 1024 * 1024
NDJSON = "application/x-ndjson"


def test_shares_are_bounded_together_and_given_back() -> None:
    room = Room(1_000_000)
    first, second = Share(room), Share(room)
    first.hold(600_000 + FREE_BYTES)
    second.hold(FREE_BYTES)
    with pytest.raises(OverloadedError) as refused:
        second.hold(500_000 + FREE_BYTES)
    assert refused.value.retry_after_s is not None
    # It holds what it held before; to hold less is never refused.
    assert room.held_bytes == 600_000
    first.hold(300_000 + FREE_BYTES)
    second.hold(500_000 + FREE_BYTES)
    assert room.held_bytes == 800_000
    for share in (first, second):
        share.release()
    assert room.held_bytes == 0


def test_a_long_line_in_small_pieces_is_searched_once() -> None:
    cutter = LineCutter(8 * MIB)
    assert list(cutter.feed(b"x" * 4_000_000)) == []
    began = time.process_time()
    for _ in range(40_000):
        assert list(cutter.feed(b"x")) == []
    # Each piece was searched for from the beginning of the line, which took ninety times as long.
    assert time.process_time() - began < 1
    assert cutter.held_bytes == 4_040_000
    assert list(cutter.feed(b"y\nz")) == [b"x" * 4_040_000 + b"y\n"]
    assert cutter.rest() == b"z"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.005)


async def test_bodies_under_way_leave_room_for_events_only(tmp_path: Path) -> None:
    app = create_app(
        Settings(
            data_dir=tmp_path,
            token=SecretStr("secret"),
            bodies_bytes_max=3 * MIB,
            body_bytes_max=2 * MIB,
            graphs_bytes_max=2 * MIB,
        )
    )
    large, finish = b"# " + b"x" * (3 * MIB // 2), asyncio.Event()
    room: Room = app.state.room

    async def unfinished() -> AsyncIterator[bytes]:
        yield large
        await finish.wait()

    def holds(n_bytes: int) -> bool:
        return room.held_bytes == n_bytes

    async with served(app, "text/turtle") as client:
        waiting = []
        for count in (1, 2):
            waiting.append(asyncio.create_task(client.put("/graphs?default=", content=unfinished())))
            await until(functools.partial(holds, count * (len(large) - FREE_BYTES)))
        refused = await client.put("/graphs?default=", content=large)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:whorl:problem:overloaded")
        assert int(refused.headers["retry-after"]) >= 1
        line = b'{"t": 1, "data": "' + b"x" * MIB
        lines = await client.post(STREAM, content=line, headers={"Content-Type": NDJSON})
        assert lines.status_code == 429
        event = b"<http://ex.org/a> <http://ex.org/p> 1 ."
        assert (await client.post(STREAM, params={"t": 1}, content=event)).status_code == 202
        waiting[0].cancel()
        await until(functools.partial(holds, len(large) - FREE_BYTES))
        assert (await client.put("/graphs?default=", content=large)).is_success
        finish.set()
        assert (await waiting[1]).is_success
        assert room.held_bytes == 0


async def test_a_long_line_that_does_not_end_gives_its_room_back(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path, token=SecretStr("secret"), body_seconds_max=1))

    async def stalled() -> AsyncIterator[bytes]:
        yield b'{"t": 1, "data": "' + b"x" * MIB
        await asyncio.sleep(600)

    async with served(app, NDJSON) as client:
        answer = await client.post(STREAM, content=stalled())
        assert (answer.status_code, answer.json()["type"]) == (408, "urn:whorl:problem:body-too-slow")
        assert app.state.room.held_bytes == 0


async def test_a_refusal_after_applied_lines_does_not_ask_to_repeat_them(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path, token=SecretStr("secret")))
    event = b'{"t": 1, "data": "<http://ex.org/a> <http://ex.org/p> 1 ."}\n'

    async def body() -> AsyncIterator[bytes]:
        yield event * (2 * BATCH_BYTES_MAX // len(event))
        yield b'{"t": 1, "data": "' + b"x" * MIB

    async with served(app, NDJSON) as client:
        others = Share(app.state.room)
        others.hold(app.state.room.bytes_max)
        answer = await client.post(STREAM, content=body())
        assert (answer.status_code, answer.json()["type"]) == (429, "urn:whorl:problem:overloaded")
        assert "retry-after" not in answer.headers


@contextlib.asynccontextmanager
async def served(app: FastAPI, media_type: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app, which has a stream; bodies have this type unless a request says another."""
    headers = {"Authorization": "Bearer secret", "Content-Type": media_type}
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
    ):
        await client.put(STREAM, headers={"Content-Type": "application/json"})
        yield client
