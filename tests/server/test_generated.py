"""Requests that schemathesis makes of the description: right ones and wrong ones, and every answer is held to it.

Checked are all of its checks: no 5xx, statuses, headers, media types and shapes as described, methods, right requests
taken, wrong ones refused. What a schema cannot say (that a text is a query, that one of two parameters is needed) is
generated here, or listed in BEYOND_SCHEMAS by its problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
import schemathesis
from campaign_size import sized
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.failures import AcceptedNegativeData, Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.openapi.checks import RejectedPositiveData
from server_process import ServerProcess

STREAM = "http://ex.org/s"
# Requests that fit the description and are refused all the same, because of what a schema cannot say.
BEYOND_SCHEMAS = {
    "graph-not-named",  # One of two parameters, not both.
    "name-invalid",  # The name in the body of a PUT is that of the address; some are operations.
    "timestamp-missing",  # The time is in the body, in a parameter, or in a header.
    "timestamp-invalid",  # A time that contradicts the setting of its stream.
    "unsupported-feature",  # Options that do not go with each other, or with the text.
    "query-syntax",  # Options that the text contradicts.
    "answer-not-kept",  # As the query wishes.
    "token-invalid",  # Of a place in the results of a query.
    "arrow-unreadable",  # Rows that fit no mapping.
    "event-refused",
}
_QUERIES = [
    f"SELECT ?s FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE {n}s STEP {n}s] WHERE {{ WINDOW <urn:w> {{ ?s ?p 1 }} }}"
    for n in (1, 2, 3)
]
_TURTLE = ["", "<urn:a> <urn:p> 1 .", "@prefix : <urn:> . :a :p :b ; :q ( 1 2 ) .", "<urn:a> <urn:p> 'é'@en ."]
_TRIPLES = ["", "<urn:a> <urn:p> <urn:b> .", '_:b <urn:p> "x\\u00e9" .\n']
_ASKED = ["ASK {}", "SELECT * { ?s ?p ?o } LIMIT 3", "CONSTRUCT WHERE { ?s ?p ?o }"]
_UPDATES = ["INSERT DATA { <urn:a> <urn:p> 1 }", "CLEAR SILENT GRAPH <urn:g>", "DELETE WHERE { ?s <urn:none> ?o }"]
FORMATS = {
    "rsp-ql": _QUERIES,
    "sparql-query": _ASKED,
    "sparql-update": _UPDATES,
    "iri": ["http://ex.org/g", "urn:x:y", "http://ex.org/straße"],
    "whorl-duration": ["10s", "PT1M", "1m30s", "500ms", "0"],
    "whorl-zone": ["Z", "+02:00", "-0530", "Europe/Paris"],
    "whorl-report": ["close", "change", "nonempty", "periodic(10s)"],
    "whorl-default-graph": [f"<{STREAM}> [RANGE 10s]"],
}
MEDIA = {
    "application/rsp-ql": _QUERIES,
    "text/plain": _QUERIES,
    "application/sparql-query": _ASKED,
    "application/sparql-update": _UPDATES,
    "text/turtle": _TURTLE,
    "application/n-triples": _TRIPLES,
    "application/n-quads": [*_TRIPLES, "<urn:a> <urn:p> <urn:b> <urn:g> ."],
    "application/trig": [*_TURTLE, "<urn:g> { <urn:a> <urn:p> 1 }"],
    "application/ld+json": ["{}", '{"@id": "urn:a", "urn:p": 1}', '[{"@id": "urn:a", "urn:p": {"@id": "urn:b"}}]'],
    "application/x-ndjson": ['{"t": 1, "data": "<urn:a> <urn:p> 1 ."}\n', '{"watermark": 5}\n', ""],
    "application/vnd.apache.arrow.stream": [],
}
_OF_SPARQL = {"query", "update", "default-graph-uri", "named-graph-uri", "using-graph-uri", "using-named-graph-uri"}
# A mapping is a CONSTRUCT, under the media type of questions.
_LEFT_OUT = {
    "/queries/{name}/events": "streams for ever",
    "/streams/{iri}/mapping": "its media type has other texts here",
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    for name, texts in FORMATS.items():
        schemathesis.openapi.format(name, st.sampled_from(texts))
    for name, texts in MEDIA.items():
        schemathesis.openapi.media_type(name, st.sampled_from([text.encode() for text in texts] or [b""]))
    server = ServerProcess(tmp_path_factory.mktemp("generated"), {"registrations_per_minute": 1_000_000}).start()
    yield server
    server.kill()


def refusals(case: Any, answer: Any, headers: dict[str, str]) -> list[Failure]:
    """What schemathesis finds wrong with an answer."""
    try:
        case.validate_response(answer, headers=headers)
    except FailureGroup as found:
        described = (one for one in found.exceptions if not is_of_others(one, answer))
        return [one for one in described if not is_beyond_schemas(one, answer)]
    return []


def is_beyond_schemas(failure: Failure, answer: Any) -> bool:
    if not isinstance(failure, RejectedPositiveData) or answer.request.method == "HEAD":
        return isinstance(failure, RejectedPositiveData)
    return str(answer.json()["type"]).rpartition(":")[2] in BEYOND_SCHEMAS


def is_of_others(failure: Failure, answer: Any) -> bool:
    """A parameter that no schema can allow: clients of SPARQL send those of other products to every endpoint."""
    url, body = httpx.URL(answer.request.url), answer.request.body or ""
    fields = parse_qs(body if isinstance(body, str) else body.decode("utf-8", "replace"), keep_blank_values=True)
    is_more = not set(url.params) | set(fields) <= _OF_SPARQL
    return isinstance(failure, AcceptedNegativeData) and url.path == "/sparql" and is_more


def run(operation: Any, server: ServerProcess, mode: GenerationMode, examples: int) -> list[str]:
    headers = {"Authorization": f"Bearer {server.token}"}
    found: list[str] = []

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def every_case(case: Any) -> None:
        answer = case.call(base_url=server.url, headers=headers, timeout=30)
        asked = f"{operation.label} {answer.request.url} {case.body!r:.300}"
        said = f"{asked} {answer.status_code} {answer.content[:300]!r}"
        assert answer.status_code < 500, said
        found.extend(f"{failure.title}: {said}" for failure in refusals(case, answer, headers))

    every_case()
    return found


@pytest.mark.parametrize("examples", [5, pytest.param(sized(200), marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_every_answer_to_generated_requests_is_as_described(generated: ServerProcess, examples: int) -> None:
    with generated.client() as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    found, asked = [], set()
    for described in schema.get_all_operations():
        assert isinstance(described, Ok)
        operation = described.ok()
        if operation.path in _LEFT_OUT:
            continue
        asked.add(operation.label)
        with generated.client() as client:
            # A generated request may have deleted it.
            client.put(f"/streams/{STREAM}").raise_for_status()
        for mode in modes_of(operation):
            found += run(operation, generated, mode, examples)
    # One of each kind of fault for each operation.
    kinds = {failure.partition(" http")[0]: failure for failure in found}
    assert not found, "\n".join([f"{len(found)} findings of {len(kinds)} kinds", *kinds.values()])
    assert len(asked) > 30
    with generated.client() as client:
        assert client.get("/readyz").status_code == 200
    assert "Traceback" not in generated.log


def modes_of(operation: Any) -> list[GenerationMode]:
    """Where nothing can be said, nothing can be said wrongly."""
    has_input = any(operation.iter_parameters()) or operation.body
    return [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if has_input else [])]
