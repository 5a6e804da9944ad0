"""`PUT /queries/{name}?replace=true` is one command: the new query runs, or the old one still does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from registering import IRI, RSPQL, STREAM, relay, session, slug, text_over
from server_process import ServerProcess
from websockets.sync.client import ClientConnection
from whorl.server.runtime import commands as c
from whorl.server.runtime.core import Core


def put(client: httpx.Client, name: str, text: str, **params: str) -> httpx.Response:
    return client.put(f"/queries/{name}", content=text, headers=RSPQL, params=params)


def push(client: httpx.Client, stream: str, t: int, subject: str) -> None:
    body = f"<http://ex.org/{subject}> <http://ex.org/p> {t} ."
    assert client.post(stream, content=body, params={"t": t}, headers={"Content-Type": "text/turtle"}).is_success


def advance(client: httpx.Client, stream: str, t: int) -> None:
    assert client.post(f"{stream}/watermark", json={"t": t}).status_code == 200


def hear(socket: ClientConnection, *kinds: str) -> dict[str, Any]:
    """The next message of one of these kinds."""
    while (message := json.loads(socket.recv(30)))["type"] not in kinds:
        assert message["type"] in {"subscribed", "progress", "ping"}
    found: dict[str, Any] = message
    return found


def test_a_replaced_query_has_a_new_text_and_a_new_incarnation(client: httpx.Client, stream: str) -> None:
    iri = stream.removeprefix("/streams/")
    first = put(client, "replaced", text_over(iri), replace="true")
    assert first.status_code == 201
    again = put(client, "replaced", text_over(iri), replace="true")
    assert (again.status_code, again.json()["incarnation"]) == (200, first.json()["incarnation"])
    refused = put(client, "replaced", text_over(iri).replace("?p", "?x"))
    assert (refused.status_code, slug(refused.json())) == (409, "query-exists-differently")
    other = put(client, "replaced", text_over(iri).replace("?p", "?x"), replace="true")
    assert (other.status_code, other.json()["status"]) == (200, "running")
    assert other.json()["incarnation"] != first.json()["incarnation"]
    assert client.get("/queries/replaced").json()["body"].count("?x") == 1
    assert client.get(stream).json()["queries"] == ["replaced"]


def test_subscribers_continue_after_a_gap(server: ServerProcess, client: httpx.Client, stream: str) -> None:
    iri = stream.removeprefix("/streams/")
    put(client, "gap", text_over(iri))
    with session(server) as socket:
        socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": "gap", "credit": 10}}))
        assert hear(socket, "subscribed")["payload"]["vars"] == ["s"]
        push(client, stream, 1000, "a")
        advance(client, stream, 10_001)
        assert hear(socket, "next")["payload"]["seq"] == 1
        found = put(client, "gap", text_over(iri).replace("SELECT ?s", "SELECT ?s ?o"), replace="true").json()
        gap = hear(socket, "gap", "complete")
        assert gap["payload"] == {
            "fromSeq": 2,
            "toSeq": None,
            "reason": "replaced",
            "incarnation": found["incarnation"],
            "vars": ["s", "o"],
        }
        push(client, stream, 11_000, "b")
        advance(client, stream, 20_001)
        result = hear(socket, "next")["payload"]
        assert (result["seq"], result["incarnation"]) == (1, found["incarnation"])
        # The new query begins with empty windows.
        assert [row["s"]["value"] for row in result["results"]["results"]["bindings"]] == ["http://ex.org/b"]


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("SELECT ?s WHER {}", 400, "parse.unexpected_token"),
        (text_over("http://ex.org/not-declared"), 422, None),
        (text_over(IRI).replace("SELECT ?s", "SELECT ?s (COUNT(*) AS ?n)"), 400, "select.not_grouped"),
        (" ", 400, None),
    ],
    ids=["syntax", "stream", "plan", "empty"],
)
def test_a_refused_replacement_leaves_the_old_query_running(
    client: httpx.Client, stream: str, text: str, status: int, code: str | None
) -> None:
    iri = stream.removeprefix("/streams/")
    name = f"kept-{status}-{len(text)}"
    old = put(client, name, text_over(iri)).json()
    push(client, stream, 1000, "a")
    refused = put(client, name, text.replace(IRI + ">", iri + ">"), replace="true")
    assert (refused.status_code, refused.json().get("code")) == (status, code)
    assert client.get(f"/queries/{name}").json()["incarnation"] == old["incarnation"]
    # Not only the text is there, but also what was in its windows.
    advance(client, stream, 10_001)
    found = client.get(f"/queries/{name}/results", params={"from": "earliest"}).json()
    assert "http://ex.org/a" in json.dumps(found)


def test_a_query_may_keep_its_output(client: httpx.Client, stream: str) -> None:
    iri, output = stream.removeprefix("/streams/"), "http://ex.org/replace/kept-output"
    assert put(client, "writer", relay(output, iri)).status_code == 201
    other = relay(output, iri).replace("RANGE 10s", "RANGE 20s")
    found = put(client, "writer", other, replace="true")
    assert (found.status_code, found.json()["output"]) == (200, output)
    # A mistake behind the check of the output leaves the old one running, too.
    mistaken = relay(output, "http://ex.org/not-declared")
    assert put(client, "writer", mistaken, replace="true").status_code == 422
    assert client.get("/queries/writer").json()["incarnation"] == found.json()["incarnation"]
    assert put(client, "reader", text_over(output)).status_code == 201
    assert client.delete("/queries/reader").status_code == 204


def test_a_query_whose_output_others_read_is_not_replaced(client: httpx.Client, stream: str) -> None:
    iri, output = stream.removeprefix("/streams/"), "http://ex.org/replace/read-output"
    old = put(client, "upstream", relay(output, iri)).json()
    assert put(client, "downstream", text_over(output)).status_code == 201
    refused = put(client, "upstream", text_over(iri), replace="true")
    assert (refused.status_code, slug(refused.json())) == (409, "output-in-use")
    assert client.get("/queries/upstream").json()["incarnation"] == old["incarnation"]


def test_a_query_cannot_read_the_output_of_the_one_that_it_replaces(client: httpx.Client, stream: str) -> None:
    iri, output = stream.removeprefix("/streams/"), "http://ex.org/replace/own-output"
    assert put(client, "own", relay(output, iri)).status_code == 201
    refused = put(client, "own", text_over(output), replace="true")
    assert (refused.status_code, slug(refused.json())) == (422, "unknown-stream")
    assert client.get("/queries/own").json()["output"] == output


def test_only_the_owner_replaces_a_query_and_an_admin_leaves_it_to_the_owner(
    server: ServerProcess, client: httpx.Client, stream: str, make_token: Callable[[str], str]
) -> None:
    iri = stream.removeprefix("/streams/")
    with server.client(make_token("writer")) as owner, server.client(make_token("stranger")) as stranger:
        assert put(owner, "owned", text_over(iri)).status_code == 201
        refused = put(stranger, "owned", text_over(iri).replace("?p", "?x"), replace="true")
        assert (refused.status_code, slug(refused.json())) == (403, "forbidden")
        assert put(client, "owned", text_over(iri).replace("?p", "?x"), replace="true").status_code == 200
        assert owner.delete("/queries/owned").status_code == 204


def test_a_replacement_needs_no_room_and_one_registration(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", {"queries_max": 1, "registrations_per_minute": 3}).start()
    try:
        with server.client() as client:
            assert client.put(STREAM).status_code == 201
            assert put(client, "q", text_over(IRI)).status_code == 201
            for variable in ("?x", "?y"):
                text = text_over(IRI).replace("?p", variable)
                assert put(client, "q", text, replace="true").status_code == 200
            refused = put(client, "q", text_over(IRI), replace="true")
            assert (refused.status_code, slug(refused.json())) == (429, "too-many-registrations")
            assert "?y" in client.get("/queries/q").json()["body"]
    finally:
        server.kill()


def test_a_replacement_survives_a_crash(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data").start()
    try:
        with server.client() as client:
            assert client.put(STREAM).status_code == 201
            put(client, "q", text_over(IRI))
            push(client, STREAM, 1000, "before")
            found = put(client, "q", text_over(IRI).replace("?p", "?x"), replace="true").json()
            push(client, STREAM, 2000, "after")
            server.kill()
        with server.start().client() as client:
            assert client.get("/queries/q").json()["incarnation"] == found["incarnation"]
            advance(client, STREAM, 10_001)
            results = json.dumps(client.get("/queries/q/results", params={"from": "earliest"}).json())
            assert "ex.org/after" in results
            assert "ex.org/before" not in results
    finally:
        server.kill()


@pytest.mark.parametrize("status", ["paused", "running"])
def test_a_replacement_is_applied_alike_from_its_record(status: str) -> None:
    """What the log holds gives the same state again; a paused query runs when it is replaced."""
    commands: list[c.Command] = [
        c.DeclareStream(IRI, c.StreamOptions()),
        c.Register("q", text_over(IRI), {}, "a1", "me"),
        *([c.Pause("q")] if status == "paused" else []),
        c.Replace("q", text_over(IRI).replace("?p", "?x"), {}, "a2", "somebody else"),
    ]
    core, replayed = Core({"hash_seed": 7}), Core({"hash_seed": 7})
    for command in commands:
        core.apply(command)
        replayed.apply(c.command_of(*command.record()))
    assert replayed.snapshot() == core.snapshot()
    entry = core.query("q")
    assert (entry.status, entry.owner, entry.incarnation) == ("running", "me", "a2")
    assert [number for number, _, _ in core.engine.queries()] == [entry.number]


# ---- reopening ----


def test_reopening_a_stream_restarts_no_query_of_somebody_else(
    server: ServerProcess, client: httpx.Client, stream: str, make_token: Callable[[str], str]
) -> None:
    iri = stream.removeprefix("/streams/")
    admin_query = put(client, "reopened", text_over(iri)).json()
    with server.client(make_token("producer")) as producer:
        # A stream that is open stays as it is, for any caller.
        assert producer.post(f"{stream}/reopen").json() == {"closed": False, "queries": []}
        assert producer.post(f"{stream}/close").json() == {"closed": True}
        refused = producer.post(f"{stream}/reopen")
        assert (refused.status_code, slug(refused.json())) == (403, "forbidden")
        assert refused.json()["queries"] == ["reopened"]
        assert client.get("/queries/reopened").json()["incarnation"] == admin_query["incarnation"]
        # A query that does not run is not restarted.
        assert client.post("/queries/reopened", json={"action": "pause"}).status_code == 200
        assert put(producer, "own-reader", text_over(iri)).status_code == 201
        assert producer.post(f"{stream}/reopen").json() == {"closed": False, "queries": ["own-reader"]}
    assert client.post(f"{stream}/close").status_code == 200
    assert client.post(f"{stream}/reopen").json() == {"closed": False, "queries": ["own-reader"]}
