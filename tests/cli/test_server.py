"""Commands against a real server process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from reaper import watch
from typer.testing import Result
from whorl.demo.queries import gallery

Whorl = Callable[..., Result]
SCRIPT = "from whorl.cli import main; main()"
QUERY = """PREFIX : <http://ex/>
SELECT ?room (MAX(?t) AS ?max) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?room :temperature ?t } } GROUP BY ?room
"""
EVENTS = "".join(
    json.dumps({"t": 1_000 * second, "data": f"<http://ex/a> <http://ex/temperature> {second} ."}) + "\n"
    for second in range(1, 41)
)


def query_on(stream: str) -> str:
    return QUERY.replace("ON :s", f"ON :{stream}")


@dataclass(frozen=True)
class Server:
    """A server process and its address."""

    process: subprocess.Popen[str]
    url: str
    directory: Path


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")}


def start(directory: Path, *options: str) -> Server:
    command = [sys.executable, "-c", SCRIPT, "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command, cwd=directory, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watch(process)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"whorl is ready: (http://127\.0\.0\.1:\d+)/\n", line)
    if found is None:
        process.kill()
        pytest.fail(f"no ready line but {line!r}: {process.communicate()[1]}")
    return Server(process, found[1], directory)


def stop(server: Server) -> None:
    server.process.send_signal(signal.SIGINT)
    try:
        server.process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.communicate()
        raise


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start(tmp_path_factory.mktemp("server"))
    yield server
    stop(server)


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Commands run on the machine of the server, where they find its token."""
    monkeypatch.chdir(running.directory)
    monkeypatch.setenv("WHORL_URL", running.url)
    return running


@pytest.fixture
def told(whorl: Whorl, server: Server, monkeypatch: pytest.MonkeyPatch) -> Whorl:
    # The fixture `whorl` takes WHORL_URL away, whichever comes first.
    monkeypatch.setenv("WHORL_URL", server.url)
    return whorl


@pytest.fixture
def stream(told: Whorl, request: pytest.FixtureRequest) -> str:
    """The local name of a stream that this test has for itself."""
    name = request.node.name.partition("[")[0]
    assert told("streams", f"http://ex/{name}", "--declare").exit_code == 0
    return str(name)


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.ndjson"
    path.write_text(EVENTS)
    return str(path)


def test_events_go_in_and_answers_come_out(told: Whorl, stream: str, events: str, tmp_path: Path) -> None:
    query = tmp_path / "hot.rspql"
    query.write_text(query_on(stream))
    assert told("query", str(query), "--name", "hot").stdout == "hot\n"
    pushed = told("push", events, "--stream", f"http://ex/{stream}")
    assert pushed.exit_code == 0
    assert pushed.stderr == "40 accepted, 0 late, 0 duplicates\n"
    shown = told("query", "hot", "--follow", "--from", "earliest", "--limit", "3", "--format", "csv")
    assert shown.exit_code == 0
    assert [line for line in shown.stdout.splitlines() if "ex/a" in line] == [
        "10000,+,http://ex/a,9",
        "20000,+,http://ex/a,19",
        "30000,+,http://ex/a,29",
    ]
    until = told("query", "hot", "-F", "--from", "earliest", "--until", "20000", "--format", "ndjson").stdout
    assert [json.loads(line)["t"] for line in until.splitlines()][-1] == 20_000


def test_why_says_the_reason_and_what_to_do(told: Whorl, stream: str, events: str) -> None:
    told("query", query_on(stream).replace(":temperature", ":temperatur"), "--name", "typo")
    silent = told("why", "typo")
    assert silent.exit_code == 0
    assert f"no event has arrived on stream <http://ex/{stream}> yet" in silent.stdout
    told("push", events, "--stream", f"http://ex/{stream}", "-q")
    shown = told("why", "typo").stdout
    assert "no triple has matched the pattern ?room :temperatur ?t" in shown
    assert "did you mean :temperature?" in shown
    document = json.loads(told("why", "typo", "--json").stdout)
    assert (document["state"], document["query"]) == ("unmatched", "typo")


