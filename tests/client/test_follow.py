"""A query that belongs to a subscription: it starts and ends with it, and restarts after a lost connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from server_process import ServerProcess
from whorl_client import Client, Gap, QueryError, Result

Start = Callable[..., ServerProcess]
STREAM = "http://ex/s"
TEXT = """PREFIX : <http://ex/>
SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?a :p ?b } }
"""


def send(client: Client, *seconds: int) -> None:
    for second in seconds:
        client.stream(STREAM).send("<http://ex/a> <http://ex/p> 1 .", t=second * 1_000)


def test_a_followed_query_ends_with_its_subscription(start_server: Start) -> None:
    server = start_server()
    with Client(server.url, server.token) as client:
        client.streams.create(STREAM)
        with client.follow(TEXT, {"semantics": "bag"}) as results:
            assert results.variables == ("n",)
            (query,) = client.queries.list()
            assert query.warnings == ()
            send(client, 1, 2, 11)
            assert next(results).rows == [{"n": 2}]
        while client.queries.list():
            pass


def test_a_wrong_text_is_told_with_its_place(start_server: Start) -> None:
    server = start_server()
    with Client(server.url, server.token) as client, pytest.raises(QueryError) as told:
        client.follow("SELECT ?a WHER { }")
    assert (told.value.line, told.value.column) == (1, 11)


def test_a_lost_connection_is_a_gap_and_a_new_beginning(start_server: Start) -> None:
    server = start_server()
    with Client(server.url, server.token) as client:
        client.streams.create(STREAM)
        results = client.follow(TEXT, on_gap="yield")
        send(client, 1, 11)
        first = next(results)
        assert isinstance(first, Result)
        assert first.t == 10_000
        server.kill()
        port = int(server.url.rpartition(":")[2])
        server.settings["port"] = port
        server.start()
        while not client.queries.list():
            item = next(results)
            assert isinstance(item, Gap)
            assert "restarted" in item.reason
        send(client, 21, 31)
        assert isinstance(second := next(results), Result)
        assert second.incarnation != first.incarnation
        results.close()
