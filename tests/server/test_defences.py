"""Defences of SECURITY.md that no other test is about: what a text may become, a query may do, a connection tells."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import httpx
import pyarrow as pa
import pytest
from measure import Meter
from server_process import ServerProcess
from websockets.sync.client import connect
from websockets.typing import Subprotocol
from whorl.server.runtime import commands as c
from whorl.server.runtime import core as core_module

TURTLE = {"Content-Type": "text/turtle"}
LONG = "http://ex.org/" + "n" * 30_000 + "/"
NAMES = "x:a x:b x:c . " * 1_000


def test_a_query_with_a_time_of_its_own_spoils_no_stream(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    stream = "/streams/http://ex.org/s"
    text = (
        "PREFIX : <http://ex.org/> SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s @ :p] "
        "WHERE { WINDOW :w { ?s :p ?o } }"
    )

    def push(client: httpx.Client, at: int) -> None:
        body = "<urn:a> <http://ex.org/p> 'no time' ."
        answer = client.post(stream, params={"t": at}, content=body, headers=TURTLE)
        assert (answer.status_code, answer.json()["accepted"]) == (202, 1), answer.text

    with server.client() as client:
        client.put(stream).raise_for_status()
        client.put("/queries/timed", json={"query": text}).raise_for_status()
        push(client, 1000)
        assert "failure" not in client.get("/queries/timed").raise_for_status().json()
        client.delete("/queries/timed").raise_for_status()
        push(client, 2000)
    server.kill()
    server.start()
    with server.client() as client:
        push(client, 3000)
        assert client.get(stream).json()["events"] == 3


@pytest.mark.parametrize("path", ["/", "/healthz", "/queries", "/nowhere"])
def test_no_response_names_the_software(client: httpx.Client, path: str) -> None:
    assert "server" not in client.get(path).headers


def test_sockets_are_not_compressed(server: ServerProcess) -> None:
    """A client that offers compression does not get it: a small frame could unfold to a large message."""
    url = server.url.replace("http", "ws", 1) + "/ws"
    with connect(url, subprotocols=[Subprotocol("rsp.v1.json")], compression="deflate", proxy=None) as socket:
        assert socket.request is not None
        assert "permessage-deflate" in socket.request.headers["Sec-WebSocket-Extensions"]
        assert socket.response is not None
        assert "Sec-WebSocket-Extensions" not in socket.response.headers


@pytest.mark.parametrize("way", ["push", "graph"])
def test_names_of_json_ld_are_not_written_out_before_they_are_refused(
    start_server: Callable[..., ServerProcess], way: str
) -> None:
    server = start_server()
    nodes = [{"@id": f"{n}", "urn:p": 1} for n in range(9000)]
    document = {"@context": {"@base": f"urn:{'y' * 9000}/"}, "@graph": nodes}
    with server.client(headers={"Content-Type": "application/ld+json"}) as client:
        client.put("/streams/http://ex.org/s").raise_for_status()
        meter = Meter(server)
        meter.begin()
        answer = {
            "push": lambda: client.post("/streams/http://ex.org/s", params={"t": 1}, content=json.dumps(document)),
            "graph": lambda: client.put("/graphs", params={"graph": "urn:g"}, content=json.dumps(document)),
        }[way]()
        meter.end(way)
    assert (answer.status_code, answer.json()["code"]) == (400, "limit.unfolding")
    # 81 MB of names, which took 138 MiB.
    assert meter.costs[0].peak_mib < 32


def test_producers_that_are_ever_new_do_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "_PRODUCERS_MAX", 10)
    core = core_module.Core({})
    core.apply(c.DeclareStream(LONG[:20], c.StreamOptions()))

    def push(producer: str, seq: int, at: int) -> int:
        place = c.Producer(producer, 0, seq)
        reply = core.apply(c.Push(LONG[:20], b"<urn:a> <urn:p> 1 .", "turtle", at, producer=place))
        assert reply is not None
        return int(reply["duplicates"])

    for n in range(100):
        push(f"p{n}", 0, n)
        # One that is active is not forgotten.
        push("steady", n, n)
    assert len(core.producers) == 10
    assert push("steady", 99, 100) == 1
    restored = core_module.Core.restored(core.snapshot(), {})
    assert list(restored.producers) == list(core.producers)


@pytest.mark.parametrize("way", ["push", "graph", "query", "question", "update"])
def test_a_small_text_that_unfolds_to_much_is_refused(client: httpx.Client, stream: str, way: str) -> None:
    windows = f"FROM NAMED WINDOW <urn:w> ON <{stream.removeprefix('/streams/')}> [RANGE 1s]"
    prefix = f"PREFIX x: <{LONG}> "
    answer = {
        "push": lambda: client.post(stream, params={"t": 1}, content=prefix + NAMES, headers=TURTLE),
        "graph": lambda: client.put("/graphs", params={"graph": LONG[:30]}, content=prefix + NAMES, headers=TURTLE),
        "query": lambda: client.put(
            "/queries/unfolds", json={"query": f"{prefix} SELECT * {windows} WHERE {{ WINDOW <urn:w> {{ {NAMES} }} }}"}
        ),
        "question": lambda: client.post("/sparql", data={"query": f"{prefix} SELECT * WHERE {{ {NAMES} }}"}),
        "update": lambda: client.post("/sparql", data={"update": f"{prefix} INSERT DATA {{ {NAMES} }}"}),
    }[way]()
    assert answer.status_code == 400, answer.text[:500]
    assert answer.json()["code"] == "limit.unfolding"
    assert client.get(stream).json()["events"] == 0


def test_a_mapping_cannot_multiply_its_rows_without_end(client: httpx.Client, stream: str) -> None:
    doublings = "".join(f"BIND(CONCAT(?x{n}, ?x{n}) AS ?x{n + 1}) " for n in range(12))
    text = f"CONSTRUCT {{ <urn:a> <urn:p> ?x12 }} WHERE {{ BIND(STR(?v) AS ?x0) {doublings} }}"
    headers = {"Content-Type": "application/sparql-query"}
    client.put(f"{stream}/mapping", content=text, headers=headers).raise_for_status()
    sink, rows = io.BytesIO(), pa.table({"t": [1], "v": ["x" * 4000]})
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = client.post(stream, content=sink.getvalue(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "arrow.row"), answer.text
    assert client.get(stream).json()["events"] == 0
