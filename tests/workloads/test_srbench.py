"""The SRBench queries against the outside oracle: many stations on a morning of 2004, one station minute by minute."""

from __future__ import annotations

import pytest
from whorl_workloads import Event, Static, is_long, srbench
from whorl_workloads.check import check, loaded, query_text

# Queries on rain, pressure and one place read the series of the station HP001.
ONE_STATION = {1, 2, 8, 9}


@pytest.fixture(scope="module")
def many_stations() -> list[Event]:
    return loaded(srbench.events_2004, 120 if is_long() else 18)


@pytest.fixture(scope="module")
def one_station() -> list[Event]:
    return loaded(srbench.events_of_station, "HP001", 2000 if is_long() else 480)


@pytest.fixture(scope="module")
def static() -> Static:
    return loaded(srbench.static)


@pytest.mark.parametrize("number", range(1, 11), ids="q{}".format)
def test_engine_equals_oracle(
    number: int, many_stations: list[Event], one_station: list[Event], static: Static
) -> None:
    text, dialect = query_text("srbench", f"q{number}.rspql")
    events = one_station if number in ONE_STATION else many_stations
    assert check(text, dialect, events, static).is_fruitful()
