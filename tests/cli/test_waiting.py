"""While no result arrives, commands explain why; so does a run that ends without one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reaper import watch
from server_process import ServerProcess
from typer.testing import Result

Whorl = Callable[..., Result]
Start = Callable[..., ServerProcess]
SCRIPT = "from whorl.cli import main; main()"
QUERY = """PREFIX : <http://ex/>
SELECT ?room ?t FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?room :temperature ?t } }
"""
MISTYPED = QUERY.replace(":temperature", ":temperatur")


def event(second: int, t: int = 20) -> str:
    return f'{{"t": {second * 1_000}, "data": "<http://ex/a> <http://ex/temperature> {t} ."}}\n'


EVENTS = "".join(map(event, (1, 3, 12)))


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.ndjson"
    path.write_text(EVENTS)
    return str(path)


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")}
    command = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *words],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch(command)
    try:
        yield command
    finally:
        command.kill()
        command.communicate()


def told(command: subprocess.Popen[str], start: str) -> str:
    """The next line that begins like this; the time limit of the test ends it."""
    assert command.stderr is not None
    while not (line := command.stderr.readline()).startswith(start):
        assert line, f"the command ended without a line that begins with {start!r}"
    return line.rstrip("\n")


def test_a_run_without_a_result_names_the_pattern_and_what_occurs(whorl: Whorl, events: str) -> None:
    ran = whorl("run", MISTYPED, "-i", events)
    assert ran.exit_code == 0
    assert "no result: no triple has matched the pattern ?room :temperatur ?t; window :w" in ran.stderr
    assert "hint: did you mean :temperature? its window has triples with :temperature\n" in ran.stderr


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("?room :temperature ?t FILTER(?t > 90)", "the filter ?t > 90 rejects every triple of the pattern"),
        ("?room :temperature ?t . ?t :is ?u", "no triple has matched the pattern ?t :is ?u"),
        ("?room :temperature ?t . ?t :temperature ?u", "every pattern has matches, but no combination of them"),
    ],
)
def test_a_run_without_a_result_tells_the_first_reason(whorl: Whorl, events: str, where: str, said: str) -> None:
    assert said in whorl("run", QUERY.replace("?room :temperature ?t", where), "-i", events).stderr


def test_rows_are_looked_at_through_their_mapping(whorl: Whorl, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("t,room,celsius\n1000,a,20\n12000,a,21\n")
    (tmp_path / "rows.rq").write_text(
        'CONSTRUCT { ?s <http://ex/temperature> ?celsius } WHERE { BIND(IRI(CONCAT("http://ex/", ?room)) AS ?s) }'
    )
    ran = whorl("run", MISTYPED, "-i", str(tmp_path / "rows.csv"), "--mapping", str(tmp_path / "rows.rq"))
    assert "did you mean :temperature?" in ran.stderr


def test_a_run_with_a_result_says_nothing(whorl: Whorl, events: str) -> None:
    assert "no result" not in whorl("run", QUERY, "-i", events).stderr


def test_a_run_that_waits_for_its_input_tells_how_far_the_window_is() -> None:
    with started("run", QUERY, "-i", "-", "--input-format", "ndjson") as command:
        assert command.stdin is not None
        command.stdin.write(event(3))
        command.stdin.flush()
        line = told(command, "no result yet")
    reached = "watermark 1970-01-01T00:00:03Z, 1 event"
    assert line == f"no result yet: no window has closed yet; window :w open until 1970-01-01T00:00:10Z, {reached}"


@pytest.mark.parametrize("named", [False, True], ids=["text", "name"])
def test_a_followed_query_tells_why_nothing_comes(named: bool, whorl: Whorl, start_server: Start) -> None:
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    whorl("streams", "http://ex/s", "--declare", *at)
    whorl("query", MISTYPED, "--name", "mistyped", *at)
    with started("query", "mistyped" if named else MISTYPED, "--follow", *at) as command, server.client() as client:
        assert told(command, "no result yet").startswith(
            "no result yet: no event has arrived on stream <http://ex/s> yet"
        )
        client.post("/streams/http%3A%2F%2Fex%2Fs", content=EVENTS, headers={"content-type": "application/x-ndjson"})
        said = told(command, "no result yet")
        assert said.startswith("no result yet: no triple has matched the pattern ?room :temperatur ?t; window :w open")
        assert told(command, "hint").startswith("hint: did you mean :temperature?")
