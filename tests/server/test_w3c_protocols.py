"""The W3C's tests of the SPARQL Protocol and the Graph Store Protocol, run as HTTP scripts.

Each script runs on a server with empty graphs but for the graphs that its queries name. What the suite leaves open, the
exact triples of an answer, is compared as graphs; blank nodes are matched by canonical names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse
from server_process import ServerProcess
from w3c_protocol_scripts import Exchange, Script, scripts

pytestmark = pytest.mark.skipif(not scripts("protocol/manifest.ttl"), reason="the W3C archive is not there")

_STATUS_CODES = {"OK": 200, "Created": 201, "NoContent": 204, "NotFound": 404, "BadRequest": 400}
_DATA = "http://kasei.us/2009/09/sparql/data/data{n}.rdf"
_FORMS = {
    "boolean": ("application/sparql-results+json", "application/sparql-results+xml"),
    "tabular": ("application/sparql-results+json", "application/sparql-results+xml"),
    "RDF": ("text/turtle", "application/n-triples"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("w3c")).start()
    yield server
    server.kill()


@pytest.fixture
def client(store: ServerProcess) -> Iterator[httpx.Client]:
    with store.client() as client:
        assert client.post("/sparql", data={"update": "DROP ALL"}).status_code == 204
        for n in range(4):
            content = f"<{_DATA.format(n=n)}> a <http://xmlns.com/foaf/0.1/Document> ."
            client.put(
                "/graphs", params={"graph": _DATA.format(n=n)}, content=content, headers={"Content-Type": "text/turtle"}
            )
        yield client


def run(
    client: httpx.Client, script: Script, prefix: str, ours: str, location_of: Callable[[httpx.Response], str]
) -> None:
    location = ""
    for exchange in script.exchanges:
        path = re.sub(rf"^{prefix}/?", ours, exchange.path.replace("$LOCATION$", location))
        body = exchange.body or None
        answer = client.request(exchange.method, path, headers=exchange.headers, content=body)
        check(exchange, answer)
        location = location_of(answer) or location


def check(exchange: Exchange, answer: httpx.Response) -> None:
    exact = {_STATUS_CODES[status] for status in exchange.statuses if status in _STATUS_CODES}
    classes = {status.removeprefix("StatusCode")[0] for status in exchange.statuses if status.startswith("StatusCode")}
    assert answer.status_code in exact or str(answer.status_code)[0] in classes, answer.text
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    if exchange.form is not None:
        assert media_type in _FORMS[exchange.form]
    if exchange.boolean is not None:
        assert answer.json()["boolean"] is exchange.boolean
    if exchange.media_type is not None:
        assert answer.headers["content-type"] == exchange.media_type
    if exchange.answer is not None:
        assert canonical(answer.content) == canonical(exchange.answer.encode())


def canonical(turtle: bytes) -> Dataset:
    dataset = Dataset(parse(turtle, format=RdfFormat.TURTLE))
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return dataset


@pytest.mark.parametrize("script", scripts("protocol/manifest.ttl"), ids=lambda script: script.name)
def test_sparql_protocol(client: httpx.Client, script: Script) -> None:
    run(client, script, "/sparql", "/sparql", lambda _: "")


@pytest.mark.parametrize(
    "script", scripts("graph-store-protocol/manifest-indirect.ttl"), ids=lambda script: script.name
)
def test_graph_store_protocol_indirect(client: httpx.Client, script: Script) -> None:
    run(client, script, "/gsp", "/graphs", lambda answer: answer.headers.get("location", ""))


@pytest.mark.parametrize("script", scripts("graph-store-protocol/manifest-direct.ttl"), ids=lambda script: script.name)
def test_graph_store_protocol_direct(client: httpx.Client, script: Script) -> None:
    run(client, script, "/gsp", "/graphs/", lambda answer: answer.headers.get("location", ""))
