"""The oracle's own algebra against pyoxigraph and rdflib, and against SPARQL 1.1 where those two leave it."""

from __future__ import annotations

import os

import pytest
from whorl_oracle import generate
from whorl_oracle.algebra import Algebra
from whorl_oracle.compare import same_rows
from whorl_oracle.model import AllSoFar, Options, Push, Window
from whorl_oracle.query import (
    HERE,
    Bind,
    Block,
    Exists,
    Filter,
    Group,
    Optional,
    Place,
    Query,
    Scope,
    Select,
    SubSelect,
)
from whorl_oracle.run import run
from whorl_oracle.snapshot import Snapshots
from whorl_oracle.vocabulary import iri, literal
from whorl_oracle.windows import Reading

W = Window("http://ex/w", "http://ex/s", AllSoFar())
SEEDS = 5_000 if os.environ.get("WHORL_CAMPAIGN") == "long" else 150


def triple(text: str) -> tuple[str, str, str]:
    s, p, o = text.split()
    return iri(s), iri(p), iri(o) if o.isalpha() else o


def rows(select: Select, *triples: tuple[str, str, str], bag: bool = False) -> list[tuple[str | None, ...]]:
    """The answer over a window that holds these triples."""
    query = Query(select, (W,), Options(bag=bag))
    return sorted(Algebra(query)(Reading({W.name: tuple((one, n) for n, one in enumerate(triples))})), key=str)


def inside(*elements: object) -> Group:
    return Group((Scope(Place.WINDOW, W.name, Group(elements)),))  # type: ignore[arg-type]  # elements of a group


def orderly(one: generate.Pair) -> bool:
    """Pyoxigraph says that NaN >= NaN; the comparison is asked below."""
    return not any("NaN" in str(action.triples) for action in one.actions if isinstance(action, Push))


def test_algebra_and_pyoxigraph_agree() -> None:
    compared = 0
    for one in filter(orderly, map(generate.pair, range(SEEDS))):
        arguments = one.query.windows, one.query.options, one.actions
        left = run(*arguments, Algebra(one.query, one.graphs()))
        right = run(*arguments, Snapshots(one.query, one.graphs()))
        for ours, theirs in zip(left, right, strict=True):
            assert same_rows(ours.inserted, theirs.inserted), (one, ours, theirs)
            assert same_rows(ours.deleted, theirs.deleted), (one, ours, theirs)
        compared += len(left)
    assert compared > 500


def test_triangle_over_a_bag_counts_every_occurrence() -> None:
    """Two copies of each of three sides: eight solutions for each of the three corners to begin with."""
    where = inside(Block(HERE, (("?a", ":p", "?b"), ("?b", ":p", "?c"), ("?c", ":p", "?a"))))
    sides = [triple("a p b"), triple("b p c"), triple("c p a")] * 2
    assert rows(Select(("(COUNT(*) AS ?n)",), where), *sides, bag=True) == [(literal("24", "integer"),)]
    assert rows(Select(("(COUNT(*) AS ?n)",), where), *sides) == [(literal("3", "integer"),)]


def test_sub_select_beside_a_join_keeps_multiplicities() -> None:
    inner = SubSelect(Select(("?a", "?c"), Group((Block(HERE, (("?a", ":p", "?b"), ("?b", ":p", "?c"))),))))
    where = inside(Block(HERE, (("?c", ":p", "?a"),)), inner, Block(HERE, (("?a", ":p", "?d"),)))
    data = [triple("a p b"), triple("b p a"), triple("a p a"), triple("b p b")]
    assert len(rows(Select(("?a", "?c", "?d"), where), *data)) == 16


def test_lexical_forms_stay() -> None:
    """`"01"^^xsd:integer` is a term of its own, also beside a pattern that is evaluated afresh."""
    absent = Exists(
        Group((Block(HERE, (("?b", ":q", "?c"),)), Optional(Group((Block(HERE, (("?a", ":p", "?d"),)),))))), True
    )
    where = inside(Block(HERE, (("?a", ":v", "?x"),)), absent, Bind("STR(?x)", "?t"))
    assert rows(Select(("?t",), where), (iri("a"), iri("v"), literal("01", "integer"))) == [('"01"',)]


@pytest.mark.parametrize("comparison", ["<", "<=", ">", ">=", "="])
def test_nan_compares_false(comparison: str) -> None:
    """SPARQL 1.1 §17.3: false, and no error."""
    where = inside(Block(HERE, (("?a", ":v", "?x"),)), Filter(f"!(?x {comparison} ?x)"))
    assert rows(Select(("?a",), where), (iri("a"), iri("v"), literal("NaN", "double"))) == [(iri("a"),)]


def test_path_of_length_zero_meets_a_term_that_is_not_in_the_window() -> None:
    where = inside(Block(HERE, (("?b", "((:r)*)+", ":d"),)))
    assert rows(Select(("?b",), where), triple("a r c")) == [(iri("d"),)]


def test_optional_filter_sees_both_sides() -> None:
    where = inside(
        Block(HERE, (("?a", ":v", "?x"),)),
        Optional(Group((Block(HERE, (("?a", ":p", "?b"),)), Filter("?x > 1")))),
    )
    data = [(iri("a"), iri("v"), literal("1", "integer")), (iri("b"), iri("v"), literal("2", "integer"))]
    found = rows(Select(("?a", "?b"), where), *data, triple("a p c"), triple("b p c"))
    assert found == [(iri("a"), None), (iri("b"), iri("c"))]


def test_minimum_over_an_unbound_value_is_an_error() -> None:
    where = inside(Block(HERE, (("?a", ":p", "?b"),)), Optional(Group((Block(HERE, (("?b", ":v", "?x"),)),))))
    data = [triple("a p b"), triple("a p c"), (iri("b"), iri("v"), literal("1", "integer"))]
    assert rows(Select(("(MIN(?x) AS ?m)", "(COUNT(?x) AS ?n)"), where), *data) == [(None, literal("1", "integer"))]


def test_iris_have_no_order() -> None:
    """`<=` of two IRIs is an error, equal or not, so that IF has no value."""
    where = inside(Block(HERE, (("?a", ":p", "?b"),)))
    assert rows(Select(("?a", "(IF(?b <= ?b, 1, 2) AS ?r)"), where), triple("a p a")) == [(iri("a"), None)]


def test_values_are_joined_by_their_lexical_forms() -> None:
    where = inside(Block(HERE, (("?a", ":v", "?x"),)))
    data = [(iri("a"), iri("v"), literal("1.0E0", "double")), (iri("a"), iri("v"), literal("01", "integer"))]
    call = '(GROUP_CONCAT(STR(?x); SEPARATOR="|") AS ?g)'
    assert rows(Select((call,), where), *data) == [('"01|1.0E0"',)]


def test_language_tags_keep_their_case() -> None:
    where = inside(Block(HERE, (("?a", ":l", "?x"),)))
    assert rows(Select(("?x",), where), (iri("a"), iri("l"), '"hello"@en-GB')) == [('"hello"@en-GB',)]
