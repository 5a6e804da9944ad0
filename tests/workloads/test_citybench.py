"""The CityBench queries against the outside oracle: CQELS-QL on every arrival, C-SPARQL on every close."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from whorl import Engine
from whorl_workloads import Event, Static, citybench, is_long
from whorl_workloads.check import check, loaded, query_text
from whorl_workloads.data import in_order, ntriples

KALKVAERKSVEJ, SKOLEBAKKEN = (f"AarhusParkingData{name}" for name in ("KALKVAERKSVEJ", "SKOLEBAKKEN"))
ROADS_AND_AIR = [
    *(f"AarhusTrafficData{number}" for number in (182955, 158505, 186979)),
    *(f"AarhusPollutionData{number}" for number in (201399, 197626, 158505, 206502)),
    "AarhusWeatherData0",
]
WITH_USER, WITH_PARKING = {4, 6}, {7, 8, 9}
DAY = "2014-08-01T"


@pytest.fixture(scope="module")
def roads() -> list[Event]:
    return loaded(citybench.events, ROADS_AND_AIR, f"{DAY}08:00:00", f"{DAY}{'20:00' if is_long() else '09:30'}:00")


@pytest.fixture(scope="module")
def parking() -> list[Event]:
    until = "2014-08-08T00:00:00" if is_long() else f"{DAY}12:00:00"
    return loaded(citybench.events, [KALKVAERKSVEJ, SKOLEBAKKEN], f"{DAY}00:00:00", until)


@pytest.fixture(scope="module")
def user() -> list[Event]:
    fixes = loaded(citybench.user_events, f"{DAY}08:00:00", 60_000, 289 if is_long() else 150)
    return in_order([*loaded(citybench.events, [KALKVAERKSVEJ], f"{DAY}08:00:00", f"{DAY}12:00:00"), *fixes])


@pytest.fixture(scope="module")
def static() -> Static:
    return loaded(citybench.static, whole=is_long())


@pytest.mark.parametrize("suffix", ["cqels", "csparql"])
@pytest.mark.parametrize("number", range(1, 13), ids="q{}".format)
def test_engine_equals_oracle(
    number: int, suffix: str, roads: list[Event], parking: list[Event], user: list[Event], static: Static
) -> None:
    text, dialect = query_text("citybench", f"q{number}.{suffix}")
    events = user if number in WITH_USER else parking if number in WITH_PARKING else roads
    assert check(text, dialect, events, static).is_fruitful()


def test_parking_values_stay_xsd_int(parking: list[Event], static: Static) -> None:
    """The oracle's store turns `xsd:int` into `xsd:integer`, so the comparison above cannot see it."""
    engine = Engine()
    engine.load(citybench.SENSORS, static[citybench.SENSORS], "ntriples")
    text, dialect = query_text("citybench", "q7.cqels")
    query = engine.register(text, dialect=dialect.value)
    for event in parking:
        engine.push(event.stream, event.t, ntriples(event.triples), "ntriples")
    values = [row["free"] for answer in query.answers("pyoxigraph") for row in answer.rows]
    assert values
    assert {value.datatype.value for value in values if isinstance(value, ox.Literal)} == {
        "http://www.w3.org/2001/XMLSchema#int"
    }
