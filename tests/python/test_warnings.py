"""What a query may not mean is said with its place, and nothing is said of queries that mean what they say.

Detects: a warning that is missing, stands in the wrong place, or is given for benchmarks that keep observations apart.
Does not detect: readings that only the data merges; the plan counts those, which the last test looks at.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from reference_data import reference_path
from whorl import Engine, QueryError
from whorl.documents import PlanNode, QueryWarning

PREFIX = "PREFIX : <http://ex/> "
FROM = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE "

# The averages, sums and counts that come out wrong first: readings about a thing, without a node for each.
SURPRISING = {
    "the mean of each city": f"SELECT ?c (AVG(?t) AS ?m) {FROM} {{ WINDOW :w {{ ?c :hasPointTempC ?t }} }} GROUP BY ?c",
    "the mean of all sensors": f"SELECT (AVG(?v) AS ?m) {FROM} {{ WINDOW :w {{ ?sensor :ozone ?v }} }}",
    "readings of a room": f"SELECT ?r (COUNT(*) AS ?n) {FROM} {{ WINDOW :w {{ ?r :temperature ?t }} }} GROUP BY ?r",
    "fares of a taxi": f"SELECT ?x (SUM(?f) AS ?sum) {FROM} {{ WINDOW :w {{ ?x :fare ?f ; :tip ?g }} }} GROUP BY ?x",
    "values of one sensor": f"SELECT (COUNT(?v) AS ?n) {FROM} {{ WINDOW :w {{ :sensor :value ?v }} }}",
    "a unit converted": (
        f"SELECT (AVG(?k) AS ?m) {FROM} {{ WINDOW :w {{ ?r :temperature ?c }} BIND(?c + 273 AS ?k) }}"
    ),
    "in a sub-query": (
        f"SELECT ?r ?m {FROM} {{ WINDOW :w {{ {{ SELECT ?r (AVG(?t) AS ?m) {{ ?r :degrees ?t }} GROUP BY ?r }} }} }}"
    ),
    "C-SPARQL": "SELECT (AVG(?t) AS ?m) FROM STREAM :s [RANGE 10s STEP 10s] WHERE { ?r :temperature ?t }",
    "a median": f"SELECT (MEDIAN(?t) AS ?m) {FROM} {{ WINDOW :w {{ ?r :temperature ?t }} }}",
    "in HAVING": f"SELECT ?r {FROM} {{ WINDOW :w {{ ?r :speed ?v }} }} GROUP BY ?r HAVING (AVG(?v) > 3)",
    "openings of a door": f"SELECT ?d (COUNT(*) AS ?n) {FROM} {{ WINDOW :w {{ ?d :opened true }} }} GROUP BY ?d",
    "two ways to say it": (
        f"SELECT (AVG(?t) AS ?m) {FROM} {{ WINDOW :w {{ {{ ?r :temp ?t }} UNION {{ ?r :temperature ?t }} }} }}"
    ),
}
# What is right in a set window too.
PLAIN = {
    "observations": f"SELECT ?r (AVG(?t) AS ?m) {FROM} {{ WINDOW :w {{ ?o :room ?r ; :value ?t }} }} GROUP BY ?r",
    "their results": f"SELECT (AVG(?v) AS ?m) {FROM} {{ WINDOW :w {{ ?o :result ?x . ?x :value ?v }} }}",
    "results in brackets": f"SELECT (AVG(?v) AS ?m) {FROM} {{ WINDOW :w {{ ?o :result [ :value ?v ] }} }}",
    "results on a path": f"SELECT (AVG(?v) AS ?m) {FROM} {{ WINDOW :w {{ ?o :result/:value ?v }} }}",
    "graphs of events": f"SELECT (AVG(?v) AS ?m) {FROM} {{ WINDOW :w {{ GRAPH ?g {{ ?r :value ?v }} }} }}",
    "people in a room": f"SELECT ?r (COUNT(?p) AS ?n) {FROM} {{ WINDOW :w {{ ?p :isIn ?r }} }} GROUP BY ?r",
    "all people in a room": f"SELECT ?r (COUNT(*) AS ?n) {FROM} {{ WINDOW :w {{ ?p :isIn ?r }} }} GROUP BY ?r",
    "the greatest": f"SELECT ?r (MAX(?t) AS ?m) {FROM} {{ WINDOW :w {{ ?r :temperature ?t }} }} GROUP BY ?r",
    "distinct values": f"SELECT (COUNT(DISTINCT ?t) AS ?n) {FROM} {{ WINDOW :w {{ ?r :temperature ?t }} }}",
    "distinct rows": f"SELECT (COUNT(*) AS ?n) {FROM} {{ {{ SELECT DISTINCT ?r ?t {{ WINDOW :w {{ ?r :t ?t }} }} }} }}",
    "static values": f"SELECT (SUM(?n) AS ?m) {FROM} {{ WINDOW :w {{ ?p :isIn ?r }} ?r :seats ?n }}",
    "CQELS-QL": "SELECT (AVG(?t) AS ?m) WHERE { STREAM :s [RANGE 10s] { ?r :temperature ?t } }",
}


def warned(text: str, **options: Any) -> list[QueryWarning]:
    return Engine().register(PREFIX + text, **options).warnings


def codes(text: str, **options: Any) -> list[str]:
    return [warning["code"] for warning in warned(text, **options) if warning["code"] != "plan.reevaluated"]


@pytest.mark.parametrize("text", SURPRISING.values(), ids=SURPRISING)
def test_an_aggregate_over_what_a_set_can_merge_is_warned_of(text: str) -> None:
    (warning,) = (found for found in warned(text) if found["code"] == "aggregate.merges")
    call = re.search(r"\b(AVG|SUM|COUNT|MEDIAN)\(", PREFIX + text)
    assert call is not None
    assert (warning["line"], warning["column"]) == (1, call.start() + 1)
    assert "bag" in warning["hint"]
    assert "aggregate.merges" not in codes(text, semantics="bag")


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_what_is_right_in_a_set_is_not_warned_of(text: str) -> None:
    assert "aggregate.merges" not in codes(text)


def test_a_warning_is_shown_by_explain_and_validate() -> None:
    text = PREFIX + SURPRISING["the mean of each city"]
    query = Engine().register(text)
    what = "nothing keeps two equal triples ?c :hasPointTempC ?t apart"
    said = f"AVG(?t) counts equal readings once: the window :w is a set, and {what}"
    assert f"warning at 1:34: {said} (hint: choose bag" in query.explain()
    assert query.explain("json")["warnings"] == query.warnings
    assert Engine().validate(text)["warnings"][0] == query.warnings[0]
    assert query.warnings[0]["message"] == said


# What is no valid SPARQL where it was published, or reads no window: no warning can be asked of it.
REFUSED = {
    "citybench/rspql/Q12.rspql": "select.not_grouped",
    "citybench/rspql/Q9.rspql": "parse.unexpected_token",
    "lsbench/rspql/q2.rspql": "select.not_grouped",
    "lsbench/rspql/q3.rspql": "select.not_grouped",
    "srbench/stream/q5.sparql": "select.alias_reused",
    **{
        f"yabench/{dialect}_Q{number}_1.oracle.query": "plan.no_window"
        for dialect in ("cqels", "csparql")
        for number in (1, 2, 3)
    },
}


def benchmark_files() -> list[Path]:
    folders = [reference_path("queries", name) for name in ("srbench", "lsbench", "csrbench", "citybench", "yabench")]
    suffixes = {".rspql", ".csparql", ".cqels", ".sparql", ".sparqlstream", ".query"}
    return sorted(path for folder in folders if folder for path in folder.rglob("*") if path.suffix in suffixes)


@pytest.mark.skipif(not benchmark_files(), reason="the reference queries are not there; set WHORL_TEST_DATA")
def test_benchmarks_that_keep_observations_apart_are_not_warned_of() -> None:
    refused = {}
    for path in benchmark_files():
        text = path.read_text().replace("STEP]", "TUMBLING]")
        text = re.sub(r"\$\{(WSIZE|WSLIDE)\}", "5s", text)
        text = text.replace("${TEMP}", "80").replace("${VARIATION_THRESHOLD}", "2")
        try:
            facts = Engine().validate(text, base_iri="http://ex/")
        except QueryError as error:
            refused["/".join(path.parts[path.parts.index("queries") + 1 :])] = error.code
            continue
        assert "aggregate.merges" not in [warning["code"] for warning in facts["warnings"]], path
    assert refused == REFUSED


@pytest.mark.parametrize(
    ("text", "code", "mentioned", "place"),
    [
        (f"SELECT ?r ?tmep {FROM} {{ WINDOW :w {{ ?r :t ?temp }} }}", "select.unbound", "?temp?", "?tmep"),
        (f"SELECT ?r {FROM} {{ WINDOW :w {{ ?r :t ?t }} FILTER(?u > 1) }}", "expr.unbound", "bind it", "?u"),
        (f"SELECT ?r {FROM} {{ WINDOW :w {{ ?r :t ?t }} BIND(?u + 1 AS ?v) }}", "expr.unbound", "bind it", "?u"),
        (
            f"SELECT ?r {FROM} {{ WINDOW :w {{ ?r :t ?t FILTER EXISTS {{ ?r :u ?u FILTER(?uuu > ?t) }} }} }}",
            "expr.unbound",
            "bind it",
            "?uuu",
        ),
        (f"CONSTRUCT {{ ?r :is ?x }} {FROM} {{ WINDOW :w {{ ?r :t ?t }} }}", "select.unbound", "bind it", "?x"),
        (f"SELECT * {FROM} {{ WINDOW :w {{ ?a :p ?b . ?c :q ?d }} }}", "plan.product", "join them", "?a"),
        (
            "SELECT ?r FROM NAMED WINDOW :w ON :s [RANGE 10 STEP 5] { WINDOW :w { ?r :t ?t } }",
            "window.unit",
            "10s",
            "10",
        ),
    ],
)
def test_what_looks_mistyped_is_warned_of_with_its_place(text: str, code: str, mentioned: str, place: str) -> None:
    (warning,) = (found for found in warned(text) if found["code"] == code)
    assert mentioned in warning["hint"]
    assert (warning["line"], warning["column"]) == (1, (PREFIX + text).index(place) + 1)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * {FROM} {{ WINDOW :w {{ ?r :t ?t OPTIONAL {{ ?r :u ?u FILTER(?u > ?t) }} }} FILTER(!BOUND(?u)) }}",
        f"SELECT ?r {FROM} {{ WINDOW :w {{ ?r :t ?t FILTER NOT EXISTS {{ ?r :u ?u FILTER(?u > ?t) }} }} }}",
        f"SELECT ?r (MAX(?t) AS ?m) {FROM} {{ WINDOW :w {{ ?r :t ?t }} }} GROUP BY ?r HAVING (MAX(?t) > 1) LIMIT 5",
        f"SELECT ?r (?t * 2 AS ?u) (?u + 1 AS ?v) {FROM} {{ WINDOW :w {{ ?r :t ?t }} }}",
        f"SELECT * {FROM} {{ WINDOW :w {{ ?a :p ?b . ?c :q ?d }} FILTER(?b < ?d) }}",
        f"SELECT * {FROM} {{ WINDOW :w {{ ?a :p ?b . :c :q ?d }} }}",
        "SELECT ?r FROM NAMED WINDOW :w ON :s [ELEMENTS 10 STEP 5] { WINDOW :w { ?r :t ?t } }",
        "SELECT ?r FROM NAMED WINDOW :w ON :s [RANGE 1m30s STEP 500ms] { WINDOW :w { ?r :t ?t } }",
        "SELECT ?r FROM NAMED WINDOW :w ON :s [RANGE 10000 STEP 5000] { WINDOW :w { ?r :t ?t } }",
    ],
)
def test_ordinary_queries_are_not_warned_of(text: str) -> None:
    assert codes(text) == []


def test_the_plan_counts_what_a_set_window_has_merged() -> None:
    text = PREFIX + SURPRISING["readings of a room"]
    engine = Engine()
    as_set, as_bag = engine.register(text), engine.register(text, semantics="bag")
    for second, t in [(1, 20), (2, 20), (3, 21), (12, 20), (13, 22), (13, 22)]:
        engine.push("http://ex/s", second * 1_000, f"<http://ex/a> <http://ex/temperature> {t} .")
    engine.close()
    # 20 in the second window is no copy of 20 in the first.
    assert merged(as_set.explain("json")["root"]) == [2]
    assert "6 matched · 2 merged" in as_set.explain()
    assert merged(as_bag.explain("json")["root"]) == []
    assert [window.get("merged") for window in as_set.explain("json")["windows"]] == [2]
    assert [window.get("merged") for window in as_bag.explain("json")["windows"]] == [None]
    assert re.search(r"^window :w on :s .* at 1:\d+ · 2 merged$", as_set.explain(), re.MULTILINE)
    assert [[row["n"] for row in answer.rows] for answer in as_set] == [[2], [2], []]
    assert [[row["n"] for row in answer.rows] for answer in as_bag] == [[3], [3], []]


def test_a_pattern_that_two_joins_read_is_counted_once_in_its_window() -> None:
    text = f"""{PREFIX}SELECT * {FROM} {{ WINDOW :w {{ ?a :p ?b . ?b :q ?c
        OPTIONAL {{ ?a :p ?b . ?b :r ?d }} }} }}"""
    engine = Engine()
    query = engine.register(text)
    for second in (1, 2, 3):
        engine.push("http://ex/s", second * 1_000, "<http://ex/a> <http://ex/p> <http://ex/b> .")
    engine.close()
    assert [window.get("merged") for window in query.explain("json")["windows"]] == [2]


def merged(node: PlanNode) -> list[int]:
    own = [buffer["merged"] for buffer in node.get("buffers", []) if "merged" in buffer]
    return own + [count for inner in node["inputs"] for count in merged(inner)]
