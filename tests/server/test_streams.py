"""Streams over HTTP: the catalogue, names in paths, ingest in every format, time, rows and commits."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa
import pytest
from pyoxigraph import RdfFormat, Store
from server_process import ServerProcess

PROV = "http://www.w3.org/ns/prov#generatedAtTime"
TURTLE = {"Content-Type": "text/turtle"}
NQUADS = {"Content-Type": "application/n-quads"}
NDJSON = {"Content-Type": "application/x-ndjson"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


def nquads(*times_ms: int, name: str = "e") -> str:
    """Events of one triple each, with their times."""
    stamp = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"
    lines = []
    for at in times_ms:
        seconds = f'"1970-01-01T00:{at // 60_000:02}:{at % 60_000 // 1000:02}.{at % 1000:03}Z"{stamp}'
        lines.append(f"<http://ex.org/{name}{at}> <{PROV}> {seconds} .")
        lines.append(f"<http://ex.org/s{at}> <http://ex.org/p> <http://ex.org/o> <http://ex.org/{name}{at}> .")
    return "\n".join(lines) + "\n"


def ndjson(*times_ms: int) -> str:
    return "".join(json.dumps({"t": at, "data": "<http://ex.org/a> <http://ex.org/p> 1 ."}) + "\n" for at in times_ms)


def arrow(columns: dict[str, list[Any]]) -> bytes:
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


# ---- the catalogue ----


def test_a_stream_lives(client: httpx.Client) -> None:
    path = "/streams/http://ex.org/lives"
    settings = {"lateness": "2s", "idleTimeout": "PT1M", "timestampPredicate": "http://ex.org/at"}
    made = client.put(path, json=settings)
    assert made.status_code == 201
    assert made.headers["location"] == "/streams/http%3A%2F%2Fex.org%2Flives"
    assert client.put(path, json=settings).status_code == 200
    assert client.put(path, json={**settings, "lateness": 2000}).status_code == 200
    assert client.put(path).status_code == 409
    shown = client.get(made.headers["location"]).json()
    assert shown["streamIRI"] == "http://ex.org/lives"
    assert shown["settings"]["lateness"] == 2000
    assert shown["settings"]["idleTimeout"] == 60_000
    assert shown["status"] == "open"
    assert "http://ex.org/lives" in [one["streamIRI"] for one in client.get("/streams").json()["streams"]]
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "iri",
    [
        "http://ex.org/plain",
        "http://ex.org/ends/watermark",
        "http://ex.org/with#fragment",
        "http://ex.org/with?query=1&b=2",
        "http://ex.org/per%20cent",
        "http://ex.org/größe",
        "urn:example:a:b",
        "http://ex.org/",
    ],
)
def test_an_encoded_iri_names_its_stream(client: httpx.Client, iri: str) -> None:
    path = "/v1/streams/" + quote(iri, safe="")
    assert client.put(path).json()["streamIRI"] == iri
    assert client.post(path + "/watermark", json={"t": 5}).json() == {"watermark": 5}
    assert client.get(path).json()["watermark"] == 5
    assert client.delete(path).status_code == 204


@pytest.mark.parametrize("iri", ["http://ex.org/raw", "http://ex.org/raw/größe", "urn:example:raw"])
def test_an_iri_as_it_is_names_its_stream(client: httpx.Client, iri: str) -> None:
    assert client.put(f"/streams/{iri}").json()["streamIRI"] == iri
    assert client.get("/streams/" + quote(iri, safe="")).json()["streamIRI"] == iri
    assert client.delete(f"/streams/{iri}").status_code == 204


def test_a_descriptor_in_turtle(client: httpx.Client, stream: str) -> None:
    answer = client.get(stream, headers={"Accept": "text/turtle, application/json;q=0.5"})
    assert answer.headers["content-type"] == "text/turtle; charset=utf-8"
    store = Store()
    store.load(answer.content, format=RdfFormat.TURTLE)
    kinds = {quad.object.value for quad in store if quad.predicate.value.endswith("#type")}
    assert "http://w3id.org/rsp/vocals#RDFStream" in kinds
    everything = client.get("/streams", headers={"Accept": "text/turtle"})
    Store().load(everything.content, format=RdfFormat.TURTLE)


# ---- events ----


ONE_EVENT = {
    "text/turtle": "<http://ex.org/a> <http://ex.org/p> 1, 2 .",
    "application/n-triples": "<http://ex.org/a> <http://ex.org/p> <http://ex.org/b> .",
    "application/ld+json": '{"@id": "http://ex.org/a", "http://ex.org/p": 1}',
}


@pytest.mark.parametrize("media_type", ONE_EVENT)
def test_one_event_has_the_time_of_the_request(client: httpx.Client, stream: str, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    pushed = client.post(stream, params={"t": "1000"}, content=ONE_EVENT[media_type], headers=headers)
    assert pushed.status_code == 202
    assert pushed.json().items() >= {"accepted": 1, "late": 0, "duplicates": 0, "watermark": 1000}.items()
    headers["RSP-Event-Time"] = "1970-01-01T00:00:02Z"
    assert client.post(stream, content=ONE_EVENT[media_type], headers=headers).json()["watermark"] == 2000
    zoned = client.post(
        stream, params={"t": "1970-01-01T02:00:03+02:00"}, content=ONE_EVENT[media_type], headers=headers
    )
    assert zoned.json()["watermark"] == 3000
    assert client.get(stream).json()["events"] == 3


def test_many_events_have_their_own_times(client: httpx.Client, stream: str) -> None:
    assert client.post(stream, content=nquads(1000, 2000), headers=NQUADS).json()["accepted"] == 2
    trig = (
        f"@prefix x: <http://www.w3.org/2001/XMLSchema#> . <http://ex.org/g> <{PROV}> "
        '"1970-01-01T00:00:05Z"^^x:dateTime . <http://ex.org/g> { <http://ex.org/a> <http://ex.org/p> 1 }'
    )
    answer = client.post(stream, content=trig, headers={"Content-Type": "application/trig"})
    assert answer.json()["watermark"] == 5000
    assert client.get(stream).json()["events"] == 3


def test_a_refused_body_leaves_nothing(client: httpx.Client, stream: str) -> None:
    body = nquads(1000, 2000) + "<http://ex.org/x> oops ."
    assert client.post(stream, content=body, headers=NQUADS).status_code == 400
    assert client.get(stream).json()["events"] == 0


def test_without_atomic_the_right_events_are_taken(client: httpx.Client, stream: str) -> None:
    lines = ndjson(1000) + '{"t": "never", "data": ""}\n' + ndjson(3000)
    assert client.post(stream, content=lines, headers=NDJSON).status_code in {400, 422}
    answer = client.post(stream, params={"atomic": "false"}, content=lines, headers=NDJSON)
    assert answer.status_code == 202
    assert answer.json()["accepted"] == 2
    assert len(answer.json()["refused"]) == 1


def test_late_events_are_counted(client: httpx.Client, stream: str) -> None:
    client.post(stream + "/watermark", json={"t": 10_000})
    answer = client.post(stream, params={"t": 5000}, content=ONE_EVENT["text/turtle"], headers=TURTLE)
    assert answer.json().items() >= {"accepted": 0, "late": 1}.items()


def test_events_far_ahead_are_set_aside(client: httpx.Client, stream: str) -> None:
    answer = client.post(stream, params={"t": "2099-01-01T00:00:00Z"}, content=ONE_EVENT["text/turtle"], headers=TURTLE)
    assert answer.json().items() >= {"accepted": 0, "ahead": 1}.items()
    assert (
        client.post(stream, params={"t": 1}, content=ONE_EVENT["text/turtle"], headers=TURTLE).json()["accepted"] == 1
    )


def test_ndjson_lines_and_control_lines(client: httpx.Client, stream: str) -> None:
    answer = client.post(stream, content=ndjson(1000, 2000) + '{"watermark": 9000}\n', headers=NDJSON)
    assert answer.json().items() >= {"accepted": 2, "watermark": 9000}.items()


def chunks(n: int) -> Iterator[bytes]:
    for at in range(1, n + 1):
        line = ndjson(at).encode()
        yield line[:7]
        yield line[7:]


def test_ndjson_that_streams_is_taken_in_batches(client: httpx.Client, stream: str) -> None:
    answer = client.post(stream, content=chunks(500), headers=NDJSON)
    assert answer.status_code == 202
    assert answer.json().items() >= {"accepted": 500, "watermark": 500}.items()


def test_every_batch_is_acknowledged_when_asked(client: httpx.Client, stream: str) -> None:
    answer = client.post(stream, params={"ack": "batch"}, content=chunks(300), headers=NDJSON)
    assert answer.headers["content-type"] == "application/x-ndjson"
    acks = [json.loads(line) for line in answer.text.splitlines()]
    assert sum(ack["accepted"] for ack in acks) == 300
    assert [ack["offset"] for ack in acks] == sorted(ack["offset"] for ack in acks)
    assert acks[-1]["lines"] == 300


def test_a_wrong_line_is_found_in_the_whole_body(client: httpx.Client, stream: str) -> None:
    def lines() -> Iterator[bytes]:
        yield from (ndjson(at).encode() for at in range(1, 101))
        yield b'{"t": "never", "data": ""}\n'

    problem = client.post(stream, content=lines(), headers=NDJSON).json()
    assert problem["line"] == 101
    assert problem.get("taken", {"accepted": 0})["accepted"] == client.get(stream).json()["events"]


def test_a_gzip_body_is_read(client: httpx.Client, stream: str) -> None:
    body = gzip.compress(nquads(1000, 2000).encode())
    answer = client.post(stream, content=body, headers={**NQUADS, "Content-Encoding": "gzip"})
    assert answer.json()["accepted"] == 2


def test_a_repeated_body_of_a_producer_is_taken_once(client: httpx.Client, stream: str) -> None:
    def push(place: str, at: int) -> httpx.Response:
        return client.post(stream, content=nquads(at), headers={**NQUADS, "RSP-Producer": place})

    assert push("p;0;1", 1000).status_code == 202
    again = push("p;0;1", 1000)
    assert again.status_code == 200
    assert again.json().items() >= {"accepted": 0, "duplicates": 1}.items()
    gap = push("p;0;5", 5000)
    assert gap.status_code == 409
    assert gap.json()["expected"] == 2
    assert push("p;0;2", 2000).status_code == 202
    assert push("p;1;1", 3000).status_code == 202
    assert push("p;0;3", 4000).json()["type"].endswith("producer-fenced")
    assert client.get(stream).json()["events"] == 3


def test_an_acknowledgement_from_memory(client: httpx.Client, stream: str) -> None:
    answer = client.post(stream, params={"ack": "memory"}, content=nquads(1000), headers=NQUADS)
    assert answer.json()["accepted"] == 1


def test_arrival_time_needs_no_time_in_the_event(client: httpx.Client) -> None:
    path = "/streams/http://ex.org/arrival"
    client.put(path, json={"time": "arrival"})
    answer = client.post(path, content=ONE_EVENT["text/turtle"], headers=TURTLE)
    assert answer.json()["accepted"] == 1
    assert answer.json()["watermark"] > 1_600_000_000_000
    client.delete(path)


# ---- time ----


def test_a_watermark_does_not_go_back(client: httpx.Client, stream: str) -> None:
    assert client.post(stream + "/watermark", json={"t": "1970-01-01T00:00:10Z"}).json() == {"watermark": 10_000}
    back = client.post(stream + "/watermark", json={"t": 5000})
    assert back.status_code == 409
    assert back.json()["type"].endswith("watermark-regression")


def test_a_closed_stream_takes_nothing(client: httpx.Client, stream: str) -> None:
    assert client.post(stream + "/close").status_code == 200
    assert client.get(stream).json()["status"] == "closed"
    refused = client.post(stream, content=nquads(1000), headers=NQUADS)
    assert refused.status_code == 409
    assert refused.json()["type"].endswith("stream-closed")


def test_a_closed_stream_shows_no_instant_as_its_watermark(client: httpx.Client, stream: str) -> None:
    assert client.post(stream, content=nquads(1000), headers=NQUADS).json()["watermark"] is not None
    assert client.post(stream + "/close").status_code == 200
    assert client.get(stream).json()["watermark"] is None
    iri = stream.removeprefix("/streams/")
    lags = [line for line in client.get("/metrics").text.splitlines() if "watermark_lag" in line and iri in line]
    assert lags == []


# ---- rows ----


def test_arrow_bodies_of_triples(client: httpx.Client, stream: str) -> None:
    columns: dict[str, list[Any]] = {
        "t": [1000, 2000],
        "s": ["http://ex.org/a"] * 2,
        "p": ["http://ex.org/p"] * 2,
        "o": ["http://ex.org/b"] * 2,
    }
    assert client.post(stream, content=arrow(columns), headers=ARROW).json()["accepted"] == 2


def test_a_mapping_makes_rows_triples(client: httpx.Client, stream: str) -> None:
    text = (
        "CONSTRUCT { ?room <http://ex.org/temperature> ?celsius } "
        'WHERE { BIND(IRI(CONCAT("http://ex.org/", ?name)) AS ?room) }'
    )
    sparql = {"Content-Type": "application/sparql-query"}
    assert client.put(stream + "/mapping", content=text, headers=sparql).status_code == 201
    assert client.put(stream + "/mapping", content=text, headers=sparql).status_code == 200
    assert client.get(stream + "/mapping").json() == {"mapping": text, "timeColumn": "t"}
    assert client.get(stream).json().items() >= {"mapping": text, "timeColumn": "t"}.items()
    rows = arrow({"t": [1000, 2000, 3000], "name": ["a", "b", "c"], "celsius": [20.5, 21.0, 22.5]})
    assert client.post(stream, content=rows, headers=ARROW).json()["accepted"] == 3
    broken = client.put(stream + "/mapping", content="CONSTRUCT { ?room", headers=sparql)
    assert broken.status_code == 400
    assert broken.json()["line"] == 1
    assert client.delete(stream + "/mapping").status_code == 204
    assert client.get(stream + "/mapping").status_code == 404


def test_staged_bodies_become_events_at_once(client: httpx.Client, stream: str) -> None:
    tokens = [
        client.post(stream + "/stages", content=nquads(at), headers=NQUADS).json()["token"] for at in (3000, 1000)
    ]
    assert client.get(stream).json()["events"] == 0
    batch = {"producer": "job", "batch": 1, "tokens": tokens, "watermark": 4000}
    done = client.post(stream + "/commits", json=batch)
    assert done.status_code == 200
    assert done.json().items() >= {"accepted": 2, "late": 0, "duplicates": 0, "watermark": 4000}.items()
    again = client.post(stream + "/commits", json=batch)
    assert again.json().items() >= {"accepted": 0, "duplicates": 2}.items()
    assert client.get(stream).json()["events"] == 2


def test_a_commit_says_how_far_its_producer_has_come(client: httpx.Client, stream: str) -> None:
    said = [
        client.post(stream + "/commits", json={"producer": "job", "batch": batch, "tokens": []}).json()["batch"]
        for batch in (3, 7, 7, 5)
    ]
    assert said == [3, 7, 7, 7]


def test_a_staged_body_is_named_once_in_a_commit(client: httpx.Client, stream: str) -> None:
    """A body named ten thousand times was read as often; such a commit was on the disk, but refused."""
    token = client.post(stream + "/stages", content=nquads(1000), headers=NQUADS).json()["token"]
    batch = {"producer": "job", "batch": 1, "tokens": [token, token]}
    refused = client.post(stream + "/commits", json=batch)
    assert refused.status_code == 422
    assert client.get(stream).json()["events"] == 0
    assert client.post(stream + "/commits", json={**batch, "tokens": [token]}).json()["accepted"] == 1


def test_a_staged_body_becomes_events_once_whoever_commits_it(
    server: ServerProcess, client: httpx.Client, stream: str
) -> None:
    """Bodies are read before their commit has its turn; two commits may have read the same one."""
    committers = 6

    def commit(number: int, batch: int, token: str) -> int:
        with server.client() as one:
            wanted = {"producer": f"job {number}", "batch": batch, "tokens": [token]}
            return one.post(stream + "/commits", json=wanted).status_code

    with ThreadPoolExecutor(committers) as pool:
        for batch in range(1, 11):
            token = client.post(stream + "/stages", content=nquads(batch * 1000), headers=NQUADS).json()["token"]
            committing = [pool.submit(commit, number, batch, token) for number in range(committers)]
            assert sorted(one.result() for one in committing) == [200] + [404] * (committers - 1)
            assert client.get(stream).json()["events"] == batch
    assert client.get("/readyz").status_code == 200


def test_a_commit_that_can_never_fit_is_refused_for_good(start_server: Callable[..., ServerProcess]) -> None:
    with start_server(queue_bytes_max=4096).client() as client:
        stream = "/streams/http://ex.org/s"
        client.put(stream)
        tokens = [
            client.post(stream + "/stages", content=nquads(at) * 20, headers=NQUADS).json()["token"]
            for at in range(1000, 3000, 1000)
        ]
        refused = client.post(stream + "/commits", json={"producer": "job", "batch": 1, "tokens": tokens})
        assert refused.status_code == 413
        assert refused.json()["type"].endswith("body-too-large")
        assert "retry-after" not in refused.headers
        fits = client.post(stream + "/commits", json={"producer": "job", "batch": 1, "tokens": []})
        assert fits.status_code == 200


def test_seconds_that_are_taken_for_milliseconds_are_warned_of(client: httpx.Client, stream: str) -> None:
    turtle = {"Content-Type": "text/turtle"}
    told = client.post(stream, params={"t": 1_767_225_600}, content="<a:a> <a:p> 1 .", headers=turtle).json()
    assert told["warning"].startswith("the watermark 1767225600 looks like a number of seconds")
    lines = '{"t": 1767225601, "data": "<a:a> <a:p> 1 ."}\n'
    told = client.post(stream, content=lines, headers={"Content-Type": "application/x-ndjson"}).json()
    assert "warning" in told
    told = client.post(stream, params={"t": 1_767_225_600_000}, content="<a:a> <a:p> 1 .", headers=turtle).json()
    assert "warning" not in told
    told = client.post(stream, params={"t": 1_767_225_602}, content="<a:a> <a:p> 2 .", headers=turtle).json()
    assert (told["late"], told["warning"][:19]) == (1, "the time 1767225602"), "late, and the reason is seen"
