"""The server opens no connection, whatever a query, an update or a document points at.

A listener on the loopback interface counts connections, here and in all other tests: it is also the proxy that every
server of the suite is told to use. Each request names it in another way; each is refused with a problem that says why,
or takes the address as the mere name that it is.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from listener import Listener
from server_process import ServerProcess
from websockets import Subprotocol
from websockets.sync.client import connect

STREAM = "/streams/http://example.org/s"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path_factory.mktemp("data")).start()
    yield started
    started.kill()


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with server.client() as client:
        assert client.put(STREAM).status_code == 201
        yield client


def test_the_listener_would_notice() -> None:
    listener = Listener()
    with socket.create_connection(listener._socket.getsockname()) as caller:
        caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert len(listener.close()) == 1


def check_refused(answer: httpx.Response, slugs: set[str]) -> None:
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    problem = answer.json()
    assert problem["type"].removeprefix("urn:whorl:problem:") in slugs, problem
    assert problem["detail"]


# ---- queries and updates ----

WINDOW = "FROM NAMED WINDOW <urn:w> ON <http://example.org/s> [RANGE 1s STEP 1s]"
QUERIES = [
    "SELECT * {{ SERVICE <{url}/sparql> {{ ?s ?p ?o }} }}",
    "SELECT * {{ SERVICE SILENT <{url}/sparql> {{ ?s ?p ?o }} }}",
    "SELECT * {{ BIND(<{url}/sparql> AS ?there) SERVICE ?there {{ ?s ?p ?o }} }}",
    "ASK {{ FILTER EXISTS {{ SERVICE <{url}/sparql> {{ ?s ?p ?o }} }} }}",
]
UPDATES = [
    "LOAD <{url}/data.ttl>",
    "INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{url}/sparql> {{ ?s ?p ?o }} }}",
    "INSERT DATA {{ <urn:a> <urn:b> 1 }} ; LOAD <{url}/data.ttl>",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_that_would_call_out_is_refused(client: httpx.Client, listener: Listener, query: str) -> None:
    answer = client.post("/sparql", data={"query": query.format(url=listener.url)})
    check_refused(answer, {"unsupported-feature"})


@pytest.mark.parametrize("query", [query for query in QUERIES if query.startswith("SELECT")])
def test_a_continuous_query_that_would_call_out_is_refused(
    client: httpx.Client, listener: Listener, query: str
) -> None:
    body = query.format(url=listener.url).replace("{", "WHERE { WINDOW <urn:w> { ?s ?q ?r } ", 1)
    text = body.replace("SELECT *", f"SELECT * {WINDOW}")
    for path in ("/queries/validate", "/queries"):
        check_refused(client.post(path, json={"query": text}), {"unsupported-feature"})


@pytest.mark.parametrize("update", UPDATES)
def test_an_update_that_would_call_out_is_refused_and_changes_nothing(
    client: httpx.Client, listener: Listener, update: str
) -> None:
    answer = client.post("/sparql", data={"update": update.format(url=listener.url)})
    check_refused(answer, {"unsupported-feature", "update-failed"})
    left = client.post("/sparql", data={"query": "ASK { <urn:a> <urn:b> 1 }"})
    assert left.json()["boolean"] is False


def test_a_silent_load_says_nothing_and_does_nothing(client: httpx.Client, listener: Listener) -> None:
    answer = client.post("/sparql", data={"update": f"LOAD SILENT <{listener.url}/data.ttl> INTO GRAPH <urn:silent>"})
    assert answer.status_code == 204
    assert client.get("/graphs", params={"graph": "urn:silent"}).status_code == 404


@pytest.mark.parametrize("clause", ["FROM", "FROM NAMED"])
def test_a_data_set_is_named_and_never_fetched(client: httpx.Client, listener: Listener, clause: str) -> None:
    where = "{ GRAPH ?g { ?s ?p ?o } }" if clause == "FROM NAMED" else "{ ?s ?p ?o }"
    answer = client.post("/sparql", data={"query": f"SELECT * {clause} <{listener.url}/data.ttl> {where}"})
    assert answer.status_code == 200
    assert answer.json()["results"]["bindings"] == []
    by_protocol = client.post(
        "/sparql", data={"query": "SELECT * { ?s ?p ?o }", "default-graph-uri": f"{listener.url}/data.ttl"}
    )
    assert by_protocol.json()["results"]["bindings"] == []


def test_graphs_and_streams_are_names_of_things_here(client: httpx.Client, listener: Listener) -> None:
    assert client.get("/graphs", params={"graph": f"{listener.url}/data.ttl"}).status_code == 404
    window = f"FROM NAMED WINDOW <urn:w> ON <{listener.url}/stream> [RANGE 1s]"
    continuous = f"SELECT * {window} WHERE {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"
    check_refused(client.post("/queries", json={"query": continuous}), {"unknown-stream"})


# ---- documents ----


def json_ld(url: str) -> list[tuple[str, str]]:
    documents: list[Any] = [
        {"@context": f"{url}/context.jsonld", "@id": "urn:a", "b": 1},
        {"@context": [{"b": "urn:b"}, f"{url}/context.jsonld"], "@id": "urn:a", "b": 1},
        {"@context": {"@version": 1.1, "@import": f"{url}/context.jsonld"}, "@id": "urn:a", "b": 1},
        {"@context": {"b": {"@id": "urn:b", "@context": f"{url}/context.jsonld"}}, "@id": "urn:a", "b": {"c": 1}},
    ]
    return [("application/ld+json", json.dumps(document)) for document in documents]


def xml(url: str) -> list[tuple[str, str]]:
    rdf = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:">'
    body = f'{rdf}<rdf:Description rdf:about="urn:a"><e:b>&x;</e:b></rdf:Description></rdf:RDF>'
    return [
        ("application/rdf+xml", f'<!DOCTYPE r SYSTEM "{url}/r.dtd">{body}'),
        ("application/rdf+xml", f'<!DOCTYPE r [<!ENTITY x SYSTEM "{url}/x">]>{body}'),
        ("application/rdf+xml", f'<!DOCTYPE r [<!ENTITY % x SYSTEM "{url}/x"> %x;]>{body}'),
    ]


REFUSED = {"rdf-syntax", "media-type-not-supported", "event-refused", "unsupported-feature"}


@pytest.mark.parametrize("path", [f"{STREAM}?t=1", "/graphs?graph=urn:g", "/graphs?default"])
def test_a_document_that_points_elsewhere_is_refused(client: httpx.Client, listener: Listener, path: str) -> None:
    for media_type, text in [*json_ld(listener.url), *xml(listener.url)]:
        answer = client.post(path, content=text.encode(), headers={"Content-Type": media_type})
        check_refused(answer, REFUSED)


def test_lines_that_point_elsewhere_are_refused(client: httpx.Client, listener: Listener) -> None:
    for media_type, text in json_ld(listener.url):
        del media_type
        line = json.dumps({"t": 5, "event": json.loads(text)})
        answer = client.post(STREAM, content=line.encode(), headers={"Content-Type": "application/x-ndjson"})
        check_refused(answer, REFUSED)


def test_events_over_a_socket_that_point_elsewhere_are_refused(
    server: ServerProcess, client: httpx.Client, listener: Listener
) -> None:
    del client  # has declared the stream
    url, headers = server.url.replace("http", "ws", 1), {"Authorization": f"Bearer {server.token}"}
    with connect(f"{url}/ws", additional_headers=headers, subprotocols=[Subprotocol("rsp.v1.json")]) as socket_:
        socket_.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket_.recv())["type"] == "connection_ack"
        for number, (_, text) in enumerate(json_ld(listener.url)):
            events = [{"t": 5, "event": json.loads(text)}]
            payload = {"stream": STREAM.removeprefix("/streams/"), "events": events}
            socket_.send(json.dumps({"type": "publish", "id": str(number), "payload": payload}))
            answer = json.loads(socket_.recv())
            assert (answer["type"], answer["id"]) == ("error", str(number)), answer


def test_a_context_named_in_a_header_is_not_fetched(client: httpx.Client, listener: Listener) -> None:
    link = f'<{listener.url}/c.jsonld>; rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"'
    body = b'{"@id": "urn:a", "b": 1, "urn:c": 2}'
    as_json = client.post(f"{STREAM}?t=1", content=body, headers={"Content-Type": "application/json", "Link": link})
    check_refused(as_json, {"media-type-not-supported"})
    headers = {"Content-Type": "application/ld+json", "Link": link}
    as_json_ld = client.put("/graphs?graph=urn:linked", content=body, headers=headers)
    assert as_json_ld.status_code == 201
    # `b` has a meaning only in the context, which is not fetched.
    found = client.get("/graphs?graph=urn:linked", headers={"Accept": "application/n-triples"}).text.split()
    assert found[:2] == ["<urn:a>", "<urn:c>"]
    assert len(found) == 4
    assert listener.calls == []


def test_a_turtle_base_and_imports_are_only_names(client: httpx.Client, listener: Listener) -> None:
    text = f"@base <{listener.url}/> . <a> <http://www.w3.org/2002/07/owl#imports> <other.ttl> ."
    answer = client.put("/graphs?graph=urn:imports", content=text.encode(), headers={"Content-Type": "text/turtle"})
    assert answer.status_code in {201, 204}


def test_the_source_has_no_client_for_the_network() -> None:
    sources = (Path(__file__).parents[2] / "server" / "whorl").glob("**/*.py")
    # The command line, jobs on Spark and the health check of the image are other processes; the server sends none.
    server = [path for path in sources if not {"cli", "spark", "probe.py"} & set(path.parts)]
    forbidden = ("import httpx", "import requests", "urllib.request", "http.client", "create_connection", "aiohttp")
    assert [(path.name, word) for path in server for word in forbidden if word in path.read_text()] == []
