"""Errors: problem documents everywhere, with the slugs and status codes that the protocol promises."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from whorl.server import errors

GOOD = (
    "SELECT ?s FROM NAMED WINDOW <http://ex.org/w> ON <{stream}> [RANGE 10s STEP 10s] "
    "WHERE {{ WINDOW <http://ex.org/w> {{ ?s ?p ?o }} }}"
)
TURTLE = {"Content-Type": "text/turtle"}
JSON = {"Content-Type": "application/json"}
RSPQL = {"Content-Type": "application/rsp-ql"}
EVENT = "<http://ex.org/a> <http://ex.org/p> 1 ."


def slug_of(answer: httpx.Response) -> str:
    """The slug of a problem, whose form is checked on the way."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["detail"]
    assert document["detail"][-1] != "."
    kind, _, slug = document["type"].rpartition(":")
    assert kind == "urn:whorl:problem"
    return str(slug)


# Method, path, keywords of the request, status and slug. `{s}` is a stream that exists.
CASES = [
    ("GET", "/nowhere", {}, 404, "not-found"),
    ("GET", "/v1/nowhere", {}, 404, "not-found"),
    ("PATCH", "/streams", {}, 405, "method-not-allowed"),
    ("GET", "/streams/http://ex.org/unknown", {}, 404, "unknown-stream"),
    ("GET", "/streams/relative", {}, 400, "iri-invalid"),
    ("GET", "/streams/http%3A%2F%2Fex.org%2F%3Cx%3E", {}, 400, "iri-invalid"),
    ("PUT", "{s}", {"json": {"lateness": "10s"}}, 409, "stream-exists-differently"),
    ("PUT", "{s}x", {"json": {"lateness": "soon"}}, 422, "request-invalid"),
    ("PUT", "{s}x", {"json": {"latness": 1}}, 422, "request-invalid"),
    ("PUT", "{s}x", {"json": {"time": "mine"}}, 422, "request-invalid"),
    ("PUT", "{s}x", {"content": "{", "headers": JSON}, 400, "json-syntax"),
    ("PUT", "{s}x", {"content": "a=b", "headers": {"Content-Type": "text/plain"}}, 415, "media-type-not-supported"),
    ("POST", "{s}?t=1000", {"content": "<a> <b> ", "headers": TURTLE}, 400, "rdf-syntax"),
    ("POST", "{s}", {"content": EVENT, "headers": TURTLE}, 422, "timestamp-missing"),
    ("POST", "{s}?t=yesterday", {"content": EVENT, "headers": TURTLE}, 422, "timestamp-invalid"),
    ("POST", "{s}?t=2026-01-01T00:00:00", {"content": EVENT, "headers": TURTLE}, 422, "timestamp-invalid"),
    ("POST", "{s}?t=1", {"content": EVENT, "headers": {"Content-Type": "application/rdf+xml"}}, 415, None),
    ("POST", "{s}?t=1", {"content": EVENT.encode()}, 415, "media-type-not-supported"),
    ("POST", "{s}?t=1", {"content": EVENT, "headers": {**TURTLE, "Content-Encoding": "br"}}, 415, None),
    ("POST", "{s}?t=1", {"content": EVENT, "headers": {**TURTLE, "Content-Encoding": "gzip"}}, 400, "gzip-broken"),
    ("POST", "{s}?t=1", {"content": EVENT, "headers": {**TURTLE, "RSP-Producer": "p"}}, 400, "producer-invalid"),
    ("POST", "{s}?t=1&atomic=maybe", {"content": EVENT, "headers": TURTLE}, 422, "request-invalid"),
    ("POST", "/streams/http://ex.org/unknown?t=1", {"content": EVENT, "headers": TURTLE}, 404, "unknown-stream"),
    ("POST", "{s}/watermark", {"json": {"t": "never"}}, 422, "request-invalid"),
    ("POST", "{s}/watermark", {"json": {}}, 422, "request-invalid"),
    ("GET", "{s}/mapping", {}, 404, "unknown-mapping"),
    ("POST", "{s}/commits", {"json": {"producer": "p", "batch": 1, "tokens": ["x"]}}, 404, "unknown-stage"),
    (
        "POST",
        "/streams/http://ex.org/unknown/stages",
        {"content": "", "headers": {"Content-Type": "application/n-quads"}},
        404,
        "unknown-stream",
    ),
    ("PUT", "/queries/q", {"content": "SELECT ?s WHERE {", "headers": RSPQL}, 400, "query-syntax"),
    ("PUT", "/queries/q", {"content": "", "headers": RSPQL}, 400, "query-syntax"),
    (
        "PUT",
        "/queries/q",
        {"content": GOOD.format(stream="http://ex.org/unknown"), "headers": RSPQL},
        422,
        "unknown-stream",
    ),
    ("PUT", "/queries/no.such.name", {"content": "x", "headers": RSPQL}, 400, "name-invalid"),
    (
        "PUT",
        "/queries/validate",
        {"content": GOOD.format(stream="http://ex.org/s"), "headers": RSPQL},
        400,
        "name-invalid",
    ),
    ("PUT", "/queries/q", {"json": {"query": "x", "name": "other"}}, 400, "name-invalid"),
    ("PUT", "/queries/q", {"json": {"qery": "x"}}, 422, "request-invalid"),
    ("PUT", "/queries/q", {"json": {"query": "x", "tick": "tock"}}, 422, "request-invalid"),
    ("PUT", "/queries/q", {"json": {"query": "x", "report": ["never"]}}, 422, "request-invalid"),
    ("PUT", "/queries/q?r2s=stream", {"content": "x", "headers": RSPQL}, 422, "request-invalid"),
    ("PUT", "/queries/q", {"content": "x", "headers": TURTLE}, 415, "media-type-not-supported"),
    ("PUT", "/queries/q", {"content": b"\xff\xfe", "headers": RSPQL}, 400, "not-utf-8"),
    ("POST", "/queries/validate", {"content": "SELEKT", "headers": RSPQL}, 400, "query-syntax"),
    ("GET", "/queries/unknown", {}, 404, "unknown-query"),
    ("GET", "/queries/unknown/plan", {}, 404, "unknown-query"),
    ("GET", "/queries/unknown/why", {}, 404, "unknown-query"),
    ("DELETE", "/queries/unknown", {}, 404, "unknown-query"),
    ("POST", "/queries/unknown", {"json": {"action": "pause"}}, 404, "unknown-query"),
    ("POST", "/queries/unknown", {"json": {"action": "explode"}}, 422, "request-invalid"),
    ("GET", "/graphs", {}, 400, "graph-not-named"),
    ("GET", "/graphs?graph=relative", {}, 400, "iri-invalid"),
    ("GET", "/graphs?graph=http://ex.org/unknown", {}, 404, "unknown-graph"),
    ("DELETE", "/graphs?graph=http://ex.org/unknown", {}, 404, "unknown-graph"),
    ("GET", "/graphs?default", {"headers": {"Accept": "image/png"}}, 406, "not-acceptable"),
    ("PUT", "/graphs?default", {"content": "<a", "headers": TURTLE}, 400, "rdf-syntax"),
    ("PUT", "/graphs?default", {"content": "x", "headers": {"Content-Type": "image/png"}}, 415, None),
    (
        "POST",
        "/graphs?default",
        {"content": "x", "headers": {"Content-Type": "multipart/form-data"}},
        400,
        "multipart-broken",
    ),
    ("GET", "/sparql", {}, 400, "operation-not-one"),
    ("GET", "/sparql?query=ASK%7B%7D", {"headers": {"Accept": "image/png"}}, 406, "not-acceptable"),
    ("GET", "/sparql?query=ASK%7B", {}, 400, "query-syntax"),
    ("POST", "/sparql", {"data": {"query": "ASK {}", "update": "CLEAR ALL"}}, 400, "operation-not-one"),
    (
        "POST",
        "/sparql",
        {"content": "ASK {}", "headers": {"Content-Type": "application/sparql-query; charset=utf-16"}},
        415,
        "charset-not-supported",
    ),
    ("DELETE", "/tokens/unknown", {}, 404, "unknown-token"),
]


