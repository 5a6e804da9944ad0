"""The clients against a real server process: every call once, and `kill -9` in the middle of everything."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest
import rdflib
from server_process import ServerProcess
from whorl_client import (
    AsyncClient,
    AuthenticationError,
    Client,
    ConflictError,
    Event,
    Gap,
    GapError,
    Iri,
    QueryError,
    RdfSyntaxError,
    Result,
    StreamExistsError,
    UnknownGraphError,
    UnknownQueryError,
    UnknownStreamError,
)
from whorl_client._keywords import QueryKeywords

README = Path(__file__).parents[2] / "clients" / "python" / "README.md"
N = "http://example.org/n"
StartServer = Callable[..., ServerProcess]


def counting(stream: str, r2s: str = "") -> str:
    """A query with one window for each second, whose rows are the numbers in it."""
    return f"""PREFIX : <http://example.org/>
    {f"REGISTER {r2s} <out> AS" if r2s else ""} SELECT ?n FROM NAMED WINDOW :w ON <{stream}> [RANGE 1s STEP 1s]
    WHERE {{ WINDOW :w {{ ?x :n ?n }} }}"""


def turtle(number: int) -> str:
    return f"<urn:x> <{N}> {number} ."


def numbers(results: list[Any]) -> list[Any]:
    return [row["n"] for result in results for row in result.rows]


def test_staged_events_are_seen_when_they_are_committed_and_polled(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    query = client.register(counting(iri), name="staged")
    tokens = [stream.stage([Event(turtle(n), t=n * 1000)]) for n in (2, 1)]
    assert stream.info().document["events"] == 0
    assert stream.commit("job", 4, tokens, watermark=3001).accepted == 2
    again = stream.commit("job", 4, tokens)
    assert (again.accepted, again.duplicates, again.batch) == (0, 2, 4)
    first, token = query.poll(limit=1)
    rest, end = query.poll(token, wait_s=0.1)
    assert numbers(first + rest) == [1, 2]
    assert query.poll(end) == ([], end)
    assert query.poll(from_="latest") == ([], end)


async def test_the_same_goes_without_waiting(server: ServerProcess, iri: str) -> None:
    async with AsyncClient(server.url, server.token) as client:
        stream = await client.streams.create(iri)
        token = await stream.stage([Event(turtle(1), t=1000)])
        assert (await stream.commit("job", 0, [token])).batch == 0
        query = await client.register(counting(iri), name="staged-async")
        assert (await query.poll())[0] == []


# --- killed in the middle ---------------------------------------------------------------------------------------------

EVENTS = 120
KILLED_AFTER = (30, 65, 100)


class Killer:
    """Kills a server with -9 and starts it again on the same port and data, while others go on."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.url = server.url
        self._threads: list[threading.Thread] = []
        server.settings["port"] = urlsplit(server.url).port

    def strike(self) -> None:
        self.join()
        thread = threading.Thread(target=self._kill_and_start)
        thread.start()
        self._threads.append(thread)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _kill_and_start(self) -> None:
        self.server.kill()
        self.server.start()


def check_each_once(client: Client, stream: str, results: list[Any]) -> None:
    assert numbers(results) == list(range(EVENTS))
    assert [result.seq for result in results] == list(range(1, EVENTS + 1))
    assert client.streams.get(stream).document["events"] == EVENTS


def test_a_server_killed_three_times_loses_and_doubles_nothing(start_server: StartServer, iri: str) -> None:
    server = start_server()
    killer = Killer(server)
    with Client(server.url, server.token) as client:
        client.streams.create(iri)
        client.register(counting(iri), name="count")
        subscription = client.subscribe("count", limit=EVENTS, timeout_s=60)
        results: list[Result] = []
        reading = threading.Thread(target=lambda: results.extend(subscription))
        reading.start()
        with client.publisher(iri, "test", batch_events=5) as publisher:
            for number in range(EVENTS):
                publisher.send(turtle(number), t=number * 1000 + 500)
                if number in KILLED_AFTER:
                    killer.strike()
            publisher.watermark(EVENTS * 1000 + 1)
        reading.join()
        killer.join()
        check_each_once(client, iri, results)


