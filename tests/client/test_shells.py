"""Both clients on real sockets, against a scripted server: they perform the core's operations, and leave nothing open.

Every test runs for `Client` and for `AsyncClient`. What the core decides is not tested again here.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any

import pytest
from client_model import envelope
from client_sockets import HttpAnswer, Player, ScriptedSockets, scripted_http, scripted_sockets
from whorl_client import (
    AnswerTimeoutError,
    AsyncClient,
    AsyncSubscription,
    AuthenticationError,
    Client,
    ConnectionFailedError,
    GapError,
    QuerySyntaxError,
    Result,
    UnknownQueryError,
)

Run = Callable[..., Any]


@pytest.fixture(params=["Client", "AsyncClient"])
def follow(request: pytest.FixtureRequest) -> Run:
    """Collect results of a subscription until it ends, or the first `take`."""

    def waiting(url: str, take: int | None = None, **options: Any) -> list[Any]:
        with Client(url, "secret") as client:
            return _taken(client.subscribe("q", **options), take)

    async def asynchronous(url: str, take: int | None = None, **options: Any) -> list[Any]:
        async with AsyncClient(url, "secret") as client:
            return await _taken_async(client.subscribe("q", **options), take)

    if request.param == "Client":
        return waiting
    return lambda *args, **options: asyncio.run(asynchronous(*args, **options))


def _taken(results: Iterable[Any], take: int | None) -> list[Any]:
    found = []
    for result in results:
        found.append(result)
        if len(found) == take:
            break
    return found


async def _taken_async(results: AsyncSubscription, take: int | None) -> list[Any]:
    found = []
    async for result in results:
        found.append(result)
        if len(found) == take:
            break
    return found


@pytest.fixture(params=["Client", "AsyncClient"])
def call(request: pytest.FixtureRequest) -> Run:
    """Call something of a client: `call(url, lambda client: client.stream("…").send(…))`."""

    async def asynchronous(url: str, use: Callable[[Any], Any], **options: Any) -> Any:
        async with AsyncClient(url, "secret", **options) as client:
            value = use(client)
            return await value if inspect.isawaitable(value) else value

    def waiting(url: str, use: Callable[[Any], Any], **options: Any) -> Any:
        with Client(url, "secret", **options) as client:
            return use(client)

    if request.param == "Client":
        return waiting
    return lambda *args, **options: asyncio.run(asynchronous(*args, **options))


def seqs(results: list[Result]) -> list[int]:
    return [result.seq for result in results]


def complete(player: Player) -> None:
    player.say("complete", {"reason": "deleted"})
    player.socket.recv(10)


# --- subscriptions ----------------------------------------------------------------------------------------------------


def test_results_come_until_the_query_is_deleted(follow: Run) -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        assert player.socket.request is not None
        assert player.socket.request.headers["authorization"] == "Bearer secret"
        assert player.socket.subprotocol == "rsp.v1.json"
        player.greet()
        for seq in (1, 2, 3):
            player.say("next", envelope(seq))
        complete(player)

    with scripted_sockets(script) as server:
        results = follow(server.url)
    assert [result.rows for result in results] == [[{"n": 1}], [{"n": 2}], [{"n": 3}]]


def test_a_cut_cable_and_a_closed_door_are_resumed_without_gap_or_double(follow: Run) -> None:
    def script(player: Player, seen: ScriptedSockets) -> None:
        asked = player.greet()
        seen.asked.append(asked)
        first = int(asked.get("after", "a1:0").removeprefix("a1:")) + 1
        for seq in range(first, 2 * player.number + 1):
            player.say("next", envelope(seq))
        if player.number == 1:
            # A cable that is cut may take with it what was sent last.
            player.hang_up()
        elif player.number == 2:
            player.socket.close(1012, "restarts")
        else:
            complete(player)

    with scripted_sockets(script) as server:
        results = follow(server.url, from_="earliest")
    assert seqs(results) == [1, 2, 3, 4, 5, 6]
    assert server.asked[0]["from"] == "earliest"
    assert server.asked[2]["after"] == "a1:4"


def test_leaving_the_loop_closes_the_socket(follow: Run) -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        for seq in (1, 2):
            player.say("next", envelope(seq))
        player.socket.recv(10)

    with scripted_sockets(script) as server:
        assert seqs(follow(server.url, take=1)) == [1]
        assert server.closed.acquire(timeout=5)


def test_a_subscription_that_is_dropped_inside_a_program_closes_its_socket() -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        player.say("next", envelope(1))
        player.socket.recv(10)

    with scripted_sockets(script) as server, Client(server.url) as client:
        assert next(client.subscribe("q")).seq == 1
        gc.collect()
        assert server.closed.acquire(timeout=5)


async def test_an_async_subscription_that_is_dropped_closes_its_socket_while_the_client_goes_on() -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        player.say("next", envelope(1))
        player.socket.recv(10)

    with scripted_sockets(script) as server:
        async with AsyncClient(server.url) as client:
            assert (await anext(client.subscribe("q"))).seq == 1
            gc.collect()
            assert await asyncio.to_thread(server.closed.acquire, timeout=5)


async def test_leaving_an_async_loop_closes_the_socket_while_the_client_goes_on() -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        player.say("next", envelope(1))
        player.socket.recv(10)

    with scripted_sockets(script) as server:
        async with AsyncClient(server.url) as client:
            async for result in client.subscribe("q"):
                assert result.seq == 1
                break
            assert await asyncio.to_thread(server.closed.acquire, timeout=5)


def test_a_subscription_stands_when_the_call_returns() -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet(start_seq=8)
        player.socket.recv(10)

    with scripted_sockets(script) as server, Client(server.url) as client:
        results = client.subscribe("q")
        # Only the server's confirmation says where `latest` is.
        assert (results.token, results.variables) == ("a1:7", ("n",))


async def test_an_async_subscription_stands_when_it_is_entered() -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet(start_seq=8)
        player.socket.recv(10)

    with scripted_sockets(script) as server:
        async with AsyncClient(server.url) as client, client.subscribe("q") as results:
            assert results.token == "a1:7"


def test_closing_from_another_thread_ends_the_loop() -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        player.say("next", envelope(1))
        player.socket.recv(10)

    with scripted_sockets(script) as server, Client(server.url) as client:
        results = client.subscribe("q")
        assert next(results).seq == 1
        closing = threading.Thread(target=results.close)
        closing.start()
        assert list(results) == []
        closing.join()


def test_credit_goes_back_as_results_are_taken(follow: Run) -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        assert player.greet()["credit"] == 2
        for seq in range(1, 7):
            player.say("next", envelope(seq))
            assert player.hear("credit") == {"n": 1}
        complete(player)

    with scripted_sockets(script) as server:
        assert seqs(follow(server.url, credit=2)) == [1, 2, 3, 4, 5, 6]


def test_a_gap_is_raised_and_the_socket_closed(follow: Run) -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        player.say("gap", {"fromSeq": 1, "toSeq": 9, "reason": "overflow", "incarnation": "a1"})
        player.socket.recv(10)

    with scripted_sockets(script) as server:
        with pytest.raises(GapError, match="results 1 to 9"):
            follow(server.url)
        assert server.closed.acquire(timeout=5)


def test_an_unknown_query_is_told_at_once(follow: Run) -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.hear("connection_init")
        player.say("connection_ack", {"heartbeat": 20_000})
        player.hear("subscribe")
        player.say("error", {"type": "urn:whorl:problem:unknown-query", "status": 404, "detail": "no 'q'"})
        player.socket.recv(10)

    with scripted_sockets(script) as server, pytest.raises(UnknownQueryError, match="no 'q'"):
        follow(server.url)


def test_a_refused_token_is_told_at_once(follow: Run) -> None:
    with (
        scripted_sockets(lambda player, _: player.socket.close(4401, "who?")) as server,
        pytest.raises(AuthenticationError, match="WHORL_TOKEN"),
    ):
        follow(server.url)


def test_a_handshake_that_is_refused_is_a_problem(follow: Run) -> None:
    refused: HttpAnswer = (401, {}, {"type": "urn:whorl:problem:unauthenticated", "status": 401, "detail": "no token"})
    with scripted_http(refused) as server, pytest.raises(AuthenticationError, match="no token"):
        follow(server.url)


def test_no_result_in_time_raises(follow: Run) -> None:
    def script(player: Player, _: ScriptedSockets) -> None:
        player.greet()
        player.socket.recv(10)

    with scripted_sockets(script) as server, pytest.raises(AnswerTimeoutError):
        follow(server.url, timeout_s=0.05)


# --- requests ---------------------------------------------------------------------------------------------------------


@contextmanager
def nobody() -> Any:
    """An address without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_server_that_is_not_there_is_told_soon(call: Run) -> None:
    with nobody() as url, pytest.raises(ConnectionFailedError, match="no connection to http://127"):
        call(url, lambda client: client.status(), patience_s=0.2)


