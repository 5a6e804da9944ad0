"""A query over the stream that a random CONSTRUCT query writes, against the oracle applied twice.

Each report of the first query is an event at its instant; the second query reads them. Only reports with content are
compared: the start time of a written stream is not tested here.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest
from whorl import UnsupportedQueryError
from whorl_oracle.check import without_open_ends
from whorl_oracle.model import AllSoFar, Close, Elements, Kind, Options, Push, R2s, Report, Step, Window
from whorl_oracle.query import Block, Group, Query, Select
from whorl_oracle.shrink import case_text, shrink
from whorl_oracle.streams import Pair
from whorl_oracle.subject import act, answer, difference, expected_by_action, register, start
from whorl_oracle.whole import constructing

CASES = 5_000 if os.environ.get("WHORL_CAMPAIGN") == "long" else 250
OUT, VIEW = "http://ex/out", "http://ex/view"


def upper(seed: int) -> Pair:
    """The first query, on streams that end."""
    one = constructing(seed)
    r2s = R2s.ISTREAM if seed % 2 else R2s.RSTREAM
    query = replace(one.query, options=replace(one.query.options, r2s=r2s))
    actions = tuple(action for action in one.actions if not isinstance(action, Close))
    return without_open_ends(replace(one, query=query, actions=(*actions, Close())))


def lower(seed: int) -> Query:
    """The second query."""
    rng = Random(seed)
    width = rng.choice([1, 10, 100, 1000, 20_000])
    kinds: list[Kind] = [Step(width, width), Step(width, 2 * width), Step(3 * width, width), Elements(2), AllSoFar()]
    selects = [
        (("?s", "?p", "?o"), (("?s", "?p", "?o"),), ()),
        (("?s", "(COUNT(*) AS ?n)"), (("?s", "?p", "?o"),), ("?s",)),
        (("?s", "?t"), (("?s", ":made", "?o"), ("?t", ":p", "?o")), ()),
    ]
    columns, patterns, grouping = rng.choice(selects)
    select = Select(columns, Group((Block(VIEW, patterns),)), group_by=grouping)
    options = Options(report=Report(nonempty=True), r2s=rng.choice(list(R2s)))
    return Query(select, (Window(VIEW, OUT, rng.choice(kinds)),), options)


def fault(one: Pair) -> str | None:
    events = [Push(OUT, each.at, each.inserted) for some in expected_by_action(one) for each in some if each.inserted]  # type: ignore[arg-type]  # a CONSTRUCT inserts triples
    second = Pair(one.seed, lower(one.seed), (), (*events, Close()))
    expected = [each for some in expected_by_action(second) for each in some]
    engine, _ = start(one)
    query = register(engine, second.query)
    for action in one.actions:
        act(engine, action)
    return difference(second, [expected], [[answer(result) for result in query.answers("pyoxigraph")]])


def still_fails(one: Pair) -> bool:
    try:
        return isinstance(one.actions[-1], Close) and fault(one) is not None
    except Exception:  # noqa: BLE001 - made too small
        return False


def check(seed: int) -> bool:
    """Whether there is something to compare: the streams end, and the engine takes the query."""
    one = upper(seed)
    if not isinstance(one.actions[-1], Close):
        return False
    try:
        reason = fault(one)
    except UnsupportedQueryError:
        return False
    if reason is not None:
        small = shrink(one, still_fails)
        pytest.fail(f"seed {seed}: {fault(small)}\n{lower(seed)}\n{case_text(small, [], '')}", pytrace=False)
    return True


def test_what_a_query_writes_is_a_stream() -> None:
    taken = sum(check(seed) for seed in range(CASES))
    assert taken >= CASES * 8 // 10
