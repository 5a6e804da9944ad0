"""The first hour with the command line: surprises are explained, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from reaper import watch
from server_process import ServerProcess
from typer.testing import Result

Whorl = Callable[..., Result]
Start = Callable[..., ServerProcess]
# Started by nohup, a process ignores SIGHUP, and so do those that it starts.
SCRIPT = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from whorl.cli import main; main()"
MEAN = """PREFIX : <http://ex/>
SELECT ?room (AVG(?t) AS ?mean) (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?room :temperature ?t } } GROUP BY ?room
"""
EVENTS = "".join(
    f'{{"t": {second * 1_000}, "data": "<http://ex/a> <http://ex/temperature> {t} ."}}\n'
    for second, t in [(1, 20), (2, 20), (3, 26), (11, 20)]
)


@pytest.fixture
def mean(tmp_path: Path) -> str:
    (tmp_path / "events.ndjson").write_text(EVENTS)
    (tmp_path / "mean.rspql").write_text(MEAN)
    return str(tmp_path / "mean.rspql")


def test_run_warns_of_merged_readings_with_their_place(whorl: Whorl, mean: str, tmp_path: Path) -> None:
    events = str(tmp_path / "events.ndjson")
    as_set = whorl("run", mean, "-i", events, "-f", "csv", "--limit", "1")
    assert as_set.stdout.splitlines()[1] == "10000,+,http://ex/a,23,2"
    assert "warning: AVG(?t) counts equal readings once" in as_set.stderr
    assert f"  --> {mean}:2:15\n2 | SELECT ?room (AVG(?t)" in as_set.stderr
    assert "  |               ^\nhint: choose bag semantics" in as_set.stderr
    as_bag = whorl("run", mean, "-i", events, "-f", "csv", "--limit", "1", "--semantics", "bag")
    assert as_bag.stdout.splitlines()[1] == "10000,+,http://ex/a,22,3"
    assert "warning" not in as_bag.stderr


def test_query_warns_when_it_registers(whorl: Whorl, mean: str, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    whorl("streams", "http://ex/s", "--declare", *at)
    registered = whorl("query", mean, "--name", "mean", *at)
    assert registered.exit_code == 0
    assert "warning: AVG(?t) counts equal readings once" in registered.stderr
    assert "mean.rspql:2:15" in registered.stderr
    with server.client() as client:
        (first, second) = client.get("/queries/mean").json()["warnings"]
        assert (first["code"], first["line"], first["column"]) == ("aggregate.merges", 2, 15)
        assert second["message"].startswith("COUNT(*) counts")
        found = client.post("/queries/validate", json={"query": MEAN}).json()["warnings"]
        assert [warning["code"] for warning in found] == ["aggregate.merges", "aggregate.merges"]
    assert "warning" not in whorl("query", mean, "--name", "bag", "--semantics", "bag", *at).stderr
    assert "warning at 2:15: AVG(?t)" in whorl("explain", mean).stdout


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_query_without_a_name_ends_with_its_command(
    ending: signal.Signals, whorl: Whorl, mean: str, start_server: Start
) -> None:
    server = start_server()
    whorl("streams", "http://ex/s", "--declare", "--url", server.url, "--token", server.token)
    with following(server, mean) as command, server.client() as client:
        wait_for_results(command, client)
        assert len(client.get("/queries").json()["queries"]) == 1
        command.send_signal(ending)
        command.communicate(timeout=30)
        wait_until(lambda: client.get("/queries").json()["queries"] == [])


def test_a_query_without_a_name_does_not_outlive_the_server(whorl: Whorl, mean: str, start_server: Start) -> None:
    server = start_server()
    whorl("streams", "http://ex/s", "--declare", "--url", server.url, "--token", server.token)
    with following(server, mean) as command, server.client() as client:
        wait_for_results(command, client)
        server.kill()
    with server.start().client() as client:
        assert client.get("/queries").json()["queries"] == []


@contextlib.contextmanager
def following(server: ServerProcess, query: str) -> Iterator[subprocess.Popen[str]]:
    words = ["query", query, "--follow", "-f", "ndjson", "--url", server.url, "--token", server.token]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")}
    pipe = subprocess.PIPE
    script = [sys.executable, "-c", SCRIPT, *words]
    with subprocess.Popen(script, env=environment, stdout=pipe, stderr=pipe, text=True) as command:
        watch(command)
        try:
            yield command
        finally:
            command.kill()


def wait_for_results(command: subprocess.Popen[str], client: httpx.Client) -> None:
    """Send events until a result shows that the query runs."""
    wait_until(lambda: client.get("/queries").json()["queries"] != [])
    client.post("/streams/http%3A%2F%2Fex%2Fs", content=EVENTS, headers={"content-type": "application/x-ndjson"})
    assert command.stdout is not None
    assert '"query"' in command.stdout.readline()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Ask again and again; the time limit of the test ends it."""
    while not is_so():
        pass


