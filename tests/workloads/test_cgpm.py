"""Graphs as events, the workloads of continuous graph pattern matching, against the outside oracle."""

from __future__ import annotations

import pytest
from whorl_workloads import Event, is_long, lubm, snb, taxi
from whorl_workloads.check import check, loaded, query_text


@pytest.fixture(scope="module")
def trips() -> list[Event]:
    return loaded(taxi.events, 600 if is_long() else 40)


@pytest.fixture(scope="module")
def weeks() -> list[Event]:
    found = loaded(snb.weeks)
    return found if is_long() else sorted(found, key=lambda event: -len(event.triples))[:1] + found[:8]


@pytest.mark.parametrize("shape", ["star", "chain", "complex"])
def test_taxi_equals_oracle(shape: str, trips: list[Event]) -> None:
    text, dialect = query_text("taxi", f"{shape}.cqels")
    assert check(text, dialect, trips, {}).is_fruitful()


@pytest.mark.parametrize("shape", ["star", "chain", "complex"])
def test_snb_equals_oracle(shape: str, weeks: list[Event]) -> None:
    text, dialect = query_text("snb", f"{shape}.cqels")
    tally = check(text, dialect, sorted(weeks, key=lambda event: event.t), {})
    assert tally.rows > 0


def test_a_message_has_the_triples_of_the_paper() -> None:
    least, most, total = snb.sizes(loaded(snb.messages))
    assert (least, most, total) == (13, 28, 111_974)


@pytest.mark.parametrize("number", range(1, 8), ids="q{}".format)
def test_lubm_equals_oracle(number: int) -> None:
    """The first department; Q1 and Q3 have no answer there, and the others must have one."""
    events = loaded(lubm.events, 1000, 20 if is_long() else 10)
    text, dialect = query_text("lubm", f"q{number}.cqels")
    tally = check(text, dialect, events, {})
    assert (tally.rows > 0) == (number not in (1, 3))