def test_a_subscription_to_nobody_is_told_soon(follow: Run) -> None:
    with nobody() as url, pytest.raises(ConnectionFailedError, match="no connection to http://127"):
        follow(url)


def test_an_event_is_sent_with_its_time(call: Run) -> None:
    accepted: HttpAnswer = (202, {}, {"accepted": 1, "late": 0, "duplicates": 0, "offset": 3, "watermark": 1000})
    with scripted_http(accepted) as server:
        ack = call(server.url, lambda client: client.stream("http://s").send("<a:s> <a:p> 1 .", t=1000))
    assert (ack.accepted, ack.offset) == (1, 3)
    [(method, path, headers, body)] = server.requests
    assert (method, path, body) == ("POST", "/streams/http%3A%2F%2Fs?t=1000", b"<a:s> <a:p> 1 .")
    assert (headers["content-type"], headers["authorization"]) == ("text/turtle", "Bearer secret")


def test_a_producer_sends_a_batch_again_when_its_answer_is_lost_or_the_server_is_busy(call: Run) -> None:
    busy = (429, {"retry-after": "0"}, {"type": "urn:whorl:problem:overloaded", "status": 429, "detail": "busy"})
    taken: HttpAnswer = (200, {}, {"accepted": 0, "duplicates": 1})

    def publish(client: Any) -> Any:
        publisher = client.publisher("http://s", "p", epoch=7)
        sent = publisher.send("<a:s> <a:p> 1 .", 1)

        async def finish() -> Any:
            await sent
            return await publisher.flush()

        return finish() if inspect.isawaitable(sent) else publisher.flush()

    with scripted_http((200, {}, {}), None, busy, taken) as server:

        def use(client: Any) -> Any:
            status = client.status()

            async def both() -> Any:
                await status
                return await publish(client)

            return both() if inspect.isawaitable(status) else publish(client)

        ack = call(server.url, use)
    assert ack.duplicates == 1
    places = [headers["rsp-producer"] for _, _, headers, _ in server.requests[1:]]
    assert places == ["p;7;0"] * 3
    assert len({body for *_, body in server.requests[1:]}) == 1


