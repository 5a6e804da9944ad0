"""Events that tell time their own way reach a server, and errors about them quote the line that the user wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from server_process import ServerProcess
from typer.testing import Result

Whorl = Callable[..., Result]
Start = Callable[..., ServerProcess]
STREAM = "http://ex/s"
QUERY = """PREFIX : <http://ex/> SELECT (COUNT(*) AS ?n) (MIN(?v) AS ?least)
FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s SEMANTICS BAG] WHERE { WINDOW :w { ?o :value ?v } }"""
SUBJECTS = "".join(
    f'<http://ex/o{n}> <http://ex/at> "1970-01-01T00:00:{n:02}" .\n'
    f'<http://ex/o{n}> <http://ex/value> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    for n in range(1, 13)
)
VALUES = "".join(f"<http://ex/o> <http://ex/value> {n} .\n" for n in range(1, 13))
STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"


@pytest.mark.parametrize(
    ("file", "text", "options"),
    [
        ("o.nt", SUBJECTS, "--event-per subject --timestamp-predicate http://ex/at --assume-zone Z"),
        ("v.ttl", VALUES, "--event-per line --every 1s --t 1000"),
        (
            "o.trig",
            f"<http://ex/g> {{\n{SUBJECTS}}}\n",
            "--event-per subject --timestamp-predicate http://ex/at --assume-zone Z",
        ),
    ],
)
def test_push_cuts_and_times_events_for_a_server(
    file: str, text: str, options: str, whorl: Whorl, start_server: Start, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    server = start_server()
    at = ("--url", server.url, "--token", server.token)
    assert whorl("query", QUERY, "--name", "q", "--declare", *at).exit_code == 0
    pushed = whorl("push", str(tmp_path / file), "--stream", STREAM, *options.split(), *at)
    assert (pushed.exit_code, pushed.stderr) == (0, "12 accepted, 0 late, 0 duplicates\n")
    with server.client() as client:
        found = client.get("/queries/q/results", headers={"accept": "text/csv"}).text
        assert found.splitlines() == ["n,least", "9,1"]
        assert client.get("/streams/http%3A%2F%2Fex%2Fs").json()["watermark"] == 12_000


WRONG = {
    "a time that is none": (
        "o.nt",
        SUBJECTS.replace("00:00:07", "half past"),
        "--event-per subject --timestamp-predicate http://ex/at --assume-zone Z",
        13,
        "1970-01-01Thalf past",
    ),
    "a time without a zone": (
        "o.nt",
        SUBJECTS,
        "--event-per subject --timestamp-predicate http://ex/at",
        1,
        '"1970-01-01T00:00:01"',
    ),
    "a line without a time": (
        "v.ttl",
        "\n\n" + VALUES,
        "--event-per line",
        3,
        "<http://ex/o> <http://ex/value> 1 .",
    ),
    "wrong RDF inside a line": (
        "e.ndjson",
        '{"t": 1000, "data": "<http://ex/o> <http://ex/value> 1 ."}\n\n\n{"t": 2000, "data": "<http://ex/o> <http"}\n',
        "",
        4,
        '{"t": 2000, "data": "<http://ex/o> <http"}',
    ),
    "a wrong IRI in a quad": (
        "e.nq",
        "# a comment\n\n"
        + "".join(
            f'<http://ex/g{n}> {STAMP} "{n}000" .\n<http://ex/o> <http://ex/value> "{n}" <http://ex/g{n}> .\n'
            for n in range(4)
        )
        + f'<http://ex/h> {STAMP} "5000" .\n<http://ex/o> <http://ex/val ue> "5" <http://ex/h> .\n',
        "",
        12,
        '<http://ex/o> <http://ex/val ue> "5" <http://ex/h> .',
    ),
    "a wrong time of a graph": (
        "e.nq",
        f'\n<http://ex/g> {STAMP} "soon" .\n<http://ex/o> <http://ex/value> "1" <http://ex/g> .\n',
        "",
        2,
        f'<http://ex/g> {STAMP} "soon" .',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_quotes_the_line_of_the_file(name: str, whorl: Whorl, start_server: Start, tmp_path: Path) -> None:
    file, text, options, line, quoted = WRONG[name]
    path = tmp_path / file
    path.write_text(text)
    server = start_server()
    words = (str(path), "--stream", STREAM, *options.split())
    pushed = whorl("push", *words, "--url", server.url, "--token", server.token)
    ran = whorl("run", QUERY, "-i", *words)
    for told in (pushed, ran):
        assert told.exit_code == 1, told.stderr
        assert f"  --> {path}:{line}" in told.stderr, told.stderr
        assert f"{line} | " in told.stderr
        assert quoted in told.stderr
        assert "batch" not in told.stderr


def test_a_converted_event_is_not_shown_as_a_line(whorl: Whorl, tmp_path: Path) -> None:
    path = tmp_path / "e.trig"
    path.write_text("<http://ex/g> { <http://ex/o> <http://ex/value> 1 }\n")
    told = whorl("run", QUERY, "-i", str(path)).stderr
    assert f"error: {path}: " in told
    assert "-->" not in told
    assert '"1"^^' not in told, "the user has not written this"
