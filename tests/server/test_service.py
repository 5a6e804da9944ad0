"""What is here: the service document, the page, health, numbers; and the description, held to what the server does."""

from __future__ import annotations

import base64
import hashlib
import re

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from prometheus_client.parser import text_string_to_metric_families
from pyoxigraph import RdfFormat, Store
from server_process import ServerProcess


@schemathesis.serializer(
    "application/sparql-query",
    "application/sparql-update",
    "application/rsp-ql",
    "application/n-triples",
    "application/n-quads",
    "application/trig",
    "application/ld+json",
    "application/x-ndjson",
    "application/vnd.apache.arrow.stream",
    "application/x-www-form-urlencoded",
    "text/turtle",
)
def as_text(_: object, value: object) -> bytes:
    """Generated text is sent as it is."""
    return str(value).encode("utf-8", "replace")


def test_the_service_document_links_everything(server: ServerProcess) -> None:
    with server.anonymous() as nobody:
        answer = nobody.get("/")
        assert answer.json()["links"]["sparql"] == server.url + "/sparql"
        assert nobody.get("/v1").json()["links"]["sparql"] == server.url + "/v1/sparql"
        described = nobody.get("/", headers={"Accept": "text/turtle"})
    store = Store()
    store.load(described.content, format=RdfFormat.TURTLE)
    assert len(store) > 5


def test_a_browser_gets_a_page_that_loads_nothing(server: ServerProcess) -> None:
    with server.anonymous() as nobody:
        answer = nobody.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    for element in ("script", "style"):
        content = re.search(rf"<{element}>(.*?)</{element}>", answer.text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content.group(1).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"(src|href)=", answer.text)


def test_health_and_readiness_need_no_token(server: ServerProcess) -> None:
    with server.anonymous() as nobody:
        assert nobody.get("/healthz").json() == {"status": "alive"}
        assert nobody.get("/readyz").json() == {"status": "ready"}


def test_numbers_for_prometheus(client: httpx.Client, stream: str) -> None:
    client.post(stream, params={"t": 1000}, content="<a:a> <a:b> 1, 2 .", headers={"Content-Type": "text/turtle"})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    iri = stream.removeprefix("/streams/")
    events = [one.value for one in families["whorl_stream_events"].samples if one.labels.get("stream") == iri]
    assert events == [1.0]
    expected = {
        "whorl_stream_triples",
        "whorl_stream_late",
        "whorl_queue_bytes",
        "whorl_evaluations",
        "whorl_results",
        "whorl_subscribers",
        "whorl_commit_seconds",
        "whorl_engine_state_size",
        "whorl_stream_watermark_lag_seconds",
    }
    assert expected <= families.keys()


def test_documentation_pages_are_off(client: httpx.Client) -> None:
    assert [client.get(path).status_code for path in ("/docs", "/redoc")] == [404, 404]


def test_every_operation_is_described(client: httpx.Client) -> None:
    description = client.get("/openapi.json").json()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            if method != "head" and path not in {"/", "/healthz", "/readyz"}:
                assert operation["security"] == [{"token": []}], (method, path)
                assert "application/problem+json" in operation["responses"]["401"]["content"]
    text = client.get("/openapi.json").text
    assert "HTTPValidationError" not in text


@pytest.mark.timeout(600)
def test_generated_requests_never_break_the_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Schemathesis: whatever fits or misses the description, no answer is a 5xx."""
    server = ServerProcess(tmp_path_factory.mktemp("generated"), {"registrations_per_minute": 1_000_000}).start()
    with server.client() as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    headers = {"Authorization": f"Bearer {server.token}"}
    asked = set()
    for operation in schema.get_all_operations():
        case_of = operation.ok()
        if case_of.path == "/queries/{name}/events":
            continue  # It streams for ever.
        asked.add(case_of.label)
        run_operation(case_of, server.url, headers)
    assert len(asked) > 30
    with server.client() as client:
        assert client.get("/readyz").status_code == 200
    server.kill()
    assert "Traceback" not in server.log


def run_operation(operation: schemathesis.engine.APIOperation, url: str, headers: dict[str, str]) -> None:
    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def every_case(case: schemathesis.Case) -> None:
        answer = case.call(base_url=url, headers=headers, timeout=30)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)

    every_case()
