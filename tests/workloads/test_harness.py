"""The comparison itself: the translation to plain SPARQL, and that a wrong answer is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from whorl_oracle.model import Dialect, Now, Past, R2s, Sliding, Step, Triples, Window
from whorl_workloads import Event
from whorl_workloads import check as checking
from whorl_workloads.check import BY_SUFFIX, EXAMPLES, check
from whorl_workloads.plain import ELEMENT_OF, ELEMENTS, Plain, duration_ms, translate

STREAM = "http://ex/s"
TEXT = """PREFIX : <http://ex/>
SELECT ?s ?v WHERE { STREAM :s [RANGE 5s] { ?s :v ?v ; :w ?w } FILTER(?v > 2) }"""
EVENTS = [
    Event(
        STREAM, t * 1000, (("<http://ex/a>", f"<http://ex/{p}>", f'"{t}"^^<http://www.w3.org/2001/XMLSchema#integer>'),)
    )
    for t, p in enumerate("vwvwvwvw")
]


def test_windows_of_the_three_dialects_are_read() -> None:
    rspql = """PREFIX : <http://ex/> REGISTER DSTREAM :q AS SELECT * FROM :g FROM NAMED :h
        FROM NAMED WINDOW :a ON :s [RANGE PT1H STEP PT10M] FROM NAMED WINDOW :b ON :s [FROM NOW-2h TO NOW-1h STEP 10m]
        WHERE { WINDOW :a { ?x ?y ?z } WINDOW :b { ?x ?y ?z } }"""
    plain = translate(rspql, Dialect.RSPQL, bag=False)
    assert plain.windows == (
        Window("http://ex/a", STREAM, Step(3_600_000, 600_000)),
        Window("http://ex/b", STREAM, Past(7_200_000, 3_600_000, 600_000)),
    )
    assert (plain.r2s, plain.default_graphs, plain.named_graphs) == (R2s.DSTREAM, ("http://ex/g",), ("http://ex/h",))
    assert "REGISTER" not in plain.text
    assert "GRAPH <http://ex/a> { ?x ?y ?z }" in plain.text

    csparql = "REGISTER QUERY q AS ASK FROM STREAM <http://ex/s> [RANGE 1h STEP 30m] WHERE { ?x ?y ?z }"
    plain = translate(csparql, Dialect.CSPARQL, bag=False)
    assert (plain.text, plain.form) == ("ASK WHERE { ?x ?y ?z }", "ASK")

    cqels = "SELECT * WHERE { STREAM <http://ex/s> [NOW] { ?a ?b ?c } STREAM <http://ex/s> [TRIPLES 1] { ?d ?e ?f } }"
    assert [window.kind for window in translate(cqels, Dialect.CQELS, bag=True).windows] == [Now(), Triples(1)]


def test_each_pattern_of_a_bag_looks_for_an_element_of_its_own() -> None:
    plain = translate(TEXT, Dialect.CQELS, bag=True)
    assert plain.windows == (Window("urn:w0", STREAM, Sliding(5000)),)
    one, other = (
        f"GRAPH ?_occurrence{number} {{ ?s {pattern} }} "
        f"GRAPH <{ELEMENTS}> {{ ?_occurrence{number} <{ELEMENT_OF}> <urn:w0> }}"
        for number, pattern in enumerate((":v ?v", ":w ?w"))
    )
    assert f"{{ {one} {other} }} FILTER ( ?v > 2 )" in plain.text


@pytest.mark.parametrize(("text", "milliseconds"), [("PT1H30M", 5_400_000), ("P1D", 86_400_000), ("1m30s", 90_000)])
def test_durations(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


def test_engine_and_oracle_agree_on_a_small_stream() -> None:
    assert check(TEXT, Dialect.CQELS, EVENTS, {}).is_fruitful()


@pytest.mark.parametrize(("old", "new"), [("?v > 2", "?v > 4"), (":w ?w", ":v ?w")])
def test_a_wrong_answer_is_seen(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(text: str, dialect: Dialect, *, bag: bool) -> Plain:
        plain = translate(text, dialect, bag=bag)
        return replace(plain, text=plain.text.replace(old, new))

    monkeypatch.setattr(checking, "translate", wrong)
    with pytest.raises(AssertionError, match="other solutions"):
        check(TEXT, Dialect.CQELS, EVENTS, {})


@pytest.mark.parametrize("kind", [Sliding(4999), Sliding(6000)])
def test_a_wrong_window_is_seen(kind: Sliding, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(text: str, dialect: Dialect, *, bag: bool) -> Plain:
        plain = translate(text, dialect, bag=bag)
        return replace(plain, windows=tuple(replace(window, kind=kind) for window in plain.windows))

    monkeypatch.setattr(checking, "translate", wrong)
    with pytest.raises(AssertionError, match=r"answers at|other solutions"):
        check(TEXT, Dialect.CQELS, EVENTS, {})


def test_every_example_query_has_a_dialect_and_says_what_it_asks() -> None:
    files = [path for path in EXAMPLES.glob("*/*") if path.is_file()]
    paths = [path for path in files if path.suffix in BY_SUFFIX]
    assert len(paths) == 12 + 5 + 10 + 11 + 24 + 2 + 10 + 6 + 2 + 7 + 3 + 3
    # The others are what the queries read: events, rows and their mappings, static data; and a program.
    others = {".nq", ".ttl", ".ndjson", ".csv", ".rq", ".py"}
    assert {path.suffix for path in files} - set(BY_SUFFIX) <= others
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# "), path
        assert max(map(len, text.splitlines())) <= 120, path