def test_a_wrong_query_says_where(call: Run) -> None:
    wrong = {"type": "urn:whorl:problem:query-syntax", "status": 400, "detail": "no", "line": 1, "column": 3}
    with scripted_http((400, {}, wrong)) as server, pytest.raises(QuerySyntaxError) as caught:
        call(server.url, lambda client: client.register("SELEKT", name="q"))
    assert (caught.value.line, caught.value.column) == (1, 3)


def test_a_server_that_says_nothing_is_given_up_in_time(call: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AnswerTimeoutError):
            call(url, lambda client: client.stream("http://s").send("", t=1), timeout_s=0.1)


ROWS = {"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": "x"}}]}}
SELECTED = (200, {"content-type": "application/sparql-results+json"}, ROWS)
NOTHING: HttpAnswer = (204, {}, b"")
WHY: dict[str, str] = {"state": "no-events", "summary": "empty", "advice": "push"}
PLAN: HttpAnswer = (200, {}, {"root": {"operator": "leaf"}})
QUERY = {"id": "q", "body": "SELECT", "dialect": "RSP-QL", "status": "running", "watermark": 5, "lastSeq": 4}


@pytest.mark.parametrize(
    ("use", "answer", "request_line", "expected"),
    [
        (lambda c: c.sparql("SELECT"), SELECTED, "POST /sparql", lambda found: found.rows == [{"n": "x"}]),
        (lambda c: c.query("q").answer(), SELECTED, "GET /queries/q/results", lambda found: len(found) == 1),
        (lambda c: c.update("INSERT"), NOTHING, "POST /sparql", None),
        (lambda c: c.graphs.get(), (200, {}, b"x"), "GET /graphs?default=", lambda found: found == "x"),
        (lambda c: c.graphs.put("", "http://g"), NOTHING, "PUT /graphs?graph=http%3A%2F%2Fg", None),
        (lambda c: c.graphs.post(""), NOTHING, "POST /graphs?default=", None),
        (lambda c: c.graphs.delete(), NOTHING, "DELETE /graphs?default=", None),
        (lambda c: c.streams.create("s:s"), (201, {}, {}), "PUT /streams/s%3As", lambda found: found.iri == "s:s"),
        (lambda c: c.streams.list(), (200, {}, {"streams": []}), "GET /streams", lambda found: found == []),
        (lambda c: c.streams.get("s:s"), (200, {}, {"status": "open"}), "GET /streams/s%3As", None),
        (lambda c: c.streams.delete("s:s", cascade=True), NOTHING, "DELETE /streams/s%3As?cascade=true", None),
        (lambda c: c.stream("s:s").info(), (200, {}, {}), "GET /streams/s%3As", None),
        (lambda c: c.stream("s:s").watermark(5), (200, {}, {"watermark": 5}), "POST /streams/s%3As/watermark", None),
        (lambda c: c.stream("s:s").close(), (200, {}, {}), "POST /streams/s%3As/close", None),
        (lambda c: c.stream("s:s").mapping("CONSTRUCT"), (201, {}, {}), "PUT /streams/s%3As/mapping", None),
        (lambda c: c.stream("s:s").delete(), NOTHING, "DELETE /streams/s%3As", None),
        (lambda c: c.queries.validate("S"), (200, {}, {"variables": ["?a"]}), "POST /queries/validate", None),
        (lambda c: c.queries.list(), (200, {}, {"queries": [QUERY]}), "GET /queries", lambda found: len(found) == 1),
        (lambda c: c.query("q").info(), (200, {}, QUERY), "GET /queries/q", lambda found: found.name == "q"),
        (lambda c: c.query("q").explain(), PLAN, "GET /queries/q/plan", lambda found: str(found) == "leaf"),
        (lambda c: c.query("q").why(), (200, {}, WHY), "GET /queries/q/why", lambda found: str(found) == "empty\npush"),
        (lambda c: c.query("q").pause(), (200, {}, QUERY), "POST /queries/q", None),
        (lambda c: c.query("q").restart(), (200, {}, QUERY), "POST /queries/q", None),
        (lambda c: c.query("q").delete(), NOTHING, "DELETE /queries/q", None),
    ],
)  # fmt: skip
def test_every_call_goes_where_the_protocol_says(
    call: Run, use: Callable[[Any], Any], answer: Any, request_line: str, expected: Callable[[Any], bool] | None
) -> None:
    with scripted_http(answer) as server:
        found = call(server.url, use)
    [(method, path, _, _)] = server.requests
    assert f"{method} {path}" == request_line
    assert expected is None or expected(found)
