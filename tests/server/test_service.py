"""What is here: the service document, the page, health, numbers; and the description, held to what the server does."""

from __future__ import annotations

import base64
import hashlib
import re

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyoxigraph import RdfFormat, Store
from server_process import ServerProcess
from whorl.server.routes import console


def test_the_service_document_links_everything(server: ServerProcess) -> None:
    with server.anonymous() as nobody:
        answer = nobody.get("/")
        assert answer.json()["links"]["sparql"] == server.url + "/sparql"
        assert nobody.get("/v1").json()["links"]["sparql"] == server.url + "/v1/sparql"
        described = nobody.get("/", headers={"Accept": "text/turtle"})
    store = Store()
    store.load(described.content, format=RdfFormat.TURTLE)
    assert len(store) > 5


def page_of(server: ServerProcess, path: str = "/") -> httpx.Response:
    with server.anonymous() as nobody:
        return nobody.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})


def test_a_browser_gets_a_page_that_may_load_nothing_from_elsewhere(server: ServerProcess) -> None:
    answer = page_of(server)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert set(" ".join(policy.values()).split()) <= {"'none'", "'self'", "data:", *digests(answer.text)}
    assert not re.search(r"(src|href)=.?(https?:|//)", answer.text)


def digests(text: str) -> set[str]:
    """What a policy calls the inline elements of a page."""
    found = (re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL) for element in ("script", "style"))
    inline = [one for elements in found for one in elements]
    return {f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in inline}


def test_the_plain_page_is_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_files", dict)
    answer = console.page()
    text = bytes(answer.body).decode()
    assert len(digests(text)) == 2
    assert all(digest in answer.headers["content-security-policy"] for digest in digests(text))
    assert not re.search(r"(src|href)=", text)


needs_console = pytest.mark.skipif(not console._files(), reason="the console is not built: Node was not there")


@needs_console
def test_the_files_of_the_console_are_served_for_ever_and_nothing_else_is(server: ServerProcess) -> None:
    named = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', page_of(server).text)
    assert len(named) >= 3
    with server.anonymous() as nobody:
        answers = [nobody.get(f"/{name}") for name in named]
        assert {answer.status_code for answer in answers} == {200}
        assert all("immutable" in answer.headers["cache-control"] for answer in answers)
        assert all(answer.headers["x-content-type-options"] == "nosniff" for answer in answers)
        outside = ["/assets/..%2findex.html", "/assets/../page.html", "/assets/none.js", "/assets/%2e%2e/%2e%2e/app.py"]
        assert {nobody.get(path).status_code for path in outside} == {404}


@needs_console
def test_the_api_can_be_browsed_without_the_network(server: ServerProcess) -> None:
    answer = page_of(server, "/docs")
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert not re.search(r"(src|href)=.?(https?:|//)", answer.text)


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
