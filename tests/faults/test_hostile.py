"""Hostile queries and documents, in every format and over every interface, beside a client that must not be affected.

After each attack the server answers, none of its answers is a fault of its own, and memory and the processor time of
the engine's thread are bounded; at the end a canary, a producer and a query of another user, has lost nothing, and
the memory is back. How long the canary waited is printed, not asserted: it is a figure of docs/reliability.md. The
short form takes a sample of the attacks, the long one all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from canary import Canary
from hostile_documents import ARROW, NDJSON, Document, documents
from hostile_queries import STREAM, queries, updates
from measure import Meter
from server_process import ServerProcess
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

# At any moment of an attack, and at the end beyond the beginning.
_QUERY_MIB_MAX = 64
_DOCUMENT_MIB_MAX = 64
# Of the engine's thread, for one attack: four times what a release may need, because this may be a development build.
_ENGINE_S_MAX = 4.0
_EVENTS = 300
_FORMATS = {
    "text/turtle": "turtle",
    "application/n-triples": "ntriples",
    "application/n-quads": "nquads",
    "application/trig": "trig",
    "application/ld+json": "jsonld",
    NDJSON: "ndjson",
}
_STAGED = {"application/n-quads", ARROW, NDJSON}
SAMPLES = [23, pytest.param(1, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]


def rows(first: int) -> str:
    """Events that hostile queries meet: numbers, links in a circle, long names."""
    name = "a" * 40
    links = (
        (n, f"<http://ex.org/p> {n} ; <http://ex.org/q> <urn:{name}{n + 1}>") for n in range(first, first + _EVENTS)
    )
    return "\n".join(json.dumps({"t": n, "data": f"<urn:{name}{n}> {rest} ."}) for n, rest in links)


def push_rows(client: httpx.Client, first: int) -> None:
    answer = client.post(f"/streams/{STREAM}", content=rows(first), headers={"Content-Type": NDJSON})
    assert answer.status_code == 202, answer.text


def asked(answer: httpx.Response) -> None:
    """Check that a response is not a server error, and that a refusal is a problem document."""
    assert answer.status_code < 500, (answer.request.url, answer.text[:500])
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", answer.text[:500]


def told(server: ServerProcess, message: dict[str, Any]) -> None:
    """Send messages over a socket, and wait for the outcome."""
    url = server.url.replace("http", "ws", 1) + "/ws"
    with connect(url, subprotocols=[Subprotocol("rsp.v1.json")], compression=None, proxy=None, max_size=None) as socket:
        socket.send(json.dumps({"type": "connection_init", "payload": {"token": server.token}}))
        assert heard(socket) == "connection_ack"
        socket.send(json.dumps(message))
        assert heard(socket) in {"subscribed", "published", "error", "closed: 1009", "closed: 4400"}


def heard(socket: ClientConnection) -> str:
    """The type of the next message; a message that is too large or not of the protocol ends the connection."""
    try:
        return str(json.loads(socket.recv(timeout=60))["type"])
    except ConnectionClosed as closed:
        return f"closed: {closed.rcvd.code if closed.rcvd else None}"


class Attack:
    """Ways in, each of which takes one query or document."""

    def __init__(self, server: ServerProcess, client: httpx.Client) -> None:
        self.server = server
        self.client = client
        self._first = 0

    def register(self, text: str) -> None:
        """Register a query, let it see some events, and delete it."""
        asked(self.client.put("/queries/hostile", json={"query": text}))
        push_rows(self.client, self._first)
        self._first += 10_000
        asked(self.client.get("/queries/hostile/results"))
        asked(self.client.delete("/queries/hostile"))

    def validate(self, text: str) -> None:
        asked(self.client.post("/queries/validate", content=text.encode("utf-8", "replace")))

    def ask(self, text: str) -> None:
        asked(self.client.post("/sparql", data={"query": text}))

    def subscribe(self, text: str) -> None:
        told(self.server, {"type": "subscribe", "id": "1", "payload": {"rspql": text or " ", "credit": 1}})

    def update(self, text: str) -> None:
        asked(self.client.post("/sparql", data={"update": text}))

    def push(self, document: Document) -> None:
        parameters = {} if document.media_type in {NDJSON, ARROW} else {"t": "1"}
        asked(self.client.post("/streams/http://ex.org/d", params=parameters, **self._body(document)))

    def put_graph(self, document: Document) -> None:
        asked(self.client.put("/graphs", params={"graph": "http://ex.org/g"}, **self._body(document)))
        asked(self.client.delete("/graphs", params={"graph": "http://ex.org/g"}))

    def publish(self, document: Document) -> None:
        if document.media_type in _FORMATS and len(document.body) < 900_000 and not document.is_zipped:
            text = document.body.decode("utf-8", "replace")
            payload = {"stream": "http://ex.org/d", "events": text, "format": _FORMATS[document.media_type], "t": 1}
            told(self.server, {"type": "publish", "id": "1", "payload": payload})

    def stage(self, document: Document) -> None:
        if document.media_type not in _STAGED or document.is_zipped:
            return
        answer = self.client.post("/streams/http://ex.org/d/stages", **self._body(document))
        asked(answer)
        if answer.status_code == 201:
            wanted = {"producer": f"p{self._first}", "batch": 1, "tokens": [answer.json()["token"]]}
            self._first += 1
            asked(self.client.post("/streams/http://ex.org/d/commits", json=wanted))

    def _body(self, document: Document) -> dict[str, Any]:
        headers = {"Content-Type": document.media_type}
        if document.is_zipped:
            headers["Content-Encoding"] = "gzip"
        return {"content": document.body, "headers": headers}


@pytest.fixture
def attacked(start_server: Callable[..., ServerProcess]) -> Iterator[tuple[Attack, Meter, Canary]]:
    server = start_server(registrations_per_minute=1_000_000)
    with server.client() as client:
        client.timeout = httpx.Timeout(120)
        for iri in (STREAM, "http://ex.org/d"):
            client.put(f"/streams/{iri}").raise_for_status()
        turtle = "".join(f"<urn:s{n}> <http://ex.org/p> {n} ; <http://ex.org/q> <urn:s{n + 1}> ." for n in range(3000))
        headers = {"Content-Type": "text/turtle"}
        client.put("/graphs", params={"default": ""}, content=turtle, headers=headers).raise_for_status()
        canary = Canary(server)
        meter = Meter(server)
        yield Attack(server, client), meter, canary
    assert "Traceback" not in server.log
    assert server.process is not None
    assert server.process.poll() is None


def judge(meter: Meter, canary: Canary, mib_max: int) -> None:
    found = canary.finish()
    print(meter.report())  # noqa: T201 - the figures belong into the report
    print(found)  # noqa: T201 - as above
    costly = [cost for cost in meter.costs if cost.peak_mib > mib_max or cost.engine_s > _ENGINE_S_MAX]
    assert costly == []
    assert sum(cost.left_mib for cost in meter.costs) < mib_max


@pytest.mark.parametrize("every", SAMPLES)
def test_nobody_notices_hostile_queries(attacked: tuple[Attack, Meter, Canary], every: int) -> None:
    attack, meter, canary = attacked
    ways = {"register": attack.register, "validate": attack.validate, "ask": attack.ask, "subscribe": attack.subscribe}
    attempts = [(way, name, text) for name, text in queries().items() for way in ways]
    for way, name, text in attempts[::every]:
        meter.begin()
        ways[way](text)
        meter.end(f"{way}: {name}")
    for name, text in list(updates().items())[:: min(every, 3)]:
        meter.begin()
        attack.update(text)
        meter.end(f"update: {name}")
    judge(meter, canary, _QUERY_MIB_MAX)


@pytest.mark.parametrize("every", SAMPLES)
def test_nobody_notices_hostile_documents(attacked: tuple[Attack, Meter, Canary], every: int) -> None:
    attack, meter, canary = attacked
    ways = {"push": attack.push, "publish": attack.publish, "graph": attack.put_graph, "stage": attack.stage}
    attempts = [(way, document) for document in documents() for way in ways]
    for way, document in attempts[::every]:
        meter.begin()
        ways[way](document)
        meter.end(f"{way}: {document.name}")
    judge(meter, canary, _DOCUMENT_MIB_MAX)