@pytest.mark.parametrize(("method", "path", "request_", "status", "slug"), CASES)
def test_what_is_wrong_is_said(
    client: httpx.Client, stream: str, method: str, path: str, request_: dict[str, Any], status: int, slug: str | None
) -> None:
    answer = client.request(method, path.replace("{s}", stream), **request_)
    assert (answer.status_code, slug_of(answer)) == (status, slug or slug_of(answer))


def test_a_syntax_error_has_its_place(client: httpx.Client, stream: str) -> None:
    event = client.post(stream, params={"t": 1}, content="<a:a> <a:b> 1 .\n<a:a> <a:b> oops .", headers=TURTLE).json()
    assert event["line"] == 2
    text = "SELECT ?s\nWHERE { ?s ?p }"
    query = client.put("/queries/q", content=text, headers=RSPQL).json()
    assert query["line"] == 2
    assert query["snippet"] == "WHERE { ?s ?p }"


def test_every_answer_has_an_id(client: httpx.Client) -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", client.get("/nowhere").headers["x-request-id"])
    assert client.get("/", headers={"X-Request-Id": "mine-1.2_3"}).headers["x-request-id"] == "mine-1.2_3"
    assert client.get("/", headers={"X-Request-Id": "a" * 65}).headers["x-request-id"] != "a" * 65
    assert " " not in client.get("/", headers={"X-Request-Id": "a b"}).headers["x-request-id"]


def test_405_says_what_works(client: httpx.Client) -> None:
    assert "GET" in client.patch("/streams").headers["allow"]


def test_a_hint_about_a_wrong_name_compares_only_short_names() -> None:
    # A producer may be refused at each push; comparing 1,000 long names took seconds of the engine's thread.
    long = f"http://ex.org/{'ab' * 60}"
    assert errors.known_streams(long + "1", [long]).startswith("known streams: ")
    assert errors.known_streams("http://ex.org/rom", ["http://ex.org/room"]) == "did you mean <http://ex.org/room>?"