def test_a_token_of_an_answer_goes_on_after_it(told: Whorl, stream: str, events: str) -> None:
    told("query", query_on(stream), "--name", "resumed")
    told("push", events, "--stream", f"http://ex/{stream}", "--quiet")
    everything = told(
        "query", "resumed", "-F", "--from", "earliest", "--limit", "2", "-f", "ndjson"
    ).stdout.splitlines()
    first, second = (json.loads(line) for line in everything)
    again = told("query", "resumed", "-F", "--from", first["token"], "--limit", "1", "-f", "ndjson").stdout
    assert json.loads(again)["seq"] == second["seq"]


def test_the_current_answer_and_one_question(told: Whorl, stream: str, events: str) -> None:
    assert told("query", "ASK {}", "--format", "csv").stdout == "boolean\ntrue\n"
    told("query", query_on(stream), "--name", "current")
    told("push", events, "--stream", f"http://ex/{stream}", "-q")
    document = json.loads(told("query", "current", "--format", "json").stdout)
    assert document["head"]["vars"] == ["room", "max"]
    # The last window that closed is the one that ends at 40 s.
    assert told("query", "current", "--format", "csv").stdout == "room,max\nhttp://ex/a,39\n"


@pytest.mark.parametrize(
    ("ignored", "ended_by", "code"),
    [(False, signal.SIGINT, 130), (False, signal.SIGTERM, 143), (True, signal.SIGTERM, 143)],
    ids=["SIGINT", "SIGTERM", "SIGTERM where SIGINT is ignored"],
)
def test_a_query_without_a_name_goes_with_its_command(
    server: Server, stream: str, ignored: bool, ended_by: signal.Signals, code: int
) -> None:
    """In the background of a script (`nohup make test &`), SIGINT is ignored, and what it starts inherits that."""
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        "query",
        query_on(stream),
        "--follow",
        "--format",
        "ndjson",
        "--from",
        "earliest",
    ]
    environ = {**environment(), "WHORL_URL": server.url}
    before = names(server)
    process = subprocess.Popen(
        command,
        cwd=server.directory,
        env=environ,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL),
    )
    watch(process)
    try:
        while len(names(server)) == len(before):
            assert process.poll() is None
        if ignored:
            process.send_signal(signal.SIGINT)
        process.send_signal(ended_by)
        assert process.wait(30) == code
    finally:
        process.kill()
        process.wait()
    assert names(server) == before


def names(server: Server) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "queries", "--json", "--url", server.url],
        cwd=server.directory,
        env=environment(),
        capture_output=True,
        check=True,
    )
    return {query["id"] for query in json.loads(done.stdout)}


def test_lists_status_and_plans(told: Whorl, stream: str, events: str) -> None:
    iri = f"http://ex/{stream}"
    told("query", query_on(stream), "--name", "listed")
    told("push", events, "--stream", iri, "-q")
    assert any(line.split()[:2] == ["listed", "running"] for line in told("queries").stdout.splitlines())
    assert told("queries", "listed", "--text").stdout.strip() == query_on(stream).strip()
    assert iri in told("streams").stdout
    assert json.loads(told("streams", iri, "--json").stdout)[0]["events"] == 40
    assert "queries" in told("status").stdout
    plan = told("explain", "listed").stdout
    assert "leaf" in plan
    assert re.search(r"[1-9]\d* matched", plan)
    assert json.loads(told("explain", "listed", "--json").stdout)["query"]["form"] == "SELECT"


def test_queries_and_streams_are_paused_restarted_and_deleted(told: Whorl) -> None:
    assert told("streams", "http://ex/other", "--declare", "--lateness", "10s").exit_code == 0
    told("query", query_on("other"), "--name", "brief")
    assert "paused" in told("queries", "brief", "--pause").stdout
    assert "running" in told("queries", "brief", "--restart").stdout
    in_use = told("streams", "http://ex/other", "--delete")
    assert in_use.exit_code == 1
    assert told("streams", "http://ex/other", "--delete", "--cascade").exit_code == 0
    gone = told("queries", "brief")
    assert (gone.exit_code, gone.stdout) == (1, "")
    assert told("queries", "--delete").exit_code == 2


