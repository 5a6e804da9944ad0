"""The rules of the registry hold on every way in: HTTP, WebSocket and cascades; and each call is one turn."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from registering import IRI, RSPQL, STREAM, relay, session, slug, text_over
from server_process import ServerProcess
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from whorl.server import schemas
from whorl.server.errors import ForbiddenError, TooManyQueriesError
from whorl.server.runtime.core import Core
from whorl.server.runtime.runtime import Runtime
from whorl.server.security import ADMIN, Principal
from whorl.server.services.ingest import Ingest
from whorl.server.services.registry import Registry
from whorl.server.services.rings import Rings
from whorl.server.settings import Settings


def subscribe(socket: ClientConnection, id_: str, text: str) -> dict[str, Any]:
    """Register an unnamed query; the first message about it."""
    socket.send(json.dumps({"type": "subscribe", "id": id_, "payload": {"rspql": text, "credit": 10}}))
    answer: dict[str, Any] = json.loads(socket.recv(30))
    assert answer["id"] == id_
    return answer


@pytest.fixture
def small(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server of the test's own that has room for two queries."""
    settings = {"queries_max": 2, "query_bytes_max": 1000}
    server = ServerProcess(tmp_path / "data", settings).start()
    with server.client() as client:
        assert client.put(STREAM).status_code == 201
    yield server
    server.kill()


# ---- room ----


def test_there_is_room_for_so_many_queries_over_http_and_over_a_socket(small: ServerProcess) -> None:
    with small.client() as client, session(small) as socket:
        assert client.put("/queries/first", content=text_over(IRI), headers=RSPQL).status_code == 201
        assert subscribe(socket, "second", text_over(IRI))["type"] == "subscribed"
        over_http = client.put("/queries/third", content=text_over(IRI), headers=RSPQL)
        assert (over_http.status_code, slug(over_http.json())) == (429, "too-many-queries")
        over_socket = subscribe(socket, "third", text_over(IRI))
        assert over_socket["type"] == "error"
        assert (over_socket["payload"]["status"], slug(over_socket["payload"])) == (429, "too-many-queries")
        assert len(client.get("/queries").json()["queries"]) == 2
        # What is there already needs no further room, and what goes makes some.
        assert client.put("/queries/first", content=text_over(IRI), headers=RSPQL).status_code == 200
        assert client.delete("/queries/first").status_code == 204
        assert subscribe(socket, "fourth", text_over(IRI))["type"] == "subscribed"


def test_a_long_text_is_refused_over_http_and_over_a_socket(small: ServerProcess) -> None:
    text = text_over(IRI) + " " * 1000
    with small.client() as client, session(small) as socket:
        as_text = client.put("/queries/q", content=text, headers=RSPQL)
        as_json = client.put("/queries/q", json={"query": text})
        checked = client.post("/queries/validate", json={"query": text})
        over_socket = subscribe(socket, "1", text)["payload"]
        found = [one.json() for one in (as_text, as_json, checked)] + [over_socket]
        assert [(one["status"], slug(one)) for one in found] == [(413, "body-too-large")] * 4


