"""Other queries change nothing: neither what is counted for a query, nor what a push reports, nor what can be asked."""

from __future__ import annotations

from typing import Any

import pytest
from whorl import Engine, Limits, Query

PREFIX = "PREFIX : <http://e/> "
S = "http://e/s"


def sliding(pattern: str, width: str) -> str:
    return PREFIX + f"SELECT ?x WHERE {{ STREAM :s [RANGE {width}] {{ {pattern} }} }}"


def event(engine: Engine, at: int, *triples: tuple[str, str, int]) -> Any:
    named = [(f"http://e/{s}", f"http://e/{p}", o) for s, p, o in triples]
    return engine.push(S, at, named)


def evaluations(engine: Engine, query: Query) -> int:
    [own] = [one for one in engine.stats()["queries"] if one["query"] == query.number]
    return own["evaluations"]


def engine_of(limits: Limits | None = None, **options: Any) -> Engine:
    engine = Engine(limits=limits, **options) if limits else Engine(**options)
    engine.declare_stream(S)
    return engine


@pytest.mark.parametrize("tiny", [False, True])
def test_a_query_that_fails_at_an_expiry_has_counted_what_it_slept_through(tiny: bool) -> None:
    def counted(n_neighbours: int) -> int:
        engine = engine_of({"work": 30}, thresholds={"tiny": tiny})
        text = "SELECT ?x (COUNT(?y) AS ?n) (SUM(?y) AS ?s) WHERE { STREAM :s [RANGE 7s] { ?x :p ?y } } GROUP BY ?x"
        query = engine.register(PREFIX + text, dialect="cqels", r2s="CHANGES")
        for i in range(n_neighbours):
            engine.register(sliding("?x :zz ?y", f"{20 + i}s"), dialect="cqels")
        for i in range(20):
            event(engine, 1000, (f"s{i}", "p", 1))
        event(engine, 2000, ("w", "zz", 1))
        event(engine, 1500, ("w", "zz", 1))
        if n_neighbours:
            engine.register(sliding("?x :zzz ?y", "7s"), dialect="cqels").unregister()
        engine.advance_to(20_000)
        return evaluations(engine, query)

    assert counted(6) == counted(0)


def test_a_wider_window_that_falls_asleep_adds_no_report_of_others() -> None:
    def counted(widths: list[int]) -> int:
        engine = engine_of()
        for width in widths:
            engine.register(sliding("?x :zz ?y", f"{width}s"), dialect="cqels")
        query = engine.register(sliding("?x :p ?y", "3s"), dialect="cqels")
        event(engine, 34_000, ("c", "p", 4))
        event(engine, 35_000, ("h", "q", 0))
        if widths:
            engine.register(sliding("?x :p ?y", "10s"), dialect="cqels")
        engine.advance_to(46_900, S)
        event(engine, 37_000, ("h", "p", 1))
        return evaluations(engine, query)

    assert counted([4, 5, 6, 7]) == counted([])


@pytest.mark.parametrize("sharing", [False, True])
@pytest.mark.parametrize("width", ["4s", "5s"])
def test_a_failed_query_does_not_hide_that_an_event_is_late(sharing: bool, width: str) -> None:
    engine = engine_of({"result_rows": 1}, sharing=sharing)
    engine.register(sliding("?x :r ?y", "5s"), dialect="cqels")
    engine.register(sliding("?x :p ?y", width), dialect="cqels")
    event(engine, 1000, ("a", "p", 1), ("b", "p", 1))
    event(engine, 30_000, ("a", "zz", 1))
    report = event(engine, 9000, ("a", "r", 1))
    assert (report.accepted, report.late) == (0, 1)


WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 20ms STEP 10ms] WHERE "


@pytest.mark.parametrize("path", [":v", ":v+"])
def test_only_windows_that_are_to_be_kept_can_be_asked(path: str) -> None:
    engine = engine_of()
    engine.register(PREFIX + "SELECT ?s ?o " + WINDOW + f"{{ WINDOW :w {{ ?s {path} ?o }} }}")
    event(engine, 1, ("a", "v", 1))
    event(engine, 12, ("b", "v", 2))
    engine.register(PREFIX + "SELECT ?s ?o " + WINDOW + "{ WINDOW :w { ?s :v ?o } }", keep_windows=True)
    event(engine, 15, ("c", "v", 3))
    event(engine, 25, ("d", "v", 4))
    found = engine.ask("SELECT ?s { GRAPH <http://e/w> { ?s ?p ?o } } ORDER BY ?s", "csv")
    assert found.decode().split() == ["s", "http://e/c"]