def test_a_query_can_be_tried_replaced_and_its_streams_declared(whorl: Whorl, mean: str, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    assert whorl("query", mean, "--name", "mean", *at).exit_code == 1, "nobody has declared the stream"
    assert whorl("query", mean, "--name", "mean", "--declare", *at).exit_code == 0
    other = MEAN.replace("AVG", "MAX")
    assert "exists with another text" in whorl("query", other, "--name", "mean", *at).stderr
    with server.client() as client:
        before = client.get("/queries/mean").json()
        assert whorl("query", "SELECT ?x WHER {}", "--name", "mean", "--replace", *at).exit_code == 1
        assert client.get("/queries/mean").json()["incarnation"] == before["incarnation"], "a mistake changes nothing"
        assert whorl("query", other, "--name", "mean", "--replace", *at).exit_code == 0
        after = client.get("/queries/mean").json()
        assert (after["body"], after["incarnation"] != before["incarnation"]) == (other, True)
        told = client.put("/queries/mean?semantic=bag", content=other, headers={"content-type": "text/plain"})
        assert (told.status_code, told.json()["hint"]) == (400, "did you mean 'semantics'?")
        assert client.get("/queries?limitt=3").status_code == 400
        assert client.get("/streams").status_code == 200


def test_a_mistyped_setting_is_refused(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_DATADIR", "/nowhere")
    refused = whorl("serve")
    assert refused.exit_code == 2
    assert "there is no setting WHORL_DATADIR; did you mean WHORL_DATA_DIR?" in refused.stderr


def test_a_variable_that_is_no_setting_is_warned_of(
    whorl: Whorl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = ServerProcess(tmp_path / "data", environment={"WHORL_COLOUR_SCHEME": "green"})
    try:
        assert "WARNING whorl.serve WHORL_COLOUR_SCHEME is not a setting and has no effect" in server.start().log
    finally:
        server.kill()
    monkeypatch.setenv("WHORL_COLOUR_SCHEME", "green")
    told = whorl("doctor", "--url", "http://127.0.0.1:9").stdout
    assert "settings: WHORL_COLOUR_SCHEME is not a setting and has no effect" in told


def test_a_stream_that_has_ended_is_reopened_and_its_queries_go_on(
    whorl: Whorl, mean: str, start_server: Start, tmp_path: Path
) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    push = ("push", str(tmp_path / "events.ndjson"), "--stream", "http://ex/s", "-q", *at)
    assert whorl("query", mean, "--name", "mean", "--declare", *at).exit_code == 0
    assert whorl(*push, "--close").exit_code == 0
    status = whorl("status", *at).stdout
    assert "4 events" in status
    assert "1 ended" in status
    assert "none: the streams have ended" in status
    again = whorl(*push)
    assert again.exit_code == 1
    assert "stream <http://ex/s> is closed" in again.stderr
    assert "/reopen reopens it" in again.stderr
    with server.client() as client:
        before = client.get("/queries/mean").json()["incarnation"]
    assert "open" in whorl("streams", "http://ex/s", "--reopen", *at).stdout
    assert whorl(*push).exit_code == 0
    server.kill()
    server.start()
    with server.client() as client:
        after = client.get("/queries/mean").json()
        assert (after["incarnation"] != before, after["lastSeq"]) == (True, 1)
        assert "http://ex/a,23,2" in client.get("/queries/mean/results", headers={"accept": "text/csv"}).text
        assert client.get("/streams/http%3A%2F%2Fex%2Fs").json()["status"] == "open"


def test_static_data_comes_out_of_an_archive_and_rows_are_refused_as_such(whorl: Whorl, tmp_path: Path) -> None:
    (tmp_path / "rooms.ttl").write_text('<http://ex/a> <http://ex/floor> "ground" .')
    (tmp_path / "rooms.csv").write_text("room,floor\na,ground\n")
    (tmp_path / "events.ndjson").write_text(EVENTS)
    with tarfile.open(tmp_path / "static.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "rooms.ttl", "static/rooms.ttl")
    query = """PREFIX : <http://ex/> SELECT ?floor (MAX(?t) AS ?top) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s]
        WHERE { WINDOW :w { ?room :temperature ?t } ?room :floor ?floor } GROUP BY ?floor"""
    run = ("run", query, "-i", str(tmp_path / "events.ndjson"), "-f", "csv", "--limit", "1", "-s")
    assert whorl(*run, f"{tmp_path}/static.tar.gz:*.ttl").stdout.splitlines()[1] == "10000,+,ground,26"
    assert "there is no file '*.nt' in" in whorl(*run, f"{tmp_path}/static.tar.gz:*.nt").stderr
    refused = whorl(*run, f"{tmp_path}/rooms.csv")
    assert refused.exit_code == 2
    assert "rooms.csv' cannot be loaded as static data\nhint: static data is RDF, in a file that ends with .ttl," in (
        refused.stderr
    )


# ---- where a stranger had to guess ----


def test_a_mistyped_name_is_answered_with_the_one_that_was_meant(whorl: Whorl, mean: str, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    assert whorl("query", "mean", *at).stderr == "error: query 'mean' does not exist\nhint: there are no queries\n"
    assert whorl("query", mean, "--name", "mean-temperature", "--declare", *at).exit_code == 0
    for command in (("query", "mean-temprature"), ("query", "mean-temprature", "--follow"), ("why", "mean-temprature")):
        assert "hint: did you mean 'mean-temperature'?\n" in whorl(*command, *at).stderr
    assert "hint: known queries: 'mean-temperature'\n" in whorl("explain", "rooms", *at).stderr
    assert "hint: did you mean <http://ex/s>?\n" in whorl("streams", "http://ex/ss", *at).stderr
    assert "hint: known streams: <http://ex/s>\n" in whorl("streams", "http://other/room", *at).stderr


def test_a_continuous_text_without_follow_says_what_is_missing(whorl: Whorl, mean: str, start_server: Start) -> None:
    server = start_server()
    told = whorl("query", mean, "--url", server.url, "--token", server.token)
    assert told.exit_code == 1
    assert "error: this is a continuous query and cannot be evaluated once\n" in told.stderr
    assert told.stderr.endswith("hint: add --follow to follow it, or --name NAME to register it\n")


def test_an_empty_result_says_where_the_reason_is(whorl: Whorl, mean: str, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    assert whorl("query", mean, "--name", "mean", "--declare", *at).exit_code == 0
    assert whorl("query", "mean", *at).stderr == "the current result is empty; `whorl why mean` shows why\n"
    assert whorl("query", "SELECT * { ?s ?p ?o }", *at).stderr == "the result is empty\n"
    assert whorl("query", "ASK { ?s ?p ?o }", *at).stderr == ""


def test_late_events_are_told_with_what_to_do(whorl: Whorl, mean: str, tmp_path: Path, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    assert whorl("query", mean, "--name", "mean", "--declare", *at).exit_code == 0
    push = ("push", str(tmp_path / "events.ndjson"), "--stream", "http://ex/s", *at)
    assert whorl(*push).stderr == "4 accepted, 0 late, 0 duplicates\n"
    counts, hint = whorl(*push).stderr.splitlines()
    assert counts == "1 accepted, 3 late, 0 duplicates"
    assert hint.startswith(
        "hint: late events are older than the watermark of the stream, which is 1970-01-01T00:00:11Z"
    )


def test_a_file_that_cannot_be_read_leaves_no_stream(whorl: Whorl, tmp_path: Path, start_server: Start) -> None:
    server = start_server()
    at = ("--stream", "http://ex/s", "--url", server.url, "--token", server.token)
    (tmp_path / "rows.csv").write_text("t,a\n1,2\n")
    for name in ("missing.nq", "rows.csv"):
        told = whorl("push", str(tmp_path / name), *at)
        assert told.exit_code != 0
        assert told.stderr.startswith("error: "), "nothing was sent, so there is nothing to count"
    with server.client() as client:
        assert client.get("/streams").json()["streams"] == []


def test_lists_without_entries_say_so(whorl: Whorl, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    assert whorl("streams", *at).stderr == "no stream is declared\n"
    assert whorl("queries", *at).stderr == "no query is registered\n"
    assert whorl("tokens", "list", *at).stderr == "there is only the admin token\n"