def test_registrations_of_all_ways_are_counted_together(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", {"registrations_per_minute": 2}).start()
    try:
        with server.client() as client, session(server) as socket:
            assert client.put(STREAM).status_code == 201
            assert client.post("/queries/validate", json={"query": text_over(IRI)}).status_code == 200
            assert subscribe(socket, "1", text_over(IRI))["type"] == "subscribed"
            assert slug(subscribe(socket, "2", text_over(IRI))["payload"]) == "too-many-registrations"
            assert slug(client.put("/queries/q", json={"query": text_over(IRI)}).json()) == "too-many-registrations"
    finally:
        server.kill()


# ---- ownership ----


def test_a_cascade_deletes_nothing_that_the_caller_may_not_delete(
    server: ServerProcess, client: httpx.Client, stream: str, make_token: Callable[[str], str]
) -> None:
    text = text_over(stream.removeprefix("/streams/"))
    assert client.put("/queries/adminq", content=text, headers=RSPQL).status_code == 201
    with server.client(make_token("registrar")) as registrar:
        assert registrar.put("/queries/ownq", content=text, headers=RSPQL).status_code == 201
        assert registrar.delete("/queries/adminq").status_code == 403
        refused = registrar.delete(stream, params={"cascade": "true"})
        assert (refused.status_code, slug(refused.json())) == (403, "forbidden")
        assert refused.json()["queries"] == ["adminq"]
        # Not even the caller's own query has gone.
        assert client.get(stream).json()["queries"] == ["adminq", "ownq"]
        assert [client.get(f"/queries/{name}").json()["status"] for name in ("adminq", "ownq")] == ["running"] * 2
        assert client.delete("/queries/adminq").status_code == 204
        assert registrar.delete(stream, params={"cascade": "true"}).status_code == 204
    assert client.get("/queries/ownq").status_code == 404
    assert client.get(stream).status_code == 404


def test_a_cascade_does_not_end_the_subscription_of_somebody_else(
    server: ServerProcess, stream: str, make_token: Callable[[str], str]
) -> None:
    text = text_over(stream.removeprefix("/streams/"))
    owner = make_token("owner")
    with server.client(make_token("other")) as other, server.client(owner) as own, session(server, owner) as socket:
        answer = subscribe(socket, "1", text)
        assert answer["type"] == "subscribed"
        assert other.delete(f"/queries/{answer['payload']['query']}").status_code == 403
        assert other.delete(stream, params={"cascade": "true"}).status_code == 403
        socket.send(json.dumps({"type": "ping"}))
        assert json.loads(socket.recv(30))["type"] == "pong"
        # The caller's own connection is no obstacle.
        assert own.delete(stream, params={"cascade": "true"}).status_code == 204
        ended = json.loads(socket.recv(30))
        assert (ended["type"], ended["payload"]) == ("complete", {"reason": "stream deleted"})


def test_a_cascade_goes_all_the_way_down_or_not_at_all(
    server: ServerProcess, client: httpx.Client, stream: str, make_token: Callable[[str], str]
) -> None:
    middle = "http://ex.org/registry/middle"
    with server.client(make_token("upstream")) as registrar:
        chain = {"up": relay(middle, stream.removeprefix("/streams/")), "below": text_over(middle)}
        for name, text in chain.items():
            assert registrar.put(f"/queries/{name}", content=text, headers=RSPQL).status_code == 201
        assert client.put("/queries/foreign", content=text_over(middle), headers=RSPQL).status_code == 201
        refused = registrar.delete(stream, params={"cascade": "true"})
        assert (refused.status_code, refused.json()["queries"]) == (403, ["foreign"])
        assert {"up", "below", "foreign"} <= {one["id"] for one in client.get("/queries").json()["queries"]}
        assert client.delete("/queries/foreign").status_code == 204
        assert registrar.delete(stream, params={"cascade": "true"}).status_code == 204
    assert not {"up", "below"} & {one["id"] for one in client.get("/queries").json()["queries"]}


# ---- unnamed queries ----


def test_an_unnamed_query_ends_though_others_read_its_output(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data").start()
    try:
        with server.client() as client, session(server) as socket, session(server) as killed:
            assert client.put(STREAM).status_code == 201
            unnamed = []
            for place, output in ((socket, "http://ex.org/out1"), (killed, "http://ex.org/out2")):
                answer = subscribe(place, "1", relay(output, IRI))
                unnamed.append(answer["payload"]["query"])
                reader = client.put(f"/queries/{output[-4:]}", content=text_over(output), headers=RSPQL)
                assert reader.status_code == 201
            with connect_plainly(server, unnamed[0]) as follower:
                socket.close()
                with pytest.raises(ConnectionClosed):
                    follower.recv(30)
            assert client.get(f"/queries/{unnamed[0]}").status_code == 404
            assert client.get(f"/queries/{unnamed[1]}").status_code == 200
            server.kill()
        # A query of a connection that died with the server does not keep it from starting.
        with server.start().client() as client:
            assert [one["id"] for one in client.get("/queries").json()["queries"]] == ["out1", "out2"]
    finally:
        server.kill()


def connect_plainly(server: ServerProcess, name: str) -> ClientConnection:
    url, headers = server.url.replace("http", "ws", 1), {"Authorization": f"Bearer {server.token}"}
    return connect(f"{url}/queries/{name}/ws", additional_headers=headers, proxy=None)


# ---- turns ----


@contextlib.asynccontextmanager
async def running(data_dir: Path, **settings: Any) -> AsyncIterator[tuple[Runtime, Registry]]:
    chosen = Settings(data_dir=data_dir, **settings)
    rings = Rings(chosen)
    runtime = Runtime(chosen, rings)
    await runtime.start()
    try:
        yield runtime, Registry(runtime, rings, Ingest(runtime, chosen), chosen)
    finally:
        await runtime.stop()


def query(text: str = text_over(IRI)) -> schemas.QueryRequest:
    return schemas.QueryRequest(query=text)


async def test_each_call_is_one_turn_through_the_queue(tmp_path: Path) -> None:
    async with running(tmp_path) as (runtime, registry):
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: registry.declare(IRI, schemas.StreamSettings()),
            lambda: registry.register("q", query(), ADMIN),
            lambda: registry.register("q", query(), ADMIN),
            lambda: registry.replace("q", query(), ADMIN),
            lambda: registry.replace("q", query(text_over(IRI).replace("?p", "?x")), ADMIN),
            lambda: registry.replace("r", query(), ADMIN),
            lambda: registry.register_unnamed(query(), ADMIN),
            lambda: registry.set_mapping(IRI, "CONSTRUCT { ?s <http://ex.org/p> ?o } WHERE {}", "t"),
            lambda: registry.mapping(IRI),
            lambda: registry.remove_mapping(IRI),
            lambda: registry.advance(IRI, 1),
            lambda: registry.close_stream(IRI),
            lambda: registry.reopen_stream(IRI, ADMIN),
            lambda: registry.pause("q", ADMIN),
            lambda: registry.restart("q", ADMIN),
            lambda: registry.unregister("q", ADMIN),
            lambda: registry.drop_stream(IRI, ADMIN, cascade=True),
        ]
        for number, call in enumerate(calls, 1):
            await call()
            assert runtime.metrics.commands == number


async def test_a_registration_answers_with_the_document(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, registry):
        declared = await registry.declare(IRI, schemas.StreamSettings(lateness=5))
        assert declared.created
        assert declared.document.settings == schemas.StreamSettings(lateness=5)
        found = await registry.register("q", query(), ADMIN)
        assert found.created
        assert found.document == await registry.query("q")
        again = await registry.register("q", query(), ADMIN)
        assert (again.created, again.document) == (False, found.document)
        assert (await registry.pause("q", ADMIN)).status == "paused"
        assert (await registry.restart("q", ADMIN)).incarnation != found.document.incarnation


async def test_what_is_refused_is_not_in_the_log(tmp_path: Path) -> None:
    somebody = Principal("somebody", frozenset({"register"}))

    def seen(core: Core) -> tuple[int, list[str], list[str]]:
        return core.offset, list(core.streams), list(core.queries)

    async with running(tmp_path, queries_max=1) as (runtime, registry):
        await registry.declare(IRI, schemas.StreamSettings())
        await registry.register("q", query(), ADMIN)
        before = await runtime.read(seen)
        with pytest.raises(TooManyQueriesError):
            await registry.register_unnamed(query(), somebody)
        for change in (registry.pause, registry.restart, registry.unregister):
            with pytest.raises(ForbiddenError):
                await change("q", somebody)
        with pytest.raises(ForbiddenError):
            await registry.replace("q", query(text_over(IRI).replace("?p", "?x")), somebody)
        with pytest.raises(ForbiddenError):
            await registry.drop_stream(IRI, somebody, cascade=True)
        assert await runtime.read(seen) == before


async def test_smaller_limits_do_not_refuse_what_the_log_holds(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, registry):
        for name in ("a", "b"):
            await registry.declare(f"{IRI}/{name}", schemas.StreamSettings())
            await registry.register(name, query(text_over(f"{IRI}/{name}")), ADMIN)
    async with running(tmp_path, queries_max=1, streams_max=1) as (_, registry):
        assert [one.id for one in await registry.queries()] == ["a", "b"]
        with pytest.raises(TooManyQueriesError):
            await registry.register("c", query(text_over(f"{IRI}/a")), ADMIN)
