"""Which query takes the time: a busy one has far more seconds than one whose pattern never matches."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families
from server_process import ServerProcess

STREAM = "/streams/http://ex.org/times"
PAIRS = """PREFIX : <http://ex.org/>
SELECT ?a ?b FROM NAMED WINDOW :w ON <http://ex.org/times> [RANGE 10s STEP 1s]
WHERE { WINDOW :w { ?a :p ?x . ?b :p ?x } }"""
QUERIES = {"busy": PAIRS, "calm": PAIRS.replace("?b :p ?x", "?b :absent ?x").replace("10s", "20s")}


def counters(client: httpx.Client, name: str) -> dict[str, float]:
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    return {sample.labels.get("query", ""): sample.value for sample in families[name].samples}


def test_the_busy_query_is_found_by_its_seconds(server: ServerProcess) -> None:
    with server.client() as client:
        assert client.put(STREAM).status_code == 201
        for name, text in QUERIES.items():
            put = client.put(f"/queries/{name}", content=text, headers={"Content-Type": "application/rsp-ql"})
            assert put.status_code == 201, put.text
        applied_before = counters(client, "whorl_apply_seconds")[""]
        lines = "".join(
            f'{{"t": {100 * n}, "data": "<http://ex.org/{n}> <http://ex.org/p> {n % 2} ."}}\n' for n in range(400)
        )
        pushed = client.post(STREAM, content=lines, headers={"Content-Type": "application/x-ndjson"})
        assert pushed.json()["accepted"] == 400
        seconds = counters(client, "whorl_query_evaluation_seconds")
        applied = counters(client, "whorl_apply_seconds")[""] - applied_before
        assert client.delete(STREAM, params={"cascade": "true"}).status_code == 204
    assert seconds["busy"] > 10 * seconds["calm"] > 0
    assert seconds["busy"] + seconds["calm"] < applied
