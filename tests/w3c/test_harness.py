"""The harness itself: a check that cannot fail proves nothing. No archive is needed here."""

from __future__ import annotations

from dataclasses import replace

import pyoxigraph as ox
import pytest
from whorl_w3c.answers import Answer, bindings, expected_answer, graph_answer
from whorl_w3c.compare import Rules, why_not_same
from whorl_w3c.cut import NOISE_GONE_AT, NOISE_UNTIL, Mode, cut
from whorl_w3c.run import Task, evaluated, judge
from whorl_w3c.suite import Entry, Kind, Suite
from whorl_w3c.text import computed_by, dataset_of, is_ordered, makes_blank_nodes, wrapped

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
P = ox.NamedNode(EX + "p")
A, B = ox.NamedNode(EX + "a"), ox.NamedNode(EX + "b")
X, Y = ox.BlankNode("x"), ox.BlankNode("y")
U, V = ox.BlankNode("u"), ox.BlankNode("v")


def typed(lexical: str, datatype: str) -> ox.Literal:
    return ox.Literal(lexical, datatype=ox.NamedNode(XSD + datatype))


def one_column(*terms: ox.NamedNode | ox.BlankNode | ox.Literal | None) -> Answer:
    return bindings(["x"], [{"x": term} for term in terms])


def same(expected: Answer, found: Answer, rules: Rules = Rules()) -> bool:  # noqa: B008 - frozen
    return why_not_same(expected, found, rules) is None


def test_bags_are_equal_in_any_order_and_by_number() -> None:
    assert same(one_column(A, B, B), one_column(B, A, B))
    assert not same(one_column(A, B, B), one_column(A, A, B))
    assert not same(one_column(A, B), one_column(A))
    assert not same(one_column(A), one_column(B))
    assert not same(one_column(A), one_column(None))
    assert not same(one_column(A), bindings(["y"], [{"y": A}]))


def test_order_counts_where_there_is_one() -> None:
    rules = Rules(ordered=True)
    assert same(one_column(A, B), one_column(A, B), rules)
    assert not same(one_column(A, B), one_column(B, A), rules)
    assert same(replace(one_column(A, B), in_order=False), one_column(B, A), rules)


def test_reduced_may_drop_copies_and_nothing_else() -> None:
    rules = Rules(lax=True)
    assert same(one_column(A, A, B), one_column(B, A), rules)
    assert not same(one_column(A, A, B), one_column(A, A), rules)
    assert not same(one_column(A, B), one_column(A, A, B), rules)


def test_blank_nodes_are_renamed_one_to_one() -> None:
    assert same(one_column(X, Y), one_column(U, V))
    assert not same(one_column(X, Y), one_column(U, U))
    assert not same(one_column(X, X), one_column(U, V))
    assert not same(one_column(X), one_column(A))
    assert not same(one_column(X, Y), one_column(U, V, V))


def test_graphs_are_compared_up_to_blank_nodes() -> None:
    chain = graph_answer([ox.Triple(A, P, X), ox.Triple(X, P, Y), ox.Triple(Y, P, B)])
    assert same(chain, graph_answer([ox.Triple(V, P, B), ox.Triple(A, P, U), ox.Triple(U, P, V)]))
    assert not same(chain, graph_answer([ox.Triple(V, P, B), ox.Triple(A, P, U), ox.Triple(V, P, U)]))
    assert not same(chain, graph_answer([ox.Triple(A, P, U), ox.Triple(U, P, V)]))


def test_indistinct_blank_nodes_are_found_by_trying() -> None:
    circle = [ox.BlankNode(f"c{n}") for n in range(6)]
    six = graph_answer(ox.Triple(node, P, circle[(n + 1) % 6]) for n, node in enumerate(circle))
    threes = graph_answer(ox.Triple(node, P, circle[n - 2 if n % 3 == 2 else n + 1]) for n, node in enumerate(circle))
    turned = graph_answer(ox.Triple(circle[(n + 3) % 6], P, circle[(n + 4) % 6]) for n in range(6))
    assert same(six, turned)
    assert not same(six, threes)


