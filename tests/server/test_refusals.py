"""What a stream says of events that it did not take: how many, and why the last time."""

from __future__ import annotations

import httpx

TURTLE = {"Content-Type": "text/turtle"}


def test_a_refused_body_is_counted_with_its_reason(client: httpx.Client, stream: str) -> None:
    before = client.get(stream).json()
    assert (before["refused"], before["ahead"], before["lastRefusal"]) == (0, 0, None)
    refused = client.post(stream, params={"t": 1}, content="<http://ex.org/a> <http://ex.org/b>", headers=TURTLE)
    assert refused.status_code == 400
    after = client.get(stream).json()
    assert after["refused"] == 1
    assert after["lastRefusal"]["reason"] == refused.json()["detail"]
    assert after["lastRefusal"]["line"] == refused.json()["line"]
    assert after["lastRefusal"]["at"] > 0


def test_single_events_that_are_refused_are_counted(client: httpx.Client, stream: str) -> None:
    good = '{"t": 1, "data": "<http://ex.org/a> <http://ex.org/b> 1 ."}'
    bad = '{"t": 2, "data": "<http://ex.org/a> oops"}'
    reply = client.post(
        stream,
        params={"atomic": "false"},
        content=f"{good}\n{bad}\n{bad}\n",
        headers={"Content-Type": "application/x-ndjson"},
    ).json()
    document = client.get(stream).json()
    assert document["refused"] == len(reply["refused"]) == 2
    assert document["lastRefusal"]["line"] == 3


def test_events_far_ahead_are_counted_apart(client: httpx.Client, stream: str) -> None:
    triple = "<http://ex.org/a> <http://ex.org/b> 1 ."
    assert client.post(stream, params={"t": 253_402_300_000_000}, content=triple, headers=TURTLE).json()["ahead"] == 1
    document = client.get(stream).json()
    assert (document["ahead"], document["refused"]) == (1, 0)


def test_metrics_have_the_same_numbers(client: httpx.Client, stream: str) -> None:
    client.post(stream, params={"t": 1}, content="oops", headers=TURTLE)
    iri = client.get(stream).json()["streamIRI"]
    numbers = client.get("/metrics").text
    assert f'whorl_stream_refused_total{{stream="{iri}"}} 1.0' in numbers
    assert f'whorl_stream_ahead_total{{stream="{iri}"}} 0.0' in numbers


def test_a_stream_that_does_not_exist_is_not_remembered(client: httpx.Client) -> None:
    path = "/streams/http%3A%2F%2Fex.org%2Fnobody"
    assert client.post(path, params={"t": 1}, content="oops", headers=TURTLE).status_code == 404
    client.put(path).raise_for_status()
    assert client.get(path).json()["refused"] == 0
    client.delete(path).raise_for_status()
