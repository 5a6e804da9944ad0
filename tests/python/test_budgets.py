"""Limits from Python: chosen by name, refused when unknown, and what is too costly fails alone."""

from __future__ import annotations

from typing import cast

import pytest
from whorl import GUARDED_LIMITS, Engine, Limits, QueryFailedError, UnsupportedQueryError

S = "http://ex/s"
HEAD = "PREFIX : <http://ex/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { %s } }"
PRODUCT = HEAD % "?a :p ?b . ?c :q ?d"


def push(engine: Engine, nodes: int) -> None:
    """One event with two triples for each node."""
    triples = [(f"http://ex/n{i}", f"http://ex/{p}", i) for i in range(nodes) for p in "pq"]
    engine.push(S, 1, triples)
    engine.close()


def test_a_product_is_refused_with_place_and_hint() -> None:
    engine = Engine(limits=GUARDED_LIMITS)
    with pytest.raises(UnsupportedQueryError, match="share no variable") as refused:
        engine.register(PRODUCT)
    assert refused.value.code == "query.too_costly"
    assert refused.value.line == 1
    assert refused.value.hint is not None
    assert "allow_cartesian" in refused.value.hint


def test_validation_lets_a_product_pass_where_registration_would() -> None:
    engine = Engine(limits=GUARDED_LIMITS)
    with pytest.raises(UnsupportedQueryError, match="share no variable"):
        engine.validate(PRODUCT)
    assert engine.validate(PRODUCT, allow_cartesian=True)["form"] == "SELECT"


def test_a_costly_query_fails_alone() -> None:
    limits: Limits = {**GUARDED_LIMITS, "work": 20_000}
    engine = Engine(limits=limits)
    costly = engine.register(PRODUCT, allow_cartesian=True)
    neighbour = engine.register(HEAD % "?a :p ?b ; :q ?c")
    push(engine, 200)
    with pytest.raises(QueryFailedError, match=r"more than 20000 units of work .*\(limit work\)") as failed:
        costly.answers()
    assert failed.value.code == "query.too_costly"
    assert len(neighbour.rows()) == 200


def test_without_limits_nothing_is_refused() -> None:
    engine = Engine()
    query = engine.register(PRODUCT)
    push(engine, 30)
    assert len(query.rows()) == 900


def test_an_unknown_limit_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ValueError, match=r"result_rows.*not 'worc'"):
        Engine(limits=cast("Limits", {"worc": 1}))
