"""SPARQL and graphs as other software sees them: SPARQLWrapper reads answers, formats follow Accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import rdflib
from pyoxigraph import RdfFormat, parse
from server_process import ServerProcess
from SPARQLWrapper import CSV, JSON, N3, TURTLE, XML, SPARQLWrapper

DATA = "@prefix ex: <http://ex.org/> . ex:a ex:p 1 . ex:b ex:p 2 . ex:c ex:q ex:a ."
RSPQL = {"Content-Type": "application/rsp-ql"}


@pytest.fixture(autouse=True)
def graph(client: httpx.Client) -> Iterator[str]:
    path = "/graphs?graph=http://ex.org/sparql"
    assert client.put(path, content=DATA, headers={"Content-Type": "text/turtle"}).status_code == 201
    yield path
    client.delete(path)


def wrapper(server: ServerProcess, path: str = "/sparql") -> SPARQLWrapper:
    wrapped = SPARQLWrapper(server.url + path)
    wrapped.addCustomHttpHeader("Authorization", f"Bearer {server.token}")
    return wrapped


def converted(wrapped: SPARQLWrapper) -> Any:
    """What SPARQLWrapper makes of the response; its type depends on the format."""
    return wrapped.queryAndConvert()


SELECT = "SELECT ?s ?o { GRAPH <http://ex.org/sparql> { ?s <http://ex.org/p> ?o } } ORDER BY ?o"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sparqlwrapper_reads_tables(server: ServerProcess, method: str) -> None:
    wrapped = wrapper(server)
    wrapped.setMethod(method)
    wrapped.setQuery(SELECT)
    wrapped.setReturnFormat(JSON)
    rows = converted(wrapped)["results"]["bindings"]
    assert [row["s"]["value"] for row in rows] == ["http://ex.org/a", "http://ex.org/b"]
    wrapped.setReturnFormat(XML)
    assert "http://ex.org/b" in converted(wrapped).toxml()
    wrapped.setReturnFormat(CSV)
    assert converted(wrapped).decode().splitlines()[1] == "http://ex.org/a,1"


@pytest.mark.parametrize("form", [TURTLE, N3])
def test_sparqlwrapper_reads_graphs(server: ServerProcess, form: str) -> None:
    wrapped = wrapper(server)
    wrapped.setQuery("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <http://ex.org/sparql> { ?s ?p ?o } }")
    wrapped.setReturnFormat(form)
    found = rdflib.Graph().parse(data=converted(wrapped), format="turtle")
    assert len(found) == 3


def test_sparqlwrapper_updates(server: ServerProcess) -> None:
    wrapped = wrapper(server)
    wrapped.setMethod("POST")
    wrapped.setQuery("INSERT DATA { GRAPH <http://ex.org/sparql> { <http://ex.org/d> <http://ex.org/p> 3 } }")
    wrapped.query()
    wrapped.setQuery("ASK { GRAPH <http://ex.org/sparql> { ?s ?p 3 } }")
    wrapped.setReturnFormat(JSON)
    assert converted(wrapped)["boolean"] is True


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("text/csv;q=0.5, application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/tab-separated-values", "text/tab-separated-values"),
        ("application/json", "application/json"),
        ("text/html, */*;q=0.1", "application/sparql-results+json"),
    ],
)
def test_tables_come_as_asked(client: httpx.Client, accept: str, media_type: str) -> None:
    answer = client.get("/sparql", params={"query": SELECT}, headers={"Accept": accept})
    assert answer.headers["content-type"].partition(";")[0] == media_type


@pytest.mark.parametrize("media_type", ["text/turtle", "application/n-triples", "application/ld+json"])
def test_a_graph_comes_as_asked(client: httpx.Client, graph: str, media_type: str) -> None:
    answer = client.get(graph, headers={"Accept": media_type})
    assert answer.headers["content-type"].partition(";")[0] == media_type
    form = RdfFormat.from_media_type(media_type)
    assert len(list(parse(answer.content, format=form))) == 3
    assert client.head(graph, headers={"Accept": media_type}).status_code == 200


def test_a_window_is_a_graph(client: httpx.Client, stream: str) -> None:
    iri = stream.removeprefix("/streams/")
    text = f"SELECT ?s FROM NAMED WINDOW <http://ex.org/now> ON <{iri}> [RANGE 10s STEP 10s] "
    text += "WHERE { WINDOW <http://ex.org/now> { ?s ?p ?o } }"
    assert client.put("/queries/windowed", content=text, headers=RSPQL).status_code == 201
    for at, value in ((1000, 9), (12_000, 10)):
        event = f"<http://ex.org/x> <http://ex.org/p> {value} ."
        client.post(stream, params={"t": at}, content=event, headers={"Content-Type": "text/turtle"})
    asked = client.get("/sparql", params={"query": "ASK { GRAPH <http://ex.org/now> { ?s ?p 9 } }"})
    assert asked.json()["boolean"] is True


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * { SERVICE SILENT <http://127.0.0.1:9/> { ?s ?p ?o } }",
    ],
)
def test_nothing_is_fetched(client: httpx.Client, query: str) -> None:
    assert client.get("/sparql", params={"query": query}).status_code in {400, 422}
    assert client.post("/sparql", data={"update": "LOAD <http://127.0.0.1:9/>"}).status_code in {400, 422}
    remote = '{"@context": "http://127.0.0.1:9/", "@id": "http://ex.org/a", "p": 1}'
    answer = client.put("/graphs?default", content=remote, headers={"Content-Type": "application/ld+json"})
    assert answer.status_code in {400, 422}


def test_update_failures_are_problems(client: httpx.Client) -> None:
    answer = client.post("/sparql", data={"update": "CLEAR GRAPH <http://ex.org/unknown>"})
    assert answer.status_code in {404, 409, 422}
    assert answer.headers["content-type"] == "application/problem+json"
