"""Bag windows in which many mappings go and come at one instant."""

from __future__ import annotations

import time

import pyarrow as pa
from whorl import Engine

S = "http://ex/s"
COUNTED = "SELECT ?s (COUNT(*) AS ?n)"
WINDOW = "FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10s STEP 10s]"
WHERE = "WHERE { WINDOW <http://ex/w> { ?s <http://ex/p> ?o } }"


def rows(window: int, n: int) -> pa.Table:
    subjects = [f"http://ex/{number % 100}" for number in range(n)]
    times = [window * 10_000 + number * 10_000 // n for number in range(n)]
    return pa.table({"t": times, "s": subjects, "p": ["http://ex/p"] * n, "o": list(range(n))})


def test_what_goes_and_comes_back_at_one_instant_is_not_new_however_much_it_is() -> None:
    engine = Engine()
    engine.declare_stream(S)
    query = engine.register(f"SELECT ?s ?o {WINDOW} {WHERE}", semantics="bag", r2s="ISTREAM")
    for window, n in enumerate((40, 40, 41, 1)):
        engine.push(S, None, rows(window, n))
    engine.advance_to(50_000)
    assert [(result.at, len(result.inserted)) for result in query] == [(10_000, 40), (30_000, 1)]


def seconds(n: int) -> float:
    """To close the second window of so many rows, while the first one goes; the best of three."""
    taken = []
    for _ in range(3):
        engine = Engine()
        engine.declare_stream(S)
        engine.register(f"{COUNTED} {WINDOW} {WHERE} GROUP BY ?s", semantics="bag")
        for window in range(2):
            engine.push(S, None, rows(window, n))
        began = time.perf_counter()
        engine.advance_to(20_000)
        taken.append(time.perf_counter() - began)
    return min(taken)


def test_a_close_costs_by_what_goes_and_comes_and_not_by_their_product() -> None:
    # Sixteen times as many rows: a product would take 256 times as long.
    assert seconds(32_000) < 100 * seconds(2_000)
