"""Every number that the dashboard and the alerts ask for is one that the server has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from server_process import ServerProcess

ROOT = Path(__file__).parents[2]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "docker/grafana/dashboards/whorl.json").read_text())
QUERY = """PREFIX : <http://ex.org/>
SELECT ?s FROM NAMED WINDOW :w ON <http://ex.org/numbers> [RANGE 1s STEP 1s] WHERE { WINDOW :w { ?s :p ?o } }"""
PROMTOOL = shutil.which("promtool")
_NAME = re.compile(r"\b(?:whorl|process)_[a-z_]+\b")


def asked() -> dict[str, str]:
    """What is asked, by the name of the panel or alert."""
    panels = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", [])
    }
    groups = yaml.safe_load((ROOT / "docker/prometheus/alerts.yml").read_text())["groups"]
    return panels | {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


@pytest.fixture(scope="module")
def samples(server: ServerProcess) -> Iterator[dict[str, list[Any]]]:
    """What the server says when it has a stream, a query, results and requests."""
    with server.client() as client:
        assert client.put("/streams/http://ex.org/numbers").status_code == 201
        registered = client.put("/queries/numbers", content=QUERY, headers={"Content-Type": "application/rsp-ql"})
        assert registered.status_code == 201
        turtle = {"Content-Type": "text/turtle"}
        for t in (1000, 2500, 4000):
            body = f"<a:a> <http://ex.org/p> {t} ."
            pushed = client.post("/streams/http://ex.org/numbers", params={"t": t}, content=body, headers=turtle)
            assert pushed.status_code == 202, pushed.text
        yield read(client)
        client.delete("/streams/http://ex.org/numbers", params={"cascade": "true"})


def read(client: httpx.Client) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    deadline = time.monotonic() + 10
    # The server sends watermarks of queries to readers once a second.
    while "whorl_query_watermark_seconds" not in found and time.monotonic() < deadline:
        found = {}
        for family in text_string_to_metric_families(client.get("/metrics").text):
            for sample in family.samples:
                found.setdefault(sample.name, []).append(sample)
    return found


@pytest.mark.parametrize("expression", asked().values(), ids=asked())
def test_every_number_that_is_asked_for_exists(samples: dict[str, list[Any]], expression: str) -> None:
    names = set(_NAME.findall(expression))
    assert names or expression.startswith("up")
    assert names - samples.keys() == set()


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on this machine")
@pytest.mark.usefixtures("samples")
def test_promtool_has_nothing_to_say(server: ServerProcess) -> None:
    with server.client() as client:
        text = client.get("/metrics").text
    assert PROMTOOL is not None
    checked = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_every_label_that_is_shown_exists(samples: dict[str, list[Any]]) -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            for name in _NAME.findall(target["expr"]):
                assert all(labels <= sample.labels.keys() for sample in samples[name]), target["expr"]


def test_panels_have_ids_of_their_own_and_do_not_cover_each_other() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))


def test_latencies_are_histograms(samples: dict[str, list[Any]]) -> None:
    pushes = {"method": "POST", "part": "streams"}
    buckets = {
        sample.labels["le"]: sample.value
        for sample in samples["whorl_request_duration_seconds_bucket"]
        if pushes.items() <= sample.labels.items()
    }
    counts = [sample.value for sample in samples["whorl_request_duration_seconds_count"] if sample.labels == pushes]
    assert list(buckets.values()) == sorted(buckets.values())
    assert counts == [buckets["+Inf"]]
    assert counts[0] >= 3


def test_queries_are_counted_by_name(samples: dict[str, list[Any]]) -> None:
    evaluations = {sample.labels["query"]: sample.value for sample in samples["whorl_query_evaluations_total"]}
    assert evaluations["numbers"] >= 2
    seconds = {sample.labels["query"]: sample.value for sample in samples["whorl_query_evaluation_seconds_total"]}
    assert 0 < seconds["numbers"] < 1
    failed = {sample.labels["query"]: sample.value for sample in samples["whorl_query_failed"]}
    assert failed["numbers"] == 0


def test_strange_requests_make_no_new_labels(start_server: Callable[..., ServerProcess]) -> None:
    with start_server().client() as client:
        for number in range(20):
            client.request("PROPFIND", f"/made-up/{number}")
        text = client.get("/metrics").text
    assert 'whorl_requests_total{code="404",method="other",part="other"} 20.0' in text
    assert "made-up" not in text
