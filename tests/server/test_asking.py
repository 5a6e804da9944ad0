"""Questions that are asked once do not hold producers up, and are answered all the same.

They see turns, not milliseconds: what is pushed while a question is answered must be acknowledged before the answer
comes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest
from server_process import ServerProcess

ROWS = 10_000
PUSHES = 5
# A new pattern for each row, which takes its time to compile; and a product of all rows with all rows.
HOSTILE = {
    "patterns": "SELECT ?s { ?s ?p ?o FILTER(REGEX(STR(?s), CONCAT(STR(?o), '((a|b){1,100}){1,100}'))) }",
    "product": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o . ?a ?b ?c FILTER(?o + ?c < 0) }",
}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that lets a question go on for seconds."""
    settings = {"work_max": 10_000_000_000, "question_seconds_max": 3}
    server = ServerProcess(tmp_path_factory.mktemp("asking"), settings).start()
    with server.client() as client:
        triples = "".join(f"<urn:s{number}> <urn:p> {number} .\n" for number in range(ROWS))
        assert client.put("/graphs?default", content=triples, headers={"Content-Type": "text/turtle"}).status_code < 300
        client.put("/streams/http://ex.org/canary")
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize("question", HOSTILE)
def test_producers_are_served_while_a_question_is_answered(slow: ServerProcess, question: str) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        with slow.client() as client:
            answers.append(client.get("/sparql", params={"query": HOSTILE[question]}))

    with slow.client() as producer:
        asking = threading.Thread(target=ask)
        asking.start()
        for number in range(PUSHES):
            path = f"/streams/http://ex.org/canary?t={number}"
            pushed = producer.post(path, content="<urn:a> <urn:p> 1 .", headers={"Content-Type": "text/turtle"})
            assert pushed.status_code == 202
        still_asking = asking.is_alive()
        asking.join()
    assert still_asking, "the pushes waited for the answer"
    assert answers[0].json()["code"] == "query.too_costly"
    assert "milliseconds" in answers[0].json()["detail"]


def test_a_question_that_takes_longer_than_a_turn_is_answered(slow: ServerProcess) -> None:
    with slow.client() as client:
        question = "SELECT (COUNT(*) AS ?n) (SUM(?o) AS ?sum) { ?s ?p ?o . ?s ?q ?r FILTER(STRLEN(STR(?s)) > 0) }"
        rows = client.get("/sparql", params={"query": question}).json()["results"]["bindings"]
    assert [rows[0]["n"]["value"], rows[0]["sum"]["value"]] == [str(ROWS), str(ROWS * (ROWS - 1) // 2)]
