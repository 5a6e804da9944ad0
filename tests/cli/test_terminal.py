"""Output on a terminal, and output that appears only there."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reaper import watch
from whorl import Engine
from whorl.cli.follow import LiveTable
from whorl.cli.names import Names
from whorl.cli.plans import plan_tree
from whorl.cli.results import Format, write_document
from whorl.cli.terminal import console

QUERY = """PREFIX : <http://ex/>
SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c } }
"""
EVENT = (
    "<http://ex/g> <http://www.w3.org/ns/prov#generatedAtTime> "
    '"1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    """
<http://ex/a> <http://ex/p> <http://ex/b> <http://ex/g> .
<http://ex/b> <http://ex/q> <http://ex/c> <http://ex/g> .
"""
)


class Terminal(io.StringIO):
    """A screen that keeps its history."""

    def isatty(self) -> bool:
        return True


def envelope(t: int, *values: str) -> dict[str, Any]:
    bindings = [{"room": {"type": "uri", "value": f"http://ex/{value}"}} for value in values]
    results = {"head": {"vars": ["room"]}, "results": {"bindings": bindings}}
    return {"t": t, "type": "bindings", "r2s": "RSTREAM", "results": results}


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("LINES", "12")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


def last_table(screen: Terminal) -> list[str]:
    """The rows of the state that stays on the screen."""
    lines = [re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", line).strip() for line in screen.getvalue().splitlines()]
    title = max(number for number, line in enumerate(lines) if "rooms" in line)
    return [line for line in lines[title:] if line.startswith("1970")]


def test_a_live_table_shows_the_newest_rows_on_top_and_no_more_than_fit(screen: Terminal) -> None:
    table = LiveTable("rooms", Names("PREFIX : <http://ex/>"), screen)
    table.write(envelope(1_000, "a", "b"))
    table.write(envelope(2_000, "c"))
    table.progress(SimpleNamespace(watermark=3_000, seq=2))
    table.close()
    assert [line.split() for line in last_table(screen)] == [
        ["1970-01-01T00:00:02Z", ":c"],
        ["1970-01-01T00:00:01Z", ":a"],
        ["1970-01-01T00:00:01Z", ":b"],
    ]
    assert "2 results · 3 rows · watermark 1970-01-01T00:00:03Z" in screen.getvalue()


def test_a_live_table_does_not_grow_beyond_the_screen(screen: Terminal) -> None:
    table = LiveTable("rooms", Names(), screen)
    for second in range(30):
        table.write(envelope(second * 1_000, "a"))
    table.close()
    assert len(last_table(screen)) == 5


def test_names_are_shortened_only_where_that_can_be_read_back() -> None:
    names = Names("PREFIX : <http://ex/>\nprefix deep: <http://ex/deep/>")
    assert names.iri("http://ex/a") == ":a"
    assert names.iri("http://ex/deep/a") == "deep:a"
    assert names.iri("http://ex/a/b") == "<http://ex/a/b>"
    assert names.iri("http://ex/") == "<http://ex/>"
    assert names.term({"type": "literal", "value": "chat", "xml:lang": "fr"}) == '"chat"@fr'
    assert names.term({"type": "bnode", "value": "b0"}) == "_:b0"
    assert names.term(None) == ""


def test_numbers_of_a_table_stand_below_each_other() -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    rows = [{"a": {"type": "literal", "value": text, "datatype": f"{xsd}integer"}} for text in ("7", "1200")]
    document = {"head": {"vars": ["a"]}, "results": {"bindings": rows}}
    out = io.StringIO()
    assert write_document(document, Names(), Format.TABLE, out) == 2
    assert [line.rstrip() for line in out.getvalue().splitlines()[3:5]] == ["    7", " 1200"]


def test_markup_in_the_data_is_only_data() -> None:
    out = io.StringIO()
    console(out).print("[red]not red[/red]")
    assert out.getvalue() == "[red]not red[/red]\n"


def test_a_plan_is_a_tree_with_counters() -> None:
    engine = Engine()
    query = engine.register(QUERY)
    engine.push("http://ex/s", None, EVENT, "nquads")
    out = io.StringIO()
    console(out).print(plan_tree("pairs", dict(query.explain("json"))))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("pairs: RSP-QL SELECT ?a ?b")
    assert any("window :w on <http://ex/s> [RANGE 10s STEP 10s]" in line for line in lines)
    assert any("join" in line and "incremental" in line for line in lines)
    assert any("?a :p ?b" in line and "matched" in line and "index on ?b" in line for line in lines)


def test_a_plan_numbers_windows_without_a_name_and_shows_what_groups_take() -> None:
    engine = Engine()
    query = engine.register(
        "PREFIX : <http://ex/> SELECT ?a (SUM(?b) AS ?n) WHERE { STREAM :s [RANGE 10s] { ?a :p ?b } } GROUP BY ?a"
    )
    engine.push("http://ex/s", 1_000, "<http://ex/a> <http://ex/p> 1.5e0 .")
    out = io.StringIO()
    console(out).print(plan_tree("sums", dict(query.explain("json"))))
    lines = out.getvalue().splitlines()
    assert any("window #1 on <http://ex/s>" in line for line in lines)
    assert any("group by ?a" in line and "keeps" in line and " bytes" in line for line in lines), lines


def on_a_terminal(directory: Path, **variables: str) -> bytes:
    """What `whorl run` writes when standard output is a terminal."""
    (directory / "q.rspql").write_text(QUERY)
    (directory / "e.nq").write_text(EVENT)
    script = "from whorl.cli import main; main()"
    master, slave = pty.openpty()
    command = [sys.executable, "-c", script, "run", "q.rspql", "--input", "e.nq"]
    environment = {**os.environ, "TERM": "xterm-256color", **variables}
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=slave, stderr=subprocess.PIPE) as process:
        os.close(slave)
        written = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux says so when the other side has closed.
                break
            if not part:
                break
            written += part
        assert process.wait(60) == 0
    os.close(master)
    return written


def test_colours_are_for_terminals_and_not_for_those_who_want_none(tmp_path: Path) -> None:
    assert b"\x1b[1m" in on_a_terminal(tmp_path, NO_COLOR="")
    plain = on_a_terminal(tmp_path, NO_COLOR="1")
    assert b"\x1b[3" not in plain
    assert b":a" in plain


def test_a_new_token_is_printed_on_a_terminal(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-c", "from whorl.cli import main; main()", "serve", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=slave, stderr=subprocess.DEVNULL)
    watch(process)
    try:
        os.close(slave)
        with os.fdopen(master) as screen:
            line = screen.readline()
    finally:
        process.kill()
        process.wait()
    token = (tmp_path / "whorl-data" / "token").read_text().strip()
    assert re.fullmatch(rf"whorl is ready: http://127\.0\.0\.1:\d+/#token={re.escape(token)}", line.strip())
