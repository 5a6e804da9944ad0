"""Queries over HTTP: registering, validating, looking at, pausing, restarting, deleting."""

from __future__ import annotations

import httpx
import pytest
from server_process import ServerProcess

RSPQL = {"Content-Type": "application/rsp-ql"}
NDJSON = {"Content-Type": "application/x-ndjson"}


def text_over(stream: str) -> str:
    return (
        f"SELECT ?s ?o FROM NAMED WINDOW <http://ex.org/w> ON <{stream.removeprefix('/streams/')}> "
        "[RANGE 10s STEP 10s] WHERE { WINDOW <http://ex.org/w> { ?s <http://ex.org/p> ?o } }"
    )


@pytest.fixture
def name(client: httpx.Client, stream: str) -> str:
    """A query over the test's stream."""
    name = stream.rpartition("/")[2][:64]
    assert client.put(f"/queries/{name}", content=text_over(stream), headers=RSPQL).status_code == 201
    return name


def test_a_query_lives(client: httpx.Client, stream: str, name: str) -> None:
    path = f"/queries/{name}"
    assert client.put(path, content=text_over(stream), headers=RSPQL).status_code == 200
    assert client.put(path, json={"query": text_over(stream)}).status_code == 200
    differs = client.put(path, content=text_over(stream).replace("?o }", "?x }"), headers=RSPQL)
    assert (differs.status_code, differs.json()["type"]) == (409, "urn:whorl:problem:query-exists-differently")
    shown = client.get(path).json()
    assert shown["id"] == name
    assert shown["body"] == text_over(stream)
    assert shown["streams"] == [stream.removeprefix("/streams/")]
    assert shown["status"] == "running"
    assert shown["dialect"]
    assert len(shown["windows"]) == 1
    assert name in [one["id"] for one in client.get("/queries").json()["queries"]]
    assert name in client.get(stream).json()["queries"]
    in_use = client.delete(stream)
    assert (in_use.status_code, in_use.json()["type"]) == (409, "urn:whorl:problem:stream-in-use")
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_results_are_counted(client: httpx.Client, stream: str, name: str) -> None:
    lines = "".join(
        f'{{"t": {at}, "data": "<http://ex.org/a> <http://ex.org/p> {at} ."}}\n' for at in (1, 5000, 12_000)
    )
    assert client.post(stream, content=lines, headers=NDJSON).json()["accepted"] == 3
    shown = client.get(f"/queries/{name}").json()
    assert shown["lastSeq"] == shown["stats"]["results"] == 1
    assert 0 < shown["stats"]["evaluationSeconds"] < 1
    # Another event of the newest instant may still come.
    assert shown["watermark"] == 11_999


def test_a_plan_has_operators(client: httpx.Client, name: str) -> None:
    assert isinstance(client.get(f"/queries/{name}/plan").json(), dict)


def test_pause_and_restart(client: httpx.Client, name: str) -> None:
    path = f"/queries/{name}"
    first = client.get(path).json()["incarnation"]
    assert client.post(path, json={"action": "pause"}).json()["status"] == "paused"
    again = client.post(path, json={"action": "pause"})
    assert (again.status_code, again.json()["type"]) == (409, "urn:whorl:problem:query-not-running")
    assert client.get(path + "/plan").status_code == 409
    assert client.get(path + "/results").status_code == 409
    assert client.get(path + "/results", params={"from": "earliest"}).status_code == 409
    restarted = client.post(path, data={"action": "restart"}).json()
    assert restarted["status"] == "running"
    assert restarted["incarnation"] != first


def test_a_name_is_made(client: httpx.Client, stream: str) -> None:
    made = client.post("/v1/queries", content=text_over(stream), headers={"Content-Type": "text/plain"})
    assert made.status_code == 201
    assert made.headers["location"] == f"/v1/queries/{made.json()['id']}"
    assert client.get(made.headers["location"]).status_code == 200
    named = client.post("/queries", json={"query": text_over(stream), "name": "named-one"})
    assert named.json()["id"] == "named-one"


def test_options_are_kept(client: httpx.Client, stream: str) -> None:
    body = {"query": text_over(stream), "r2s": "ISTREAM", "report": ["close", "nonempty"], "t0": 0}
    made = client.put("/queries/with-options", json=body)
    assert made.status_code == 201
    assert made.json()["options"] == {"r2s": "ISTREAM", "report": ["close", "nonempty"], "t0": 0}
    assert made.json()["r2s"].upper() == "ISTREAM"
    assert client.put("/queries/with-options", json={"query": text_over(stream)}).status_code == 409


def test_validation_registers_nothing(client: httpx.Client, stream: str) -> None:
    before = len(client.get("/queries").json()["queries"])
    facts = client.post("/queries/validate", content=text_over(stream), headers=RSPQL)
    assert facts.status_code == 200
    assert {"dialect", "windows", "streams", "plan", "warnings"} <= facts.json().keys()
    assert len(client.get("/queries").json()["queries"]) == before


@pytest.mark.parametrize(
    ("pattern", "slug"),
    [
        ("WINDOW <http://ex.org/w> { ?s ?p ?o } SERVICE <http://evil.example/> { ?s ?p ?o }", "unsupported-feature"),
        ("WINDOW <http://ex.org/w> { ?a ?b ?c . ?d ?e ?f }", "query-too-costly"),
    ],
)
def test_what_is_not_carried_out_is_refused(client: httpx.Client, stream: str, pattern: str, slug: str) -> None:
    text = text_over(stream).partition("WHERE")[0].replace("SELECT ?s ?o", "SELECT *") + "WHERE { " + pattern + " }"
    answer = client.put("/queries/refused", content=text, headers=RSPQL)
    assert (answer.status_code, answer.json()["type"]) == (422, f"urn:whorl:problem:{slug}")


def test_only_the_owner_changes_a_query(server: ServerProcess, client: httpx.Client, stream: str) -> None:
    made = [client.post("/tokens", json={"name": name, "scopes": ["register"]}).json()["token"] for name in ("a", "b")]
    with server.client(made[0]) as owner, server.client(made[1]) as other:
        assert owner.put("/queries/owned", content=text_over(stream), headers=RSPQL).status_code == 201
        assert other.delete("/queries/owned").status_code == 403
        assert other.post("/queries/owned", json={"action": "pause"}).status_code == 403
        assert owner.post("/queries/owned", json={"action": "pause"}).status_code == 200
        assert client.delete("/queries/owned").status_code == 204


def test_a_cascade_takes_the_queries_along(client: httpx.Client, stream: str, name: str) -> None:
    assert client.delete(stream, params={"cascade": "true"}).status_code == 204
    assert client.get(f"/queries/{name}").status_code == 404
