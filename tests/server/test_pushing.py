"""`PushMiddleware` refuses what the description of its route would refuse, with the same documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from whorl.server.app import create_app
from whorl.server.routes import push_description
from whorl.server.routes.pushing import PushMiddleware
from whorl.server.security import Tokens
from whorl.server.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI
    from starlette.middleware import Middleware

STREAM = "/streams/http%3A%2F%2Fex.org%2Fs"
REQUESTS = [
    ("?atomic=perhaps", {}),
    ("?atomic=", {}),
    ("?ack=later", {}),
    ("?ack=", {}),
    ("?atomic=2&ack=no", {}),
    ("?ack=synced&ack=never", {}),
    ("?atomc=true", {}),
    ("?T=1000", {}),
    ("?atomic=perhaps&what=1", {}),
    ("?t=yesterday", {}),
    ("?t=", {}),
    ("?t=1000", {"RSP-Producer": "one;two"}),
    ("?ack=no", {"RSP-Producer": "one;two"}),
    ("", {"RSP-Event-Time": "soon"}),
    ("", {"Authorization": ""}),
    ("?atomic=perhaps", {"Authorization": "Bearer wrong"}),
    ("?ticket=none", {"Authorization": ""}),
    ("?t=1", {"Content-Type": "text/html"}),
    ("?t=1", {"Content-Encoding": "br", "Content-Type": "text/turtle"}),
    ("?t=1", {"Content-Length": str(2**40), "Content-Type": "text/turtle"}),
]


async def _answered(app: FastAPI, token: str, path: str, headers: dict[str, str]) -> tuple[int, Any]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.post(path, content=b"", headers={"Authorization": f"Bearer {token}", **headers})
        return reply.status_code, reply.json()


def _without_door(app: FastAPI) -> list[Middleware]:
    door: object = PushMiddleware
    return [layer for layer in app.user_middleware if layer.cls is not door]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[FastAPI, FastAPI, str]:
    """The server as it is, and one without `PushMiddleware`, whose framework has the route."""
    data_dir: Path = tmp_path_factory.mktemp("data")
    settings = Settings(data_dir=data_dir)
    tokens = Tokens.open(settings)
    usual, described = create_app(settings, tokens), create_app(settings, tokens)
    described.user_middleware = _without_door(described)
    assert len(described.user_middleware) == len(usual.user_middleware) - 1
    described.include_router(push_description.router)
    return usual, described, str(tokens.made_admin_token)


@pytest.mark.parametrize(("query", "headers"), REQUESTS)
@pytest.mark.parametrize("path", [STREAM, "/v1" + STREAM, "/streams/http://ex.org/s", "/streams/no-iri"])
def test_refusals_are_those_of_the_description(
    both: tuple[FastAPI, FastAPI, str], path: str, query: str, headers: dict[str, str]
) -> None:
    usual, described, token = both
    found = asyncio.run(_answered(usual, token, path + query, headers))
    assert found == asyncio.run(_answered(described, token, path + query, headers))
    assert found[0] >= 400


@pytest.mark.parametrize("path", ["/streams/", "/streams", "/streams/a/b/close/x", "/queries/http:"])
def test_other_paths_are_left_to_the_framework(both: tuple[FastAPI, FastAPI, str], path: str) -> None:
    usual, described, token = both
    found = asyncio.run(_answered(usual, token, path, {}))
    assert found == asyncio.run(_answered(described, token, path, {}))


def test_the_framework_has_no_route_of_its_own(both: tuple[FastAPI, FastAPI, str]) -> None:
    """One way through, and a description of it."""
    usual, _, token = both
    usual_layers = usual.user_middleware
    usual.user_middleware, usual.middleware_stack = _without_door(usual), None
    try:
        assert asyncio.run(_answered(usual, token, STREAM, {}))[0] == 405
    finally:
        usual.user_middleware, usual.middleware_stack = usual_layers, None
    assert "post" in usual.openapi()["paths"]["/streams/{iri}"]
    assert "POST" in asyncio.run(_allowed(usual, token))


async def _allowed(app: FastAPI, token: str) -> str:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.patch(STREAM, headers={"Authorization": f"Bearer {token}"})
        assert reply.status_code == 405
        return str(reply.headers["allow"])