async def test_a_server_killed_three_times_loses_and_doubles_nothing_in_asyncio(
    start_server: StartServer, iri: str
) -> None:
    server = await asyncio.to_thread(start_server)
    killer = Killer(server)
    async with AsyncClient(server.url, server.token) as client:
        await client.streams.create(iri)
        await client.register(counting(iri), name="count")
        async with client.subscribe("count", limit=EVENTS, timeout_s=60) as subscription:

            async def read() -> list[Any]:
                return [result async for result in subscription]

            reading = asyncio.create_task(read())
            async with client.publisher(iri, "test", batch_events=5) as publisher:
                for number in range(EVENTS):
                    await publisher.send(turtle(number), t=number * 1000 + 500)
                    if number in KILLED_AFTER:
                        await asyncio.to_thread(killer.strike)
                await publisher.watermark(EVENTS * 1000 + 1)
            results = await reading
        await asyncio.to_thread(killer.join)
    with Client(server.url, server.token) as waiting:
        check_each_once(waiting, iri, results)


def test_a_token_of_before_a_kill_goes_on_after_it(start_server: StartServer, iri: str) -> None:
    server = start_server()
    killer = Killer(server)
    with Client(server.url, server.token) as client:
        client.streams.create(iri)
        client.register(counting(iri), name="count")
        client.stream(iri).send([Event(turtle(number), number * 1000) for number in range(5)])
        [first, second] = list(client.subscribe("count", from_="earliest", limit=2, timeout_s=30))
        killer.strike()
        killer.join()
        rest = list(client.subscribe("count", from_=second.token, limit=2, timeout_s=30))
    assert numbers([first, second, *rest]) == [0, 1, 2, 3]


# --- every call -------------------------------------------------------------------------------------------------------


def test_the_first_example_of_the_readme_runs(
    server: ServerProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```(\w*)\n(.*?)```", README.read_text(), re.DOTALL)
    code = next(text for language, text in blocks if language == "python")
    said = next(text for language, text in blocks if language == "")
    monkeypatch.setenv("WHORL_TOKEN", server.token)
    exec(code.replace("http://localhost:8080", server.url), {})  # noqa: S102 - it is our own
    assert capsys.readouterr().out == said


def test_events_of_every_kind_arrive(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    query = client.register(counting(iri), name="kinds")
    results = query.subscribe(limit=8, timeout_s=30)
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("urn:x"), rdflib.URIRef(N), rdflib.Literal(3)))
    stream.send(turtle(1), t=1000)
    stream.send([(Iri("urn:x"), Iri(N), 2)], t=2000)
    stream.send(graph, t=3000)
    stream.send({"@id": "urn:x", N: 4}, t=4000)
    stream.send([Event(turtle(5), 5000), Event({"@id": "urn:x", N: 6}, 6000)])
    frame = pd.DataFrame({"t": [7000], "number": [7]})
    stream.mapping(f"CONSTRUCT {{ <urn:x> <{N}> ?number }} WHERE {{ }}")
    ack = stream.send(frame)
    assert (ack.accepted, ack.late) == (1, 0)
    assert stream.watermark(9001) == 9001
    assert numbers(list(results)) == [1, 2, 3, 4, 5, 6, 7]
    assert stream.info().document["events"] == 7
    assert iri in [one.iri for one in client.streams.list()]


