"""Ternary logic partitioning: a condition holds, does not hold, or fails. No second engine takes part.

For a query Q and a condition p, at every instant: Q is the bag sum of Q with `p`, with `!p` and with `p fails`. So are
its counts and sums. It sees conditions that lose or double solutions on their way through a plan, wherever they are
evaluated. It cannot see a condition that is wrong the same way in all three places.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from whorl import UnsupportedQueryError
from whorl_oracle.compare import key
from whorl_oracle.model import R2s
from whorl_oracle.query import Filter, Group, Parts, Select, Text
from whorl_oracle.shrink import case_text, shrink
from whorl_oracle.streams import Pair
from whorl_oracle.subject import act, answer, register, start
from whorl_oracle.whole import with_predicate

if TYPE_CHECKING:
    from whorl_oracle.query import Query
    from whorl_oracle.run import Answer, Row

CASES = 20_000 if os.environ.get("WHORL_CAMPAIGN") == "long" else 1_000
BLOCK = 250


def joined(*texts: Text) -> Text:
    parts: list[object] = []
    for text in texts:
        parts += text.parts if isinstance(text, Parts) else [text]
    return Parts(tuple(parts))  # type: ignore[arg-type]  # each is a part of a Text


def three_ways(condition: Text) -> list[Text]:
    return [
        condition,
        joined("!(", condition, ")"),
        joined("!COALESCE(IF(", condition, ", true, true), false)"),
    ]


def filtered(query: Query, condition: Text) -> Query:
    where = Group((*query.select.where.elements, Filter(condition)))
    return replace(query, select=replace(query.select, where=where))


def unfiltered(query: Query) -> Query:
    where = Group(query.select.where.elements[:-1])
    return replace(query, select=replace(query.select, where=where))


def summed(query: Query) -> Query:
    """The counts of a query, and a sum over its first variable."""
    name = query.select.projection[0]
    columns = ("(COUNT(*) AS ?n)", f"(COUNT({name}) AS ?bound)", f"(SUM(COALESCE(STRLEN(STR({name})), 0)) AS ?letters)")
    return replace(query, select=Select(columns, query.select.where))


def all_in_one(one: Pair, queries: list[Query]) -> list[list[Answer]]:
    """The answers of some queries, registered with the first in one engine."""
    engine, first = start(replace(one, query=queries[0]))
    registered = [first, *(register(engine, query) for query in queries[1:])]
    for action in one.actions:
        act(engine, action)
    return [[answer(result) for result in query.answers("pyoxigraph")] for query in registered]


def total(rows: tuple[Row, ...]) -> list[int]:
    return [int(key(value, loose=True)[1]) for row in rows for value in row]  # type: ignore[call-overload]  # the values are numbers


def difference(one: Pair) -> str | None:
    """Where the parts are not the whole, in words; the condition is the last filter of the pair's query."""
    condition = one.query.select.where.elements[-1]
    assert isinstance(condition, Filter)
    query = unfiltered(one.query)
    queries = [query, *(filtered(query, way) for way in three_ways(condition.expression))]
    if one.seed % 3 == 0:
        queries += [summed(each) for each in queries]
    whole, *answers = all_in_one(one, queries)
    for number, expected in enumerate(whole):
        found = [each[number] for each in answers]
        if {each.at for each in found} != {expected.at}:
            return f"at {expected.at}: at {[each.at for each in found]}"
        if sum((Counter(each.inserted) for each in found[:3]), Counter()) != Counter(expected.inserted):
            return f"at {expected.at}: {expected.inserted} is not the sum of {[each.inserted for each in found[:3]]}"
        if len(found) > 3:
            sums = [total(each.inserted) for each in found[3:]]
            if sums[0] != [sum(column) for column in zip(*sums[1:], strict=True)]:
                return f"at {expected.at}: {sums[0]} is not the sum of {sums[1:]}"
    return None


def still_fails(one: Pair) -> bool:
    try:
        return difference(one) is not None
    except Exception:  # noqa: BLE001 - made too small
        return False


def check(seed: int) -> bool:
    """Whether the engine takes the query at all."""
    one, condition = with_predicate(seed)
    query = replace(one.query, options=replace(one.query.options, r2s=R2s.RSTREAM))
    one = replace(one, query=filtered(query, condition))
    try:
        reason = difference(one)
    except UnsupportedQueryError:
        return False
    if reason is not None:
        small = shrink(one, still_fails)
        pytest.fail(f"seed {seed}: {difference(small)}\n{case_text(small, [], '')}", pytrace=False)
    return True


@pytest.mark.parametrize("first", range(0, CASES, BLOCK))
def test_a_condition_holds_or_does_not_or_fails(first: int) -> None:
    taken = sum(check(seed) for seed in range(first, first + BLOCK))
    assert taken >= BLOCK * 8 // 10