def test_computed_numbers_count_by_value_and_copied_ones_by_term() -> None:
    expected, found = one_column(typed("1.0", "decimal")), one_column(typed("1.00", "decimal"))
    data = frozenset([typed("1.0", "decimal")])
    assert same(expected, found)
    assert not same(expected, found, Rules(data=data))
    assert same(expected, found, Rules(computed={"x"}, data=data))
    assert not same(expected, one_column(typed("1.0", "double")))
    assert not same(expected, one_column(typed("1.1", "decimal")))
    assert not same(one_column(ox.Literal("1.0")), one_column(ox.Literal("1.00")))
    assert same(one_column(typed("NaN", "double")), one_column(typed("NaN", "double")))
    assert not same(one_column(typed("1e0", "double")), one_column(typed("1.001", "double")))


def test_kinds_and_booleans_differ() -> None:
    assert same(Answer("boolean", boolean=True), Answer("boolean", boolean=True))
    assert not same(Answer("boolean", boolean=True), Answer("boolean", boolean=False))
    assert not same(Answer("boolean", boolean=True), one_column(A))
    assert not same(graph_answer([]), bindings([], []))


def test_result_files_of_all_kinds_are_read() -> None:
    described = f"""@prefix rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#> .
        [] a rs:ResultSet ; rs:resultVariable "x" ;
           rs:solution [ rs:index 2 ; rs:binding [ rs:variable "x" ; rs:value <{EX}b> ] ],
                       [ rs:index 1 ; rs:binding [ rs:variable "x" ; rs:value <{EX}a> ] ] ."""
    suite = Suite(
        {
            "t.tsv": f"?x\n<{EX}a>\n<{EX}b>\n".encode(),
            "t.csv": f"x\r\n{EX}a\r\n{EX}b\r\n".encode(),
            "t.ttl": described.encode(),
            "g.ttl": f"<{EX}a> <{EX}p> <{EX}b> .".encode(),
        }
    )
    for path in ("t.tsv", "t.csv", "t.ttl"):
        expected = expected_answer(suite, path)
        assert same(expected, one_column(A, B), Rules(ordered=True)), path
        assert not same(expected, one_column(B, A), Rules(ordered=True)), path
        assert not same(expected, one_column(A)), path
    assert same(expected_answer(suite, "g.ttl"), graph_answer([ox.Triple(A, P, B)]))


DATA = tuple(ox.Triple(ox.NamedNode(f"{EX}s{n % 3}"), P, typed(str(n), "integer")) for n in range(9))


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("data", [DATA, ()], ids=["data", "empty"])
def test_every_cut_leaves_the_data_in_the_window(mode: Mode, data: tuple[ox.Triple, ...]) -> None:
    stream = cut(mode, data, (), "seed")
    times = [event.at for event in stream.events]
    assert times
    assert times == sorted(times)
    begin = NOISE_UNTIL if mode is Mode.NOISE_THAT_EXPIRES else 0
    assert {triple for event in stream.events if event.at >= begin for triple in event.triples} == set(data)
    assert max(times) < NOISE_GONE_AT


def test_cuts_are_what_their_names_say() -> None:
    streams = {mode: cut(mode, DATA, (), "seed") for mode in Mode}
    sizes = {mode: [len(event.triples) for event in stream.events] for mode, stream in streams.items()}
    assert sizes[Mode.ONE_EVENT] == [9]
    assert sizes[Mode.TRIPLE_BY_TRIPLE] == [1] * 9
    assert 1 < len(sizes[Mode.RANDOM_CUT]) < 9
    assert sum(sizes[Mode.EVERYTHING_TWICE]) == 18
    noise = [t for event in streams[Mode.NOISE_THAT_EXPIRES].events for t in event.triples if t not in DATA]
    assert noise
    assert {triple.predicate for triple in noise} == {P}


def test_text_is_read_by_its_tokens() -> None:
    query = """PREFIX : <http://example.org/#> # FROM <no>
        SELECT ?s (MAX(?v) AS ?max) (SUM(?v + (1)) AS ?sum) FROM <g> FROM NAMED <h>
        { ?s :p ?v . FILTER(?v != "} ORDER BY") { SELECT ?s { ?s :q ?o } ORDER BY ?o } } GROUP BY ?s"""
    assert dataset_of(query) == ({"g"}, {"h"})
    assert computed_by(query) == {"sum"}
    assert not is_ordered(query)
    assert is_ordered(query + " ORDER BY ?s")
    assert makes_blank_nodes("CONSTRUCT { ?s ?p [] } WHERE { ?s ?p ?o }")
    assert not makes_blank_nodes("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p [] }")


