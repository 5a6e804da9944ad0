"""`whorl run`, `explain` and `version`: the engine alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Whorl = Callable[..., Result]

QUERY = """PREFIX : <http://ex/>
SELECT ?room (MAX(?t) AS ?max) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?room :temperature ?t } } GROUP BY ?room
"""
JOIN = """PREFIX : <http://ex/>
SELECT ISTREAM ?room ?t ?who
FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] FROM NAMED WINDOW :v ON :people [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?room :temperature ?t } WINDOW :v { ?who :isIn ?room } GRAPH :rooms { ?room :floor 1 } }
"""
STAMPED = """PREFIX : <http://ex/> PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""


def trig(*events: tuple[int, str]) -> str:
    graphs = (
        f':g{n} prov:generatedAtTime "1970-01-01T00:00:{second:02}Z"^^xsd:dateTime . :g{n} {{ {triples} }}\n'
        for n, (second, triples) in enumerate(events)
    )
    return STAMPED + "".join(graphs)


@pytest.fixture
def query(tmp_path: Path) -> str:
    path = tmp_path / "hot.rspql"
    path.write_text(QUERY)
    return str(path)


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.trig"
    path.write_text(trig((1, ":a :temperature 20"), (4, ":a :temperature 23"), (12, ":b :temperature 18")))
    return str(path)


