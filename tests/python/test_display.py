"""What a notebook shows of queries, plans and results of the embedded engine."""

from __future__ import annotations

import pytest
from whorl import Engine, Query

STREAM = "http://ex/s"
SELECT = "PREFIX : <http://ex/> SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?s :p ?o } }"


def registered(head: str, triples: str, **options: str) -> Query:
    engine = Engine()
    query = engine.register(SELECT.replace("SELECT ?o", head), "named <so>", **options)  # type: ignore[arg-type]  # any option
    engine.push(STREAM, 1_000, f"PREFIX : <http://ex/> {triples}")
    engine.advance_to(10_000)
    return query


def test_a_query_shows_its_name_its_text_and_its_plan() -> None:
    html = registered("SELECT ?o", ":a :p 1 .")._repr_html_()
    assert "<b>named &lt;so&gt;</b>" in html
    assert "[RANGE 10s]" in html
    assert "leaf ?s :p ?o" in html


def test_a_plan_keeps_its_lines() -> None:
    plan = registered("SELECT ?o", ":a :p 1 .").explain()
    assert plan._repr_html_().startswith("<pre>RSP-QL SELECT ?o")  # type: ignore[attr-defined]  # a str subclass


def test_a_result_is_a_table_and_its_terms_are_escaped() -> None:
    [result] = registered("SELECT ?o", ':a :p "<b>" .').answers()
    assert result._repr_html_().startswith("<p>result 1 · 1970-01-01 00:00:10</p>")
    assert "<th>o</th>" in result._repr_html_()
    assert "<td>&lt;b&gt;</td>" in result._repr_html_()


def test_of_a_long_result_the_first_rows_are_shown() -> None:
    [result] = registered("SELECT ?o", ":a :p " + ", ".join(map(str, range(60))) + " .").answers()
    assert result._repr_html_().count("<tr>") == 51
    assert "and 10 more" in result._repr_html_()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("ASK", "<b>true</b>"),
        ("CONSTRUCT { ?o :of ?s }", "<td>http://ex/b</td><td>http://ex/of</td><td>http://ex/a</td>"),
    ],
)
def test_other_forms(head: str, expected: str) -> None:
    [result] = registered(head, ":a :p :b .").answers()
    assert expected in result._repr_html_()
