"""Time at the border of the library: the order of a body, long stretches without change, times that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
import whorl
from whorl import Engine

EX = "http://ex/"
S = EX + "s"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
TIMES = (30, 60, 10)
COUNT = """
PREFIX : <http://ex/>
SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 50ms] WHERE { WINDOW :w { ?e :in :x } }
"""


def arrow() -> bytes:
    table = pa.table(
        {
            "t": TIMES,
            "event": range(len(TIMES)),
            "s": [f"{EX}e{t}" for t in TIMES],
            "p": [EX + "in"] * len(TIMES),
            "o": [EX + "x"] * len(TIMES),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def bodies() -> dict[str, bytes]:
    stamps = "".join(f'<{EX}g{t}> <{PROV}> "{t}" .\n' for t in TIMES)
    quads = "".join(f"<{EX}e{t}> <{EX}in> <{EX}x> <{EX}g{t}> .\n" for t in TIMES)
    graphs = "".join(f"<{EX}g{t}> {{ <{EX}e{t}> <{EX}in> <{EX}x> }}\n" for t in TIMES)
    nodes = [
        {"@id": f"{EX}g{t}", PROV: t, "@graph": [{"@id": f"{EX}e{t}", EX + "in": {"@id": EX + "x"}}]} for t in TIMES
    ]
    lines = [json.dumps({"t": t, "data": f"<{EX}e{t}> <{EX}in> <{EX}x> ."}) for t in TIMES]
    return {
        "nquads": (stamps + quads).encode(),
        "trig": (graphs + stamps).encode(),
        "jsonld": json.dumps(nodes).encode(),
        "ndjson": "\n".join(lines).encode(),
        "arrow": arrow(),
    }


def singly() -> tuple[int, list[bytes]]:
    engine = Engine()
    query = engine.register(COUNT)
    late = sum(engine.push(S, t, [(f"{EX}e{t}", EX + "in", EX + "x")]).late for t in TIMES)
    engine.close()
    return late, query.results()


@pytest.mark.parametrize("format", ["nquads", "trig", "jsonld", "ndjson", "arrow"])
def test_a_body_means_what_its_events_mean_one_after_the_other(format: Any) -> None:
    engine = Engine()
    query = engine.register(COUNT)
    report = engine.push(S, None, bodies()[format], format)
    engine.close()
    assert (report.events, (report.late, query.results())) == (3, singly())
    assert report.late == 1


def test_a_long_stretch_without_change_is_one_answer_in_the_end() -> None:
    engine = Engine()
    query = engine.register(COUNT.replace("50ms", "2ms"))
    for t in (0, 100_000):
        engine.push(S, t, [(EX + "a", EX + "in", EX + "x")])
    *rest, last = list(query)
    assert len(rest) == 10_001
    assert all(answer.skipped is None for answer in rest)
    assert last.skipped == whorl.Skipped(20_004, 100_000, 39_999)
    assert (last.at, last.rows[0]["n"]) == (100_000, 0)


def test_a_time_in_the_data_that_is_none_is_counted_for_the_query_that_reads_it() -> None:
    engine = Engine()
    query = engine.register(COUNT.replace("RANGE 50ms", "RANGE 50ms @ :time"))
    for t, time in [(1, whorl.Literal("2")), (2, whorl.Literal("soon")), (60, whorl.Literal("60"))]:
        report = engine.push(S, t, [(f"{EX}e{t}", EX + "in", EX + "x"), (f"{EX}e{t}", EX + "time", time)])
        assert (report.accepted, report.late) == (1, 0)
    (answer,) = list(query)
    assert answer.rows[0]["n"] == 1
    assert [numbers["unreadable_times"] for numbers in engine.stats()["queries"]] == [1]


def test_a_window_that_has_not_closed_has_no_bounds() -> None:
    engine = Engine()
    query = engine.register("""PREFIX : <http://ex/>
    SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 5ms] FROM NAMED WINDOW :l ON :s [ALL]
    WHERE { WINDOW :l { ?e :in :x } OPTIONAL { WINDOW :w { ?e :in :y } } }""")
    for t in (1, 6):
        engine.push(S, t, [(EX + "a", EX + "in", EX + "x")])
    first, second = (answer.windows for answer in query)
    assert first == (whorl.WindowBounds(EX + "w", None, None), whorl.WindowBounds(EX + "l", None, 1))
    assert second[0] == whorl.WindowBounds(EX + "w", 0, 5)