def test_what_is_wrong_with_an_event_is_said_with_its_place(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    with pytest.raises(RdfSyntaxError) as caught:
        stream.send("<urn:a> <urn:b>\n oops .", t=1)
    assert caught.value.line == 2
    with client.publisher(iri, "p") as publisher:
        publisher.send("oops", t=1)
        with pytest.raises(RdfSyntaxError):
            publisher.flush()
        publisher.send(turtle(1), t=1)
        assert publisher.flush().accepted == 1


def test_a_wrong_query_says_where_and_what_to_do(client: Client) -> None:
    with pytest.raises(QueryError) as caught:
        client.register("SELECT ?s\nWHERE { ?s ?p }", name="wrong")
    assert (caught.value.line, caught.value.status) == (2, 400)
    assert caught.value.message


def test_a_query_is_looked_at_from_all_sides(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    validation = client.queries.validate(counting(iri))
    assert validation.variables == ("n",)
    query = client.queries.register(counting(iri), "sides", r2s="RSTREAM")
    stream.send([Event(turtle(1), 500), Event(turtle(2), 1500)])
    [result] = list(query.subscribe("earliest", limit=1, timeout_s=30))
    assert result.rows == query.answer().rows == [{"n": 1}]
    assert result.windows[0].close == result.t == 1000
    assert "leaf" in str(query.explain())
    info = query.info()
    assert (info.name, info.status, info.last_seq) == ("sides", "running", 1)
    assert "sides" in query._repr_html_()
    assert "sides" in [one.name for one in client.queries.list()]
    with pytest.raises(ConflictError):
        client.register(counting(iri, "ISTREAM"), name="sides")
    query.delete()
    with pytest.raises(UnknownQueryError):
        query.info()


def test_every_option_of_a_query_is_one_that_the_server_knows(client: Client, iri: str) -> None:
    client.streams.create(iri)
    options: QueryKeywords = {
        "dialect": "rspql",
        "report": ["close", "nonempty"],
        "tick": "time",
        "t0": datetime(1970, 1, 1, tzinfo=UTC),
        "bounds": "[)",
        "partial": True,
        "semantics": "bag",
        "r2s": "ISTREAM",
        "base_iri": "http://example.org/",
        "default_graph": f"<{iri}> [RANGE 1s STEP 1s]",
        "allow_cartesian": True,
        "keep_answer": True,
        "keep_windows": True,
    }
    assert set(options) == QueryKeywords.__optional_keys__
    query = client.register("SELECT ?n WHERE { ?x <n> ?n }", "options", **options)
    assert client.queries.validate("SELECT ?n WHERE { ?x <n> ?n }", **options).variables == ("n",)
    assert "ISTREAM · bag" in str(query.explain())


def test_a_query_by_its_text_says_what_to_call(client: Client, iri: str) -> None:
    for use in (client.query, client.queries.get, client.subscribe):
        with pytest.raises(ValueError, match=r"register\(text\)"):
            use(counting(iri))


def test_results_are_frames_with_times_and_columns_in_the_order_of_the_server(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    text = counting(iri).replace("?n FROM", "* FROM")
    query = client.register(text, "frames")
    stream.send([Event(turtle(7), 500)])
    stream.watermark(1001)
    [result] = list(query.subscribe("earliest", limit=1, timeout_s=30))
    at = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    frame = result.to_polars(meta=True)
    assert frame.columns == ["_seq", "_t", "_sign", *result.variables]
    assert frame.rows(named=True) == [{"_seq": 1, "_t": at, "_sign": 1, "n": 7, "x": "urn:x"}]
    assert (result.time, result.windows[0].close_time) == (at, at)
    assert query.info().variables == query.answer().variables == result.variables


def test_a_snapshot_is_the_current_answer_and_results_go_on_after_it(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    query = client.register(counting(iri), name="snapshot")
    stream.send([Event(turtle(number), number * 1000) for number in range(4)])
    results = query.subscribe(snapshot=True, limit=2, timeout_s=30)
    stream.watermark(4001)
    first, second = list(results)
    assert (first.is_snapshot, second.is_snapshot) == (True, False)
    assert (first.seq, second.seq) == (3, 4)
    assert numbers([first, second]) == [2, 3]


def test_until_ends_when_time_has_passed_it(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    query = client.register(counting(iri), name="until")
    results = query.subscribe(until=2000, timeout_s=30)
    stream.send([Event(turtle(number), number * 1000) for number in range(4)])
    assert [result.t for result in results] == [1000, 2000]


def test_a_query_that_is_deleted_ends_its_subscriptions(client: Client, iri: str) -> None:
    client.streams.create(iri)
    query = client.register(counting(iri), name="ends")
    results = query.subscribe(timeout_s=30)
    query.delete()
    assert list(results) == []
    assert results.reason is not None


def test_a_query_that_is_restarted_is_a_gap(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    query = client.register(counting(iri), name="restarted")
    raising, yielding = query.subscribe(timeout_s=30), query.subscribe(on_gap="yield", limit=2, timeout_s=30)
    stream.send([Event(turtle(number), number * 1000) for number in range(2)])
    assert next(raising).rows == [{"n": 0}]
    query.restart()
    with pytest.raises(GapError):
        next(raising)
    stream.send([Event(turtle(number), number * 1000) for number in range(3, 6)])
    assert [type(item) for item in yielding] == [Result, Gap, Result]


def test_a_subscription_continues_with_the_query_that_replaces_its_own(client: Client, iri: str) -> None:
    stream = client.streams.create(iri)
    query = client.register(counting(iri), name="replaced")
    subscription = query.subscribe(limit=2, on_gap="yield", timeout_s=30)
    stream.send([Event(turtle(number), number * 1000) for number in range(2)])
    first = next(subscription)
    assert isinstance(first, Result)
    assert subscription.variables == ("n",)
    with pytest.raises(QueryError):
        client.register("SELECT ?n WHER {}", name="replaced", replace=True)
    with pytest.raises(ConflictError):
        client.register(counting(iri).replace("?n", "?m"), name="replaced")
    client.register(counting(iri).replace("?n", "?m"), name="replaced", replace=True)
    stream.send([Event(turtle(number), number * 1000) for number in range(3, 6)])
    gap, last = subscription
    assert isinstance(gap, Gap)
    assert (gap.reason, subscription.variables) == ("replaced", ("m",))
    assert isinstance(last, Result)
    assert last.incarnation != first.incarnation


def test_a_paused_query_has_no_subscribers(client: Client, iri: str) -> None:
    client.streams.create(iri)
    query = client.register(counting(iri), name="paused")
    query.pause()
    assert query.info().status == "paused"
    with pytest.raises(ConflictError, match="is paused"):
        query.subscribe()


def test_static_graphs_and_sparql(client: Client) -> None:
    graph = "http://example.org/rooms"
    client.graphs.put("<urn:lab> a <urn:Room> .", graph)
    client.graphs.post(
        [(Iri("urn:hall"), Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), Iri("urn:Room"))], graph
    )
    client.update(f"INSERT DATA {{ GRAPH <{graph}> {{ <urn:attic> a <urn:Room> }} }}")
    rooms = client.sparql(f"SELECT ?room {{ GRAPH <{graph}> {{ ?room a <urn:Room> }} }} ORDER BY ?room")
    assert [row["room"] for row in rooms] == ["urn:attic", "urn:hall", "urn:lab"]
    assert client.sparql(f"ASK {{ GRAPH <{graph}> {{ <urn:lab> ?p ?o }} }}").boolean is True
    built = client.sparql(f"CONSTRUCT {{ ?s <urn:is> 1 }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")
    assert len(built.to_rdflib()) == 3
    assert len(rdflib.Graph().parse(data=client.graphs.get(graph), format="turtle")) == 3
    client.graphs.delete(graph)
    with pytest.raises(UnknownGraphError):
        client.graphs.get(graph)


def test_streams_are_refused_by_name(client: Client, iri: str) -> None:
    client.streams.create(iri, lateness="5s")
    with pytest.raises(StreamExistsError):
        client.streams.create(iri, lateness="6s")
    client.streams.delete(iri)
    with pytest.raises(UnknownStreamError):
        client.stream(iri).info()


def test_a_wrong_token_is_refused_everywhere(server: ServerProcess) -> None:
    with Client(server.url, "wrong") as stranger:
        with pytest.raises(AuthenticationError):
            stranger.queries.list()
        with pytest.raises(AuthenticationError):
            stranger.subscribe("q")


def test_the_service_document_is_there(client: Client) -> None:
    assert client.status()
