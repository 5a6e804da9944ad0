"""`/demo`: how fast the demo plays, where one does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from whorl.demo.pace import Pace
from whorl.server.app import create_app
from whorl.server.security import Tokens
from whorl.server.settings import Settings


@pytest.fixture
def pace() -> Pace:
    return Pace()


@pytest.fixture
async def demo(pace: Pace, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(data_dir=tmp_path, anonymous=True)
    transport = httpx.ASGITransport(create_app(settings, Tokens.open(settings), pace))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_the_rate_is_read_and_changed(demo: httpx.AsyncClient, pace: Pace) -> None:
    assert (await demo.get("/demo")).json() == {"rate": 1.0}
    assert (await demo.put("/demo", json={"rate": 2.5})).json() == {"rate": 2.5}
    assert pace.rate == 2.5
    assert (await demo.get("/demo")).json() == {"rate": 2.5}


@pytest.mark.parametrize("rate", [-1, 9, "fast", None])
async def test_a_wrong_rate_is_refused_and_changes_nothing(demo: httpx.AsyncClient, pace: Pace, rate: object) -> None:
    assert (await demo.put("/demo", json={"rate": rate})).status_code == 422
    assert pace.rate == 1.0


def test_a_server_without_a_demo_says_how_to_have_one(client: httpx.Client) -> None:
    for answer in (client.get("/demo"), client.put("/demo", json={"rate": 2})):
        assert answer.status_code == 404
        assert answer.json()["type"].endswith(":no-demo")
        assert "--demo" in answer.json()["hint"]
