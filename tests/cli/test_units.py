"""Times in the wrong unit are noticed, and an event far from the others does no harm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server_process import ServerProcess
from typer.testing import Result
from whorl_client import Client

Whorl = Callable[..., Result]
Start = Callable[..., ServerProcess]
STREAM = "http://ex/s"
TRIPLE = "<http://ex/a> <http://ex/p> 1 ."
STEP_MS = 10_000
# 2024-05-01: a push at t=1000 and then one at "now" pass 171 million windows of ten seconds.
NOW_MS = 1_714_564_800_000
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?a :p ?b } }"
NONEMPTY = WINDOW.replace("STEP 10s", "STEP 10s REPORT CLOSE, NONEMPTY")
# What each query has to say: in the stretch between the two events, only a query that must report each close speaks.
QUIET = {
    f"SELECT ?a {NONEMPTY}": [STEP_MS, NOW_MS + STEP_MS],
    f"SELECT (COUNT(*) AS ?n) {NONEMPTY}": [STEP_MS, NOW_MS + STEP_MS],
    f"REGISTER ISTREAM :out AS SELECT ?a {WINDOW}": [STEP_MS, NOW_MS + STEP_MS],
    f"REGISTER DSTREAM :out AS SELECT ?a {WINDOW}": [2 * STEP_MS, NOW_MS + 2 * STEP_MS],
}


@pytest.fixture
def event(tmp_path: Path) -> str:
    (tmp_path / "event.ttl").write_text(TRIPLE)
    return str(tmp_path / "event.ttl")


def results_after_both(whorl: Whorl, server: ServerProcess, text: str, event: str) -> list[dict[str, Any]]:
    """Push at t=1000, then now, then twenty seconds later; all pushes succeed, and the query goes on."""
    at = ("--url", server.url, "--token", server.token)
    query = ("query", f"PREFIX : <http://ex/> {text}", "--name", "q", "--declare", "--semantics", "bag", *at)
    assert whorl(*query).exit_code == 0
    for t in (1_000, NOW_MS, NOW_MS + 2 * STEP_MS):
        pushed = whorl("push", event, "--stream", STREAM, "--t", str(t), *at)
        assert (pushed.exit_code, pushed.stderr) == (0, "1 accepted, 0 late, 0 duplicates\n")
    found: list[dict[str, Any]] = []
    position = {"from": "earliest"}
    with server.client() as client:
        assert client.get("/queries/q").json()["status"] == "running"
        while page := client.get("/queries/q/results", params={**position, "limit": "1000"}).json():
            if not page["results"]:
                return found
            found += page["results"]
            position = {"after": page["next"]}
    return found


@pytest.mark.parametrize("text", QUIET)
def test_a_push_at_1000_and_one_now_leave_nothing_between_them(
    text: str, whorl: Whorl, event: str, start_server: Start
) -> None:
    found = results_after_both(whorl, start_server(), text, event)
    assert [result["t"] for result in found] == QUIET[text]
    assert all("skipped" not in result for result in found)


def test_a_query_that_reports_each_close_names_those_that_it_skips(
    whorl: Whorl, event: str, start_server: Start
) -> None:
    server = start_server()
    found = results_after_both(whorl, server, f"SELECT (COUNT(*) AS ?n) {WINDOW}", event)
    n_empty = NOW_MS // STEP_MS - 1
    singly = [2 * STEP_MS + n * STEP_MS for n in range(10_000)]
    assert [result["t"] for result in found] == [STEP_MS, *singly, NOW_MS, NOW_MS + STEP_MS, NOW_MS + 2 * STEP_MS]
    skipped = {"from": singly[-1] + STEP_MS, "to": NOW_MS, "windows": n_empty - 10_000}
    assert [result["skipped"] for result in found if "skipped" in result] == [skipped]
    at = ("--url", server.url, "--token", server.token)
    shown = whorl("query", "q", "--follow", "--from", found[-4]["token"], "--limit", "1", *at).stdout
    assert f"the last of {n_empty - 10_000:,} equal results since 1970-01-02T03:47:00Z" in shown


def test_push_warns_of_seconds_that_are_taken_for_milliseconds(
    whorl: Whorl, event: str, start_server: Start, tmp_path: Path
) -> None:
    server = start_server()
    at = ("--stream", STREAM, "--url", server.url, "--token", server.token)
    (tmp_path / "events.ndjson").write_text(f'{{"t": 1714564801, "data": "{TRIPLE}"}}\n')
    told = whorl("push", str(tmp_path / "events.ndjson"), *at)
    assert told.exit_code == 0
    assert told.stderr.count("warning: ") == 1
    assert "warning: the time 1714564801 is interpreted as milliseconds, which is 1970-01-20" in told.stderr
    assert "\nhint: add --time-unit s for rows" in told.stderr
    assert "warning" not in whorl("push", event, "--t", str(NOW_MS), *at).stderr


def test_push_shows_the_warning_of_the_server_about_times_that_it_alone_reads(
    whorl: Whorl, start_server: Start, tmp_path: Path
) -> None:
    server = start_server()
    at = ("--stream", STREAM, "--url", server.url, "--token", server.token)
    (tmp_path / "timed.ttl").write_text("<http://ex/a> <http://ex/p> 1 ; <http://ex/at> 1714564801 .")
    with Client(server.url, server.token) as client:
        client.streams.create(STREAM, timestamp_predicate="http://ex/at")
        told = whorl("push", str(tmp_path / "timed.ttl"), *at)
        assert told.exit_code == 0
        assert "warning: the watermark 1714564801 looks like a number of seconds" in told.stderr
        ack = client.stream(STREAM).send(TRIPLE, t=1_714_564_802)
        assert ack.warning is not None
        assert ack.warning.startswith("the watermark 1714564802 looks like a number of seconds")
        with client.publisher(STREAM, "p") as publisher:
            publisher.send(TRIPLE, t=1_714_564_803)
            assert publisher.flush().warning is not None
            publisher.send(TRIPLE, t=NOW_MS)
            assert publisher.flush().warning is None
            assert publisher.total.warning is not None, "the total keeps it"
        assert client.stream(STREAM).send(TRIPLE, t=NOW_MS).warning is None
