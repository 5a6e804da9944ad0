"""`GET /queries/{name}/why`: the first reason that holds, from the source to the sink, in words and numbers."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

PREFIX = "PREFIX : <http://ex.org/> "
WINDOW = "FROM NAMED WINDOW :w ON <{stream}> [RANGE 10s STEP 10s]"


class Watched:
    """A query over a stream of the test's own."""

    def __init__(self, client: httpx.Client, stream: str) -> None:
        self.client = client
        self.stream = stream
        self.iri = stream.removeprefix("/streams/")
        self.name = re.sub(r"[^a-z]+", "-", self.iri.rpartition("/")[2].lower())

    def register(self, where: str, head: str = "SELECT *", **options: Any) -> None:
        text = f"{PREFIX} {head} {WINDOW.format(stream=self.iri)} WHERE {{ WINDOW :w {{ {where} }} }}"
        self.client.put(f"/queries/{self.name}", json={"query": text, **options}).raise_for_status()

    def push(self, t: int, turtle: str) -> None:
        headers = {"Content-Type": "text/turtle"}
        content = f"{PREFIX}\n{turtle}"
        self.client.post(self.stream, params={"t": t}, content=content, headers=headers).raise_for_status()

    def why(self) -> dict[str, Any]:
        answer = self.client.get(f"/queries/{self.name}/why")
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document


@pytest.fixture
def watched(client: httpx.Client, stream: str) -> Watched:
    return Watched(client, stream)