def test_pattern_is_put_inside_window() -> None:
    for query, expected in (
        ("SELECT * WHERE { ?s ?p {} } LIMIT 1", "SELECT * FROM W WHERE { WINDOW W { ?s ?p {} } } LIMIT 1"),
        ("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", "CONSTRUCT { ?s ?p ?o } FROM W WHERE { WINDOW W { ?s ?p ?o } }"),
    ):
        found = wrapped(query, "FROM W", "W")
        assert found is not None
        assert " ".join(found.split()) == expected
    for unfit in (
        "SELECT * { { SELECT * { ?s ?p ?o } } }",
        "ASK { GRAPH ?g { ?s ?p ?o } }",
        "SELECT * FROM <g> { ?s ?p ?o }",
        "SELECT (EXISTS { ?s ?p ?o } AS ?e) { ?s ?p ?o }",
        "CONSTRUCT WHERE { ?s ?p ?o }",
        "DESCRIBE <s>",
    ):
        assert wrapped(unfit, "FROM W", "W") is None, unfit


SUM = "SELECT ?s (SUM(?v) AS ?sum) { ?s <http://example.org/p> ?v } GROUP BY ?s ORDER BY ?s"
ENTRY = Entry("sparql11/none", "sum", Kind.EVALUATION, "sparql11/none/sum.rq")


def sums(*values: int) -> Answer:
    rows = [(ox.NamedNode(f"{EX}s{n}"), typed(str(value), "integer")) for n, value in enumerate(values)]
    return Answer("bindings", ("s", "sum"), tuple(rows), in_order=True)


def test_right_expectation_passes_through_the_engine() -> None:
    verdict = evaluated(Task(ENTRY, SUM, DATA, {}, {}, sums(9, 12, 15)))
    assert verdict.faults == ()
    assert verdict.incremental


@pytest.mark.parametrize("wrong", [sums(9, 12, 16), sums(9, 12), sums(9, 12, 15, 0), Answer("boolean", boolean=True)])
def test_wrong_expectation_fails_in_every_mode_and_output(wrong: Answer) -> None:
    (fault,) = evaluated(Task(ENTRY, SUM, DATA, {}, {}, wrong)).faults
    assert fault.startswith("M1, M2, M3, M4, M5; RSTREAM, CHANGES, ISTREAM − DSTREAM; plain, inside WINDOW: ")


def test_wrong_order_fails_in_rstream_alone() -> None:
    expected = sums(9, 12, 15)
    (fault,) = evaluated(Task(ENTRY, SUM, DATA, {}, {}, replace(expected, rows=expected.rows[::-1]))).faults
    assert fault.startswith("M1, M2, M3, M4, M5; RSTREAM; plain, inside WINDOW: ")


def test_reevaluated_plan_is_not_called_incremental() -> None:
    star = "SELECT ?s { ?s <http://example.org/p>* <http://example.org/none> }"
    expected = bindings(["s"], [{"s": ox.NamedNode(EX + "none")}])
    assert evaluated(Task(ENTRY, star, DATA, {}, {}, expected)).incremental is False


@pytest.mark.parametrize(
    ("kind", "text", "passes"),
    [
        (Kind.POSITIVE, "SELECT * { ?s ?p ?o }", True),
        (Kind.POSITIVE, "SELECT * { ?s ?p }", False),
        (Kind.NEGATIVE, "SELECT * { ?s ?p }", True),
        (Kind.NEGATIVE, "SELECT * { ?s ?p ?o }", False),
        # A refusal for another reason than syntax is no success.
        (Kind.NEGATIVE, "SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }", False),
    ],
)
def test_syntax_is_judged(kind: Kind, text: str, passes: bool) -> None:
    entry = Entry("sparql11/none", "syntax", kind, "q.rq")
    assert (not judge(Suite({"q.rq": text.encode()}), entry).faults) is passes
