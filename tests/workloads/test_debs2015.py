"""The two queries of the DEBS 2015 challenge against the outside oracle, trip by trip.

The taxis are sampled, not the trips, so that whether a taxi is empty is decided by all of its trips.
"""

from __future__ import annotations

import pytest
from whorl_workloads import debs2015, is_long
from whorl_workloads.check import check, loaded, query_text


@pytest.mark.parametrize(("name", "one_taxi_in", "in_long"), [("q1", 50, 8), ("q2", 90, 20)], ids=["q1", "q2"])
def test_engine_equals_oracle(name: str, one_taxi_in: int, in_long: int) -> None:
    events = loaded(debs2015.events, in_long if is_long() else one_taxi_in)
    text, dialect = query_text("debs2015", f"{name}.cqels")
    assert check(text, dialect, events, {}).is_fruitful()
