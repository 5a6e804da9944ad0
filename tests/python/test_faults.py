"""Bad input: each a clear error, the process alive, other queries undisturbed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import whorl
from whorl import Engine, QuerySyntaxError, RdfSyntaxError, UnknownStreamError

S = "http://ex/s"
GOOD = "PREFIX : <http://ex/> SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?s :p ?o } }"
NESTED = "SELECT * WHERE " + "{" * 600 + "}" * 600
LONG_SUM = "PREFIX : <http://ex/> SELECT (" + "+".join(["1"] * 1_750) + " AS ?n) WHERE { ?s ?p ?o }"


@pytest.fixture
def engine() -> Engine:
    return Engine()


def still_answers(engine: Engine) -> bool:
    """A query registered before and after is as if nothing had happened."""
    query = engine.register(GOOD)
    engine.push(S, 1, [("http://ex/a", "http://ex/p", 1)])
    engine.advance_to(10_000)
    return query.rows() == [{"s": "http://ex/a"}]


WINDOW = "PREFIX : <http://ex/>\nSELECT ?s\nFROM NAMED WINDOW :w ON :s [{}]\nWHERE {{ WINDOW :w {{ ?s :p ?o }} }}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD + " }", 1),
        (GOOD.replace("WHERE", "\nWHERE {{\n"), 3),
        ("SELECT ?s WHERE { ?s ?p }", 1),
        (WINDOW.format("RANGE 0s"), 3),
        (WINDOW.format("RANGE -5s"), 3),
        (WINDOW.format("RANGE 10s STEP 0s"), 3),
        (WINDOW.format("RANGE 10"), None),
        (WINDOW.format("ELEMENTS 0"), 3),
        (WINDOW.format("TRIPLES 0"), 3),
        (WINDOW.format("RANGE 1d STEP 1ms"), 3),
        (NESTED, 1),
        (LONG_SUM, 1),
        ("", 1),
        ("}{", 1),
        ("\x00\ud7ff", 1),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_bad_query_is_refused_where_it_is_wrong(engine: Engine, text: str, line: int | None) -> None:
    if line is None:  # Good after all: a bare integer is milliseconds.
        engine.register(text)
        return
    with pytest.raises(QuerySyntaxError) as caught:
        engine.register(text)
    error = caught.value
    assert error.line is not None
    assert error.column is not None
    assert error.line >= 1
    assert error.column >= 1
    assert error.code
    assert f"line {error.line}, column {error.column}" in str(error)
    assert still_answers(engine)


def test_position_is_exact(engine: Engine) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        engine.register("SELECT ?s\nWHERE { ?s ?p ! }")
    assert (caught.value.line, caught.value.column) == (2, 15)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_malformed_triple_is_refused_whole(engine: Engine, rows: int) -> None:
    query = engine.register(GOOD)
    good = "<http://ex/a> <http://ex/p> 1 .\n"
    with pytest.raises(RdfSyntaxError) as caught:
        engine.push(S, 1, good * (rows - 1) + "<http://ex/b> <http://ex/p> .")
    assert caught.value.line == rows
    assert caught.value.column is not None
    engine.advance_to(10_000)
    assert query.rows() == []


def test_deep_rdf_is_refused(engine: Engine) -> None:
    engine.declare_stream(S)
    with pytest.raises(RdfSyntaxError):
        engine.push(S, 1, "<a:a> <a:p> " + "[ <a:p> " * 5_000 + "1" + " ]" * 5_000 + " .")
    assert still_answers(engine)


def test_not_utf8_is_refused(engine: Engine) -> None:
    engine.declare_stream(S)
    with pytest.raises(RdfSyntaxError):
        engine.push(S, 1, b"<a:a> <a:p> \xff .")


def test_an_unknown_stream_is_named_and_the_known_ones_too(engine: Engine) -> None:
    engine.register(GOOD)
    with pytest.raises(UnknownStreamError, match="http://ex/t") as caught:
        engine.push("http://ex/t", 1, [("http://ex/a", "http://ex/p", 1)])
    assert caught.value.code == "stream.unknown"
    assert caught.value.hint is not None
    assert S in caught.value.hint
    assert still_answers(engine)


def test_an_event_without_a_time_is_refused(engine: Engine) -> None:
    engine.declare_stream(S)
    for event in ("<http://ex/a> <http://ex/p> 1 .", [("http://ex/a", "http://ex/p", 1)]):
        with pytest.raises(whorl.TimestampError) as caught:
            engine.push(S, None, event)
        assert caught.value.code == "timestamp.missing"


@pytest.mark.parametrize(
    "options",
    [
        {"report": "sometimes"},
        {"report": "periodic(0)"},
        {"tick": "tock"},
        {"bounds": "[]"},
        {"dialect": "sql"},
        {"r2s": "XSTREAM"},
        {"semantics": "list"},
    ],
    ids=str,
)
def test_unknown_options_name_the_known_ones(engine: Engine, options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not '"):
        engine.register(GOOD, **options)  # type: ignore[arg-type]  # options that are refused


def test_other_threads_run_while_the_engine_works(engine: Engine) -> None:
    """Two threads push at once; a third counts on. Nothing is lost."""
    query = engine.register(
        "PREFIX : <http://ex/> SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s]"
        " WHERE { WINDOW :w { ?s :p ?o } }"
    )
    body = "".join(f"<http://ex/{{0}}{n}> <http://ex/p> {n} .\n" for n in range(20_000))
    threads = [threading.Thread(target=engine.push, args=(S, 1, body.format(name))) for name in "ab"]
    for thread in threads:
        thread.start()
    ticks = 0
    while any(thread.is_alive() for thread in threads):
        ticks += 1
        time.sleep(0)
    for thread in threads:
        thread.join()
    engine.advance_to(10_000)
    assert query.rows() == [{"n": 40_000}]
    assert ticks > 1


@pytest.mark.skipif(os.name == "nt", reason="signals to one process work otherwise there")
def test_control_c_interrupts_a_long_push() -> None:
    script = textwrap.dedent("""
        import signal
        import pyarrow as pa
        from whorl import Engine
        # Where the tests run in the background, the signal is ignored, and Python respects that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        engine = Engine()
        engine.declare_stream("http://ex/s")
        n = 200_000
        table = pa.table({"s": ["http://ex/a"] * n, "p": ["http://ex/p"] * n, "o": range(n), "t": range(n)})
        try:
            print("ready", flush=True)
            while True:
                engine.push("http://ex/s", None, table)
        except KeyboardInterrupt:
            engine.push("http://ex/s", 10**9, "<http://ex/a> <http://ex/p> 1 .")
            print("interrupted", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output == "interrupted\n"
    assert process.returncode == 0