def test_a_wrong_query_has_its_place_and_wrong_data_its_line(told: Whorl, stream: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.rspql"
    path.write_text("PREFIX : <http://ex/>\nSELECT ?r WHER { }\n")
    refused = told("query", str(path), "--follow")
    assert refused.exit_code == 1
    assert refused.stderr.splitlines()[1:4] == [f"  --> {path}:2:11", "2 | SELECT ?r WHER { }", "  |           ^"]
    data = tmp_path / "wrong.ttl"
    data.write_text("<http://ex/a> <http://ex/p> .")
    wrong = told("push", str(data), "--stream", f"http://ex/{stream}", "--t", "1")
    assert wrong.exit_code == 1
    assert "<http://ex/a> <http://ex/p> ." in wrong.stderr
    timeless = tmp_path / "timeless.ttl"
    timeless.write_text("<http://ex/a> <http://ex/p> 1 .")
    assert "--t" in told("push", str(timeless), "--stream", f"http://ex/{stream}").stderr


def test_a_stream_that_is_not_there_is_told_with_what_to_do(told: Whorl) -> None:
    refused = told("query", query_on("nowhere"), "--name", "nowhere")
    assert refused.exit_code == 1
    assert "http://ex/nowhere" in refused.stderr
    assert "hint: " in refused.stderr


def test_rows_are_pushed_by_a_mapping(told: Whorl, stream: str, tmp_path: Path) -> None:
    mapping, rows = tmp_path / "rows.rq", tmp_path / "rows.csv"
    mapping.write_text(
        "PREFIX : <http://ex/>\n"
        'CONSTRUCT { ?iri :temperature ?temp } WHERE { BIND(IRI(CONCAT("http://ex/", ?room)) AS ?iri) }'
    )
    rows.write_text("room,temp,when\na,20,1000\nb,18,12000\n")
    told("query", query_on(stream), "--name", "rows")
    pushed = told(
        "push", str(rows), "--stream", f"http://ex/{stream}", "--mapping", str(mapping), "--time", "when", "--close"
    )
    assert pushed.stderr == "2 accepted, 0 late, 0 duplicates\n"
    shown = told("query", "rows", "-F", "--from", "earliest", "--limit", "2", "-f", "csv").stdout
    assert shown.splitlines()[1:] == ["10000,+,http://ex/a,20", "20000,+,http://ex/b,18"]


def test_a_replay_takes_the_time_of_its_events(told: Whorl, tmp_path: Path) -> None:
    import time

    path = tmp_path / "two.ndjson"
    path.write_text("".join(EVENTS.splitlines(keepends=True)[:2]))
    began = time.monotonic()
    assert told("push", str(path), "--stream", "http://ex/replayed", "--speed", "x4").exit_code == 0
    assert time.monotonic() - began >= 0.25


def test_without_its_token_nothing_is_done(told: Whorl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = told("queries")
    assert refused.exit_code == 1
    assert "--token" in refused.stderr
    assert told("queries", "--token", "wrong").exit_code == 1


def test_a_port_that_is_taken_is_named(server: Server, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-c", SCRIPT, "serve", "--port", port, "--data-dir", str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"port {port} is in use" in done.stderr


def test_the_demo_plays_and_its_gallery_answers(tmp_path: Path) -> None:
    server = start(tmp_path, "--demo")
    try:
        command = [sys.executable, "-c", SCRIPT, "query", "warmest-rooms", "-F", "-f", "ndjson", "--limit", "2"]
        deadline_s = 60
        while names(server) != {query.name for query in gallery()}:
            assert server.process.poll() is None
        done = subprocess.run(
            [*command, "--url", server.url],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=deadline_s,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert any(answer["results"]["results"]["bindings"] for answer in answers)
    finally:
        stop(server)