def test_nothing_has_come(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    found = watched.why()
    assert (found["state"], found["summary"]) == ("no-events", f"no event has arrived on stream <{watched.iri}> yet")
    assert found["windows"][0] | {"events": 0, "watermark": None, "open": None} == found["windows"][0]


def test_everything_that_was_sent_was_refused(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    headers = {"Content-Type": "text/turtle"}
    answer = watched.client.post(watched.stream, params={"t": 1}, content=":lab :temperature", headers=headers)
    assert answer.status_code == 400
    found = watched.why()
    assert found["state"] == "refused"
    assert found["summary"].startswith(f"everything sent to stream <{watched.iri}> was refused: ")
    assert answer.json()["detail"] in found["summary"]


def test_every_event_is_too_far_ahead(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    watched.push(253_402_300_000_000, ":lab :temperature 20 .")
    found = watched.why()
    assert (found["state"], found["advice"]) == (
        "ahead",
        "times are milliseconds since 1970: check their unit, and the clock of the producer",
    )
    assert found["summary"].startswith(f"every event on stream <{watched.iri}> was set aside")


def test_a_window_that_has_not_ended_says_when_it_will(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    watched.push(20_000, ":lab :temperature 20 .")
    watched.push(23_000, ":lab :temperature 21 .")
    found = watched.why()
    assert (found["state"], found["summary"]) == ("waiting", "no window has closed yet")
    [window] = found["windows"]
    assert (window["open"], window["close"], window["watermark"]) == (20_000, 30_000, 23_000)


def test_the_next_window_follows_t0(watched: Watched) -> None:
    watched.register("?room :temperature ?t", t0=7_000)
    watched.push(8_000, ":lab :temperature 20 .")
    assert [(one["open"], one["close"]) for one in watched.why()["windows"]] == [(7_000, 17_000)]


def test_events_that_are_all_late(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    watched.client.post(f"{watched.stream}/watermark", json={"t": 100_000}).raise_for_status()
    watched.push(20_000, ":lab :temperature 20 .")
    watched.push(30_000, ":lab :temperature 21 .")
    found = watched.why()
    assert (found["state"], found["late"]) == ("late", 2)
    assert found["summary"] == "all events arrived too late for every window"
    assert "more lateness" in found["advice"]


def test_a_misspelled_predicate_is_told_with_those_that_occur(watched: Watched) -> None:
    watched.register("?room :temperatur ?t")
    watched.push(1_000, ":lab :temperature 20 ; :smoke 0 .")
    watched.push(15_000, ":lab :temperature 21 .")
    found = watched.why()
    assert (found["state"], found["summary"]) == ("unmatched", "no triple has matched the pattern ?room :temperatur ?t")
    assert found["advice"].startswith("did you mean :temperature? ")
    assert "http://ex.org/temperature" in found["patterns"][0]["seen"]


def test_a_condition_that_nothing_meets(watched: Watched) -> None:
    watched.register("?room :temperature ?t FILTER(?t > 90)")
    watched.push(1_000, ":lab :temperature 20 .")
    watched.push(2_000, ":hall :temperature 21 .")
    watched.push(11_000, ":hall :temperature 22 .")
    found = watched.why()
    assert (found["state"], found["filtered"]) == ("filtered", 2)
    assert "?t > 90 rejects every triple" in found["summary"]


def test_matches_that_do_not_join(watched: Watched) -> None:
    watched.register("?room :temperature ?t . ?room :smoke ?s")
    watched.push(1_000, ":lab :temperature 20 . :hall :smoke 1 .")
    watched.push(11_000, ":lab :temperature 20 .")
    found = watched.why()
    assert found["state"] == "filtered"
    assert found["summary"].startswith("every pattern has matches")


def test_an_optional_part_is_no_reason(watched: Watched) -> None:
    watched.register("?room :temperature ?t FILTER(?t > 90) OPTIONAL { ?room :never ?x }")
    watched.push(1_000, ":lab :temperature 20 .")
    watched.push(11_000, ":lab :temperature 20 .")
    found = watched.why()
    assert found["state"] == "filtered"
    assert {one["pattern"]: one["required"] for one in found["patterns"]} == {
        "?room :temperature ?t": True,
        "?room :never ?x": False,
    }


def test_what_has_left_its_window(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    watched.push(1_000, ":lab :temperature 20 .")
    watched.push(25_000, ":lab :other 20 .")
    watched.push(31_000, ":lab :other 20 .")
    assert watched.why()["state"] == "expired"


def test_an_answer_is_no_riddle(watched: Watched) -> None:
    watched.register("?room :temperature ?t", head="SELECT ISTREAM *")
    watched.push(1_000, ":lab :temperature 20 .")
    watched.push(11_000, ":lab :temperature 20 .")
    found = watched.why()
    assert (found["state"], found["results"]) == ("answers", 1)
    assert "it emits a result when they change" in found["summary"]


def test_a_graph_that_is_empty(watched: Watched) -> None:
    watched.register("?room :none ?t", head="CONSTRUCT { ?room :is ?t }")
    watched.push(1_000, ":lab :temperature 20 .")
    watched.push(11_000, ":lab :temperature 20 .")
    assert watched.why()["state"] == "unmatched"


def test_windows_that_are_not_kept_show_no_predicates(watched: Watched) -> None:
    watched.register("?room :none ?t", keepWindows=False, keepAnswer=False)
    watched.push(1_000, ":lab :temperature 20 .")
    watched.push(11_000, ":lab :temperature 20 .")
    found = watched.why()
    assert (found["state"], found["advice"], found["patterns"][0]["seen"]) == ("unmatched", None, [])


def test_a_paused_query_says_so(watched: Watched) -> None:
    watched.register("?room :temperature ?t")
    watched.client.post(f"/queries/{watched.name}", json={"action": "pause"}).raise_for_status()
    found = watched.why()
    assert (found["state"], found["advice"]) == ("paused", "restart it")


def test_a_query_that_has_failed_says_why(watched: Watched, client: httpx.Client) -> None:
    watched.register("?a :p ?b . ?c :p ?d", allowCartesian=True)
    for second in range(10):
        triples = " ".join(f":s{second}-{n} :p {n} ." for n in range(400))
        watched.push(1_000 + second, triples)
    watched.push(11_000, ":x :p 1 .")
    assert client.get(f"/queries/{watched.name}").json()["status"] == "failed"
    found = watched.why()
    assert found["state"] == "failed"
    assert found["summary"].startswith("the query has failed: ")


def test_a_query_that_is_not_there(client: httpx.Client) -> None:
    answer = client.get("/queries/none/why")
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:whorl:problem:unknown-query")