def test_answers_are_csv_with_times(whorl: Whorl, query: str, events: str) -> None:
    result = whorl("run", query, "--input", events, "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout == "t,sign,room,max\n10000,+,http://ex/a,23\n20000,+,http://ex/b,18\n"
    assert result.stderr == "3 events, 0 late, 3 results\n"


def test_answers_are_json_and_ndjson(whorl: Whorl, query: str, events: str) -> None:
    lines = [json.loads(line) for line in whorl("run", query, "-i", events, "-f", "ndjson").stdout.splitlines()]
    assert [line["t"] for line in lines] == [10_000, 20_000, 30_000]
    assert json.loads(whorl("run", query, "-i", events, "-f", "json").stdout) == lines


def test_a_table_has_no_colour_and_short_names_when_nobody_looks(whorl: Whorl, query: str, events: str) -> None:
    shown = whorl("run", query, "-i", events).stdout
    assert "\x1b" not in shown
    assert "1970-01-01T00:00:10Z" in shown
    assert any(line.split() == [":a", "23"] for line in shown.splitlines())


def test_it_ends_after_a_number_of_answers_or_a_time(whorl: Whorl, query: str, events: str) -> None:
    assert len(whorl("run", query, "-i", events, "-f", "ndjson", "--limit", "1").stdout.splitlines()) == 1
    until = whorl("run", query, "-i", events, "-f", "ndjson", "--until", "1970-01-01T00:00:20Z").stdout
    assert [json.loads(line)["t"] for line in until.splitlines()] == [10_000, 20_000]


def test_the_query_and_the_events_may_be_given_as_text(whorl: Whorl) -> None:
    nquads = (
        '<http://ex/g> <http://www.w3.org/ns/prov#generatedAtTime> "1000" .\n'
        '<http://ex/a> <http://ex/temperature> "7"^^<http://www.w3.org/2001/XMLSchema#integer> <http://ex/g> .\n'
    )
    nquads = nquads.replace('"1000"', '"1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>')
    result = whorl("run", QUERY, "-i", "-", "--input-format", "nquads", "-f", "csv", stdin=nquads)
    assert result.stdout.splitlines()[1] == "10000,+,http://ex/a,7"


def test_two_streams_and_static_data_are_read_together(whorl: Whorl, tmp_path: Path) -> None:
    sensors, people, rooms = tmp_path / "s.trig", tmp_path / "people.trig", tmp_path / "rooms.ttl"
    sensors.write_text(trig((1, ":a :temperature 20"), (12, ":a :temperature 21"), (14, ":b :temperature 9")))
    people.write_text(trig((2, ":ada :isIn :a"), (13, ":ada :isIn :b")))
    rooms.write_text("PREFIX : <http://ex/> :a :floor 1 . :b :floor 2 .")
    inputs = ("-i", f"http://ex/s={sensors}", "-i", f"http://ex/people={people}")
    result = whorl("run", JOIN, *inputs, "--static", f"http://ex/rooms={rooms}", "-f", "csv")
    assert result.stdout.splitlines()[1:] == ["10000,+,http://ex/a,20,http://ex/ada"]


MAPPING = """PREFIX : <http://ex/>
CONSTRUCT { ?iri :temperature ?temp } WHERE { BIND(IRI(CONCAT("http://ex/", ?room)) AS ?iri) }
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "room,temp,when\na,20,1970-01-01T00:00:01Z\nb,18,1970-01-01T00:00:12Z\n"),
        ("rows.json", '[{"room": "a", "temp": 20, "when": 1000}, {"room": "b", "temp": 18, "when": 12000}]'),
        ("rows.jsonl", '{"room": "a", "temp": 20, "when": 1000}\n{"room": "b", "temp": 18, "when": 12000}\n'),
    ],
)
def test_rows_become_triples_by_a_mapping(whorl: Whorl, query: str, tmp_path: Path, name: str, text: str) -> None:
    mapping, rows = tmp_path / "rows.rq", tmp_path / name
    mapping.write_text(MAPPING)
    rows.write_text(text)
    result = whorl("run", query, "-i", str(rows), "--mapping", str(mapping), "--time", "when", "-f", "csv")
    assert result.stdout.splitlines()[1:] == ["10000,+,http://ex/a,20", "20000,+,http://ex/b,18"]


def test_a_wrong_mapping_is_shown_with_its_place(whorl: Whorl, query: str, tmp_path: Path) -> None:
    mapping, rows = tmp_path / "rows.rq", tmp_path / "rows.csv"
    mapping.write_text("CONSTRUCT { ?room ?temp } WHERE { }")
    rows.write_text("t,room\n")
    result = whorl("run", query, "-i", str(rows), "--mapping", str(mapping))
    assert result.exit_code == 1
    assert f"--> {mapping}:1:" in result.stderr


def test_lines_of_ndjson_are_events(whorl: Whorl, query: str, tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text(
        '{"t": 1000, "data": "<http://ex/a> <http://ex/temperature> 20 ."}\n'
        '{"t": 4000, "event": {"@id": "http://ex/a", "http://ex/temperature": 21}}\n'
        '{"watermark": 10000}\n'
        '{"t": 5000, "data": "<http://ex/a> <http://ex/temperature> 99 ."}\n'
    )
    result = whorl("run", query, "-i", str(path), "-f", "csv")
    assert "1 late" in result.stderr
    assert result.stdout.splitlines()[1] == "10000,+,http://ex/a,21"


def test_an_input_that_could_be_any_of_two_streams_is_refused(whorl: Whorl, events: str) -> None:
    result = whorl("run", JOIN, "-i", events)
    assert result.exit_code == 2
    assert "http://ex/people" in result.stderr


def test_disorder_is_waited_for_when_asked(whorl: Whorl, query: str, tmp_path: Path) -> None:
    path = tmp_path / "late.trig"
    path.write_text(trig((1, ":a :temperature 20"), (11, ":a :temperature 30"), (5, ":a :temperature 40")))
    assert "1 late" in whorl("run", query, "-i", str(path)).stderr
    patient = whorl("run", query, "-i", str(path), "--lateness", "10s", "-f", "csv")
    assert "0 late" in patient.stderr
    assert patient.stdout.splitlines()[1] == "10000,+,http://ex/a,40"


def test_changes_graphs_and_booleans_have_their_columns(whorl: Whorl, events: str) -> None:
    window = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?r :temperature ?t } }"
    construct = whorl("run", f"PREFIX : <http://ex/> CONSTRUCT {{ ?r a :Room }} {window}", "-i", events, "-f", "csv")
    assert construct.stdout.splitlines()[0] == "t,sign,triple"
    assert "<http://ex/a>" in construct.stdout
    ask = whorl("run", f"PREFIX : <http://ex/> ASK {window}", "-i", events, "-f", "csv")
    assert ask.stdout.splitlines()[:2] == ["t,sign,boolean", "10000,+,true"]
    changes = f"PREFIX : <http://ex/> REGISTER CHANGES :out AS SELECT ?t {window}"
    signs = [line.split(",")[1:] for line in whorl("run", changes, "-i", events, "-f", "csv").stdout.splitlines()]
    assert ["-", "20"] in signs
    assert "±" in whorl("run", changes, "-i", events).stdout


def test_a_wrong_query_is_shown_with_its_place_and_a_hint(whorl: Whorl, events: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.rspql"
    path.write_text("PREFIX : <http://ex/>\nSELECT ?r WHER { }\n")
    for result in (whorl("run", str(path), "-i", events), whorl("explain", str(path))):
        assert result.exit_code == 1
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        assert lines[1] == f"  --> {path}:2:11"
        assert lines[2] == "2 | SELECT ?r WHER { }"
        assert lines[3] == "  |           ^"
        assert lines[4].startswith("hint: ")


def test_wrong_events_say_so(whorl: Whorl, query: str, tmp_path: Path) -> None:
    timeless = tmp_path / "event.ttl"
    timeless.write_text("<http://ex/a> <http://ex/temperature> 1 .")
    result = whorl("run", query, "-i", str(timeless))
    assert result.exit_code == 1
    assert "hint: " in result.stderr
    assert whorl("run", query, "-i", str(timeless), "--t", "5000", "-f", "csv").stdout.endswith(
        "10000,+,http://ex/a,1\n"
    )
    broken = tmp_path / "broken.ttl"
    broken.write_text("<http://ex/a> <http://ex/temperature>")
    assert whorl("run", query, "-i", str(broken), "--t", "0").exit_code == 1


def test_wrong_use_is_told_apart_from_refusal(whorl: Whorl, query: str, events: str) -> None:
    assert whorl("run", query).exit_code == 2
    assert whorl("run", "no-such-file", "-i", events).exit_code == 2
    assert whorl("run", query, "-i", events, "--format", "xml").exit_code == 2
    assert whorl("run", query, "-i", events, "--until", "tomorrow").exit_code == 2
    assert whorl("run", "missing.rspql", "-i", events).exit_code == 1
    assert whorl("nonsense").exit_code == 2


def test_the_plan_is_shown_as_text_and_json(whorl: Whorl, query: str) -> None:
    assert whorl("explain", query).stdout.startswith("RSP-QL SELECT ?room ?max")
    assert json.loads(whorl("explain", query, "--json").stdout)["windows"][0]["stream"] == "http://ex/s"


def test_a_reader_that_has_enough_is_no_error(query: str, events: str) -> None:
    script = "from whorl.cli import main; main()"
    command = [sys.executable, "-c", script, "run", query, "-i", events, "-f", "ndjson"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read().decode()
        assert process.wait() == 0
    assert "Traceback" not in told


def test_version_is_that_of_the_engine(whorl: Whorl) -> None:
    import whorl as package

    assert whorl("version").stdout == f"whorl {package.__version__}\n"
    assert whorl("--version").stdout == f"whorl {package.__version__}\n"


def test_importing_the_command_imports_nothing_heavy() -> None:
    heavy = ("pyarrow", "fastapi", "uvicorn", "pydantic_settings", "pyoxigraph", "rdflib", "httpx", "websockets")
    check = f"import sys, whorl.cli.app; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_seconds_that_are_taken_for_milliseconds_are_warned_of(whorl: Whorl, query: str, tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    triple = "<http://ex/a> <http://ex/temperature> 1 ."
    lines = [json.dumps({"t": 1_714_564_801 + second, "data": triple}) for second in range(3)]
    events.write_text("\n".join(lines))
    told = whorl("run", query, "-i", str(events), "--limit", "1").stderr
    assert told.count("warning: the time 1714564803 is interpreted as milliseconds, which is 1970-01-20") == 1
    assert "in seconds it would be 2024-05-01T12:00:03Z" in told
    events.write_text(lines[0].replace("1714564801", "1714564801000"))
    assert "warning" not in whorl("run", query, "-i", str(events), "--limit", "1").stderr


def test_the_first_example_runs(whorl: Whorl) -> None:
    first = Path(__file__).parents[2] / "examples/first"
    ran = whorl("run", str(first / "hot.rspql"), "--input", str(first / "readings.nq"), "--format", "csv")
    assert [line.split(",")[2:] for line in ran.stdout.splitlines()[1:]] == [
        ["http://example.org/attic", "31.5", "1"],
        ["http://example.org/attic", "30", "1"],
        ["http://example.org/kitchen", "27.5", "1"],
    ]
    assert "8 events, 0 late" in ran.stderr
    assert "warning" not in ran.stderr
