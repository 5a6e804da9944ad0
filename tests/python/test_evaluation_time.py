"""How long queries are evaluated, by the clock of this machine: so only what differs by far is compared."""

from __future__ import annotations

import time

from whorl import Engine

STREAM = "http://ex/s"
ALL_PAIRS = """PREFIX : <http://ex/>
SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 1h STEP 1h] WHERE { WINDOW :w { ?a :p ?x . ?b :p ?x } }"""
NOTHING = ALL_PAIRS.replace("?b :p ?x", "?b :absent ?x").replace("RANGE 1h", "RANGE 2h")
SILENT = ALL_PAIRS.replace("ON :s", "ON :silent")
N_EVENTS = 400


def triples(n: int) -> str:
    return "".join(f"<http://ex/{i}> <http://ex/p> {n % 2} .\n" for i in range(n, n + 2))


def run(engine: Engine) -> float:
    """Events whose pairs take some time; how long all of it took."""
    began = time.perf_counter()
    for n in range(N_EVENTS):
        engine.push(STREAM, n, triples(n))
    engine.advance_to(7_200_000)
    return time.perf_counter() - began


def test_a_busy_query_takes_more_time_than_an_idle_one() -> None:
    engine = Engine()
    busy, idle, silent = (engine.register(text) for text in (ALL_PAIRS, NOTHING, SILENT))
    took = run(engine)
    seconds = engine.evaluation_seconds()
    numbers = [row["query"] for row in engine.stats()["queries"]]
    assert list(seconds) == numbers == [query.number for query in (busy, idle, silent)]
    assert seconds[busy.number] > 10 * seconds[idle.number]
    assert seconds[idle.number] > 0
    assert seconds[silent.number] < seconds[busy.number] / 10
    assert sum(seconds.values()) < took


def test_most_of_the_time_of_a_costly_push_is_evaluation() -> None:
    engine = Engine()
    query = engine.register(ALL_PAIRS)
    took = run(engine)
    assert took / 2 < engine.evaluation_seconds()[query.number] < took


def test_time_only_grows_and_begins_anew_with_a_restored_engine() -> None:
    engine = Engine()
    query = engine.register(ALL_PAIRS, tick="tuple")
    before = 0.0
    for n in range(50):
        engine.push(STREAM, n, triples(n))
        after = engine.evaluation_seconds()[query.number]
        assert after >= before
        before = after
    assert before > 0
    restored = Engine.restore(engine.snapshot())
    assert restored.evaluation_seconds() == {query.number: 0.0}
    restored.push(STREAM, 50, triples(50))
    assert restored.evaluation_seconds()[query.number] > 0
