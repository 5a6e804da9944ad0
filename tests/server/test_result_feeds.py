"""Results over HTTP: the current result, long polls, NDJSON and server-sent events."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from live_results import ANSWER, Live, live_server, until
from whorl.errors import QueryFailedError
from whorl.server.errors import EngineRefusal


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
