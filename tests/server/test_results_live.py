"""Results of real queries from a real server process: from the event to the subscriber, over every way there is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from server_process import ServerProcess
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

RSPQL = {"Content-Type": "application/rsp-ql"}
NDJSON = {"Content-Type": "application/x-ndjson"}
WINDOW = "FROM NAMED WINDOW <http://ex.org/w> ON <{stream}> [RANGE 1s STEP 1s] "
WHERE = "WHERE {{ WINDOW <http://ex.org/w> {{ ?s <http://ex.org/p> ?o }} }}"
SELECT = "SELECT ?s ?o " + WINDOW + WHERE
ASK = "ASK " + WINDOW + WHERE
CONSTRUCT = "CONSTRUCT {{ ?s <http://ex.org/q> ?o }} " + WINDOW + WHERE


def push(client: httpx.Client, stream: str, first: int, last: int) -> None:
    """One event in each second: each closes the window before it."""
    event = '{{"t": {t}, "data": "<http://ex.org/a> <http://ex.org/p> {n} ."}}\n'
    lines = "".join(event.format(t=n * 1000 + 500, n=n) for n in range(first, last + 1))
    answer = client.post(stream, content=lines, headers=NDJSON)
    assert answer.status_code in {200, 202}, answer.text


def register(client: httpx.Client, stream: str, text: str, suffix: str = "") -> str:
    name = stream.rpartition("/")[2][:50] + suffix
    content = text.format(stream=stream.removeprefix("/streams/"))
    answer = client.put(f"/queries/{name}", content=content, headers=RSPQL)
    assert answer.status_code == 201, answer.text
    return name


@pytest.fixture
def name(client: httpx.Client, stream: str) -> str:
    return register(client, stream, SELECT)


def open_socket(server: ServerProcess, path: str, *, plain: bool = False) -> connect:
    headers = {"Authorization": f"Bearer {server.token}"}
    protocols: Any = None if plain else ["rsp.v1.json"]
    url = server.url.replace("http", "ws", 1) + path
    return connect(url, additional_headers=headers, subprotocols=protocols, compression=None, proxy=None)


@asynccontextmanager
async def session(server: ServerProcess, path: str = "/ws") -> AsyncIterator[ClientConnection]:
    async with open_socket(server, path) as socket:
        await say(socket, "connection_init")
        assert (await hear(socket))["type"] == "connection_ack"
        yield socket


async def say(socket: ClientConnection, kind: str, name: str | None = None, **payload: Any) -> None:
    message = {"type": kind, **({} if name is None else {"id": name}), **({"payload": payload} if payload else {})}
    await socket.send(json.dumps(message))


async def hear(socket: ClientConnection, *, skip: str = "ping") -> dict[str, Any]:
    async with asyncio.timeout(30):
        while (message := json.loads(await socket.recv()))["type"] == skip:
            pass
    found: dict[str, Any] = message
    return found


def values(envelope: dict[str, Any]) -> list[int]:
    return [int(row["o"]["value"]) for row in envelope["results"]["results"]["bindings"]]


async def test_resume_of_a_real_query_at_every_sequence_number(
    server: ServerProcess, client: httpx.Client, stream: str, name: str
) -> None:
    push(client, stream, 0, 12)
    page = client.get(f"/queries/{name}/results", params={"from": "earliest"}).json()
    envelopes = page["results"]
    assert [one["seq"] for one in envelopes] == list(range(1, len(envelopes) + 1))
    assert len(envelopes) >= 12
    tokens = [f"{envelopes[0]['incarnation']}:0", *(one["token"] for one in envelopes)]
    for seen, token in enumerate(tokens):
        async with session(server) as socket:
            await say(socket, "subscribe", "1", query=name, after=token, credit=1000)
            started = await hear(socket)
            assert (started["type"], started["payload"]["startSeq"]) == ("subscribed", seen + 1)
            assert [(await hear(socket))["payload"] for _ in envelopes[seen:]] == envelopes[seen:]
        polled = client.get(f"/queries/{name}/results", params={"after": token}).json()
        assert polled == {"results": envelopes[seen:], "next": tokens[-1]}
        few = client.get(f"/queries/{name}/results", params={"after": token, "limit": 2}).json()
        assert few == {"results": envelopes[seen : seen + 2], "next": tokens[min(seen + 2, len(envelopes))]}


async def test_an_event_published_over_the_socket_comes_back_as_a_result(
    server: ServerProcess, stream: str, name: str
) -> None:
    async with session(server) as socket:
        await say(socket, "subscribe", "1", query=name, credit=10, progress=True)
        assert (await hear(socket))["payload"]["vars"] == ["s", "o"]
        iri = stream.removeprefix("/streams/")
        events = [{"t": n * 1000 + 500, "data": f"<http://ex.org/a> <http://ex.org/p> {n} ."} for n in (1, 2)]
        await say(socket, "publish", "p", stream=iri, events=events)
        heard: dict[str, dict[str, Any]] = {}
        while not {"published", "next", "progress"} <= heard.keys():
            message = await hear(socket)
            heard[message["type"]] = message["payload"]
    assert heard["published"]["accepted"] == 2
    assert values(heard["next"]) in ([], [1])
    assert heard["progress"]["watermark"] == 2499


async def test_a_query_by_text_lives_as_long_as_its_subscription(
    server: ServerProcess, client: httpx.Client, stream: str
) -> None:
    text = SELECT.format(stream=stream.removeprefix("/streams/"))
    async with session(server) as socket:
        await say(socket, "subscribe", "1", rspql=text, credit=10)
        assert (await hear(socket))["type"] == "subscribed"
        (unnamed,) = client.get(stream).json()["queries"]
        push(client, stream, 0, 2)
        assert (await hear(socket))["payload"]["query"] == unnamed
        await say(socket, "subscribe", "2", rspql="SELECT nonsense", credit=10)
        while (message := await hear(socket))["type"] == "next":
            pass
        assert (message["id"], message["type"], message["payload"]["status"]) == ("2", "error", 400)
        await say(socket, "complete", "1")
        async with asyncio.timeout(30):
            while client.get(stream).json()["queries"]:
                await asyncio.sleep(0.01)


async def test_a_snapshot_of_a_real_query_is_its_current_answer(
    server: ServerProcess, client: httpx.Client, stream: str, name: str
) -> None:
    push(client, stream, 0, 5)
    async with session(server, f"/queries/{name}/ws") as socket:
        await say(socket, "subscribe", "1", snapshot=True, credit=10)
        await hear(socket)
        payload = (await hear(socket))["payload"]
        assert payload["snapshot"] is True
        assert payload["results"] == client.get(f"/queries/{name}/results").json()
        assert payload["seq"] == client.get(f"/queries/{name}").json()["lastSeq"]
        push(client, stream, 6, 7)
        assert (await hear(socket))["payload"]["seq"] == payload["seq"] + 1


async def test_a_plain_reader_follows_a_real_query_to_its_end(
    server: ServerProcess, client: httpx.Client, stream: str, name: str
) -> None:
    async with open_socket(server, f"/queries/{name}/ws?from=earliest", plain=True) as socket:
        push(client, stream, 0, 4)
        last = client.get(f"/queries/{name}").json()["lastSeq"]
        assert [json.loads(await socket.recv())["seq"] for _ in range(last)] == list(range(1, last + 1))
        client.delete(f"/queries/{name}")
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert (socket.close_code, socket.close_reason) == (1000, "deleted")


async def test_a_restart_is_told_and_an_old_token_is_gone(
    server: ServerProcess, client: httpx.Client, stream: str, name: str
) -> None:
    push(client, stream, 0, 3)
    token = client.get(f"/queries/{name}/results", params={"from": "earliest"}).json()["next"]
    client.post(f"/queries/{name}", json={"action": "restart"})
    gone = client.get(f"/queries/{name}/results", params={"after": token})
    assert (gone.status_code, gone.json()["type"]) == (410, "urn:whorl:problem:token-expired")
    async with session(server) as socket:
        await say(socket, "subscribe", "1", query=name, after=token, credit=10)
        await hear(socket)
        assert (await hear(socket))["payload"]["reason"] == "restart"


@pytest.mark.parametrize(
    ("text", "accept", "begins"),
    [
        (SELECT, "application/sparql-results+json", b"{"),
        (SELECT, "application/sparql-results+xml", b"<"),
        (SELECT, "text/csv", b"s,o"),
        (ASK, "application/sparql-results+json", b"{"),
        (SELECT, "text/tab-separated-values", b"?s\t?o"),
        (CONSTRUCT, "application/n-triples", b"<http://ex.org/a>"),
        (CONSTRUCT, "text/turtle", b"<http://ex.org/a>"),
        (CONSTRUCT, "application/n-quads", b"<http://ex.org/a>"),
        (CONSTRUCT, "application/trig", b"<http://ex.org/a>"),
        (CONSTRUCT, "application/ld+json", b"["),
    ],
)
def test_the_current_answer_of_a_real_query(
    client: httpx.Client, stream: str, text: str, accept: str, begins: bytes
) -> None:
    name = register(client, stream, text)
    push(client, stream, 0, 3)
    answer = client.get(f"/queries/{name}/results", headers={"Accept": accept})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(accept)
    assert answer.content.lstrip().startswith(begins)
    wrong = "text/csv" if text is CONSTRUCT else "text/turtle"
    assert client.get(f"/queries/{name}/results", headers={"Accept": wrong}).status_code == 406


async def test_after_a_kill_a_subscriber_resumes_without_gap_or_double(
    start_server: Callable[..., ServerProcess],
) -> None:
    first = start_server()
    with first.client() as client:
        client.put("/streams/http://ex.org/s")
        name = register(client, "/streams/http://ex.org/s", SELECT)
        push(client, "/streams/http://ex.org/s", 0, 10)
        before = client.get(f"/queries/{name}/results", params={"from": "earliest"}).json()["results"]
    first.kill()
    second = start_server()
    async with session(second) as socket:
        await say(socket, "subscribe", "1", query=name, after=before[3]["token"], credit=1000)
        assert (await hear(socket))["payload"]["startSeq"] == before[3]["seq"] + 1
        with second.client() as client:
            push(client, "/streams/http://ex.org/s", 11, 13)
        heard = [(await hear(socket))["payload"] for _ in range(len(before) - 4 + 3)]
    assert heard[: len(before) - 4] == before[4:]
    assert [one["seq"] for one in heard] == list(range(before[4]["seq"], before[4]["seq"] + len(heard)))


async def test_a_query_by_text_does_not_outlive_a_kill(start_server: Callable[..., ServerProcess]) -> None:
    first = start_server()
    with first.client() as client:
        client.put("/streams/http://ex.org/s")
        async with session(first) as socket:
            await say(socket, "subscribe", "1", rspql=SELECT.format(stream="http://ex.org/s"), credit=10)
            assert (await hear(socket))["type"] == "subscribed"
            assert len(client.get("/queries").json()["queries"]) == 1
            first.kill()
    with start_server().client() as client:
        assert client.get("/queries").json()["queries"] == []


async def test_a_server_that_is_told_to_stop_says_goodbye(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    async with session(server) as socket:
        stopping = asyncio.get_running_loop().run_in_executor(None, server.stop)
        with pytest.raises(ConnectionClosed):
            await hear(socket)
        assert socket.close_code == 1001
        assert await stopping == 0


def test_an_envelope_names_the_results_it_stands_for(client: httpx.Client, stream: str) -> None:
    name = register(client, stream, SELECT.replace("RANGE 1s STEP 1s", "RANGE 2ms STEP 2ms"))
    event = '{{"t": {t}, "data": "<http://ex.org/a> <http://ex.org/p> 1 ."}}\n'
    answer = client.post(stream, content="".join(event.format(t=t) for t in (0, 100_000)), headers=NDJSON)
    assert answer.json()["accepted"] == 2, answer.text
    client.post(stream, content=event.format(t=100_002), headers=NDJSON)
    found: list[dict[str, Any]] = []
    after = {"from": "earliest"}
    while not found or found[-1]["t"] < 100_002:
        page = client.get(f"/queries/{name}/results", params={**after, "wait": "5s"}).json()
        found += page["results"]
        after = {"after": page["next"]}
    (skipped,) = [one for one in found if "skipped" in one]
    assert skipped["skipped"] == {"from": 20_004, "to": 100_000, "windows": 39_999}
    assert (skipped["t"], skipped["seq"]) == (100_000, 10_002)
