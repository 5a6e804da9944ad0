"""The demo is the same every time, and every query of its gallery has a result within two minutes of it."""

from __future__ import annotations

import itertools
import statistics
import threading
from typing import Any

import pyoxigraph as ox
import pytest
from whorl import Engine
from whorl.demo import BUILDING, DROPOFFS, LATENESS_MS, PEOPLE, SENSORS
from whorl.demo.pace import RATE_MAX, Pace
from whorl.demo.player import TAXI_STREAMS
from whorl.demo.queries import building, gallery
from whorl.demo.taxis import PICKUPS_PER_S, TAXIS, Taxis
from whorl.demo.world import Event, World

START_MS = 1_767_225_600_000
SECONDS = 120
# Long enough for most trips to end.
TAXI_SECONDS = 900
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def seconds(n: int, seed: int = 1) -> list[list[Event]]:
    world = World(START_MS, seed)
    return [world.step(START_MS + 1_000 * second) for second in range(n)]


def test_the_same_seed_gives_the_same_events() -> None:
    assert seconds(40) == seconds(40)
    assert seconds(40) != seconds(40, seed=2)


def test_events_are_sent_at_their_time_or_later_and_none_is_lost() -> None:
    events = [event for second in seconds(SECONDS) for event in second]
    assert all(event.due >= event.t for event in events)
    # Two readings in each of six rooms, and four people; those of the last seconds may be on their way.
    per_second = [sum(event.t == START_MS + 1_000 * second for event in events) for second in range(SECONDS - 6)]
    assert set(per_second) == {16}


def trips(n: int, seed: int = 1, rate: float = 1.0) -> list[Event]:
    taxis = Taxis(seed)
    steps = (taxis.step(START_MS + 1_000 * second, START_MS + 1_000 * (second + 1), rate) for second in range(n))
    return list(itertools.chain.from_iterable(steps))


def test_taxis_drive_the_same_way_every_time() -> None:
    assert trips(300) == trips(300)
    assert trips(300) != trips(300, seed=2)


def test_trips_are_like_those_of_the_real_night() -> None:
    """The middle of 9,787 trips of 2013-01-01: 540 s and 9 dollars. Who pays in cash, six of ten, gives no tip."""
    ended = [event.turtle for event in trips(3_000) if event.stream == DROPOFFS]
    assert len(ended) > 0.7 * PICKUPS_PER_S * 3_000
    seconds, fares, tips = (
        [float(found.split(f":{name} ")[1].split()[0]) for found in ended] for name in ("tripTime", "fare", "tip")
    )
    assert 440 < statistics.median(seconds) < 680
    assert 7 < statistics.median(fares) < 11
    assert 0.55 < sum(tip == 0 for tip in tips) / len(tips) < 0.65


def test_events_of_taxis_are_in_order_and_rides_begin_one_by_one() -> None:
    for stream in TAXI_STREAMS:
        times = [event.t for event in trips(600) if event.stream == stream]
        assert times == sorted(times)
    begun = [event.t for event in trips(600) if event.stream == TAXI_STREAMS[0]]
    assert len(set(begun)) == len(begun) == 600 * PICKUPS_PER_S


def test_at_a_higher_rate_more_taxis_are_taken_until_none_is_free() -> None:
    usual, busy = (sum(event.stream == TAXI_STREAMS[0] for event in trips(600, rate=rate)) for rate in (1.0, RATE_MAX))
    assert usual == 600 * PICKUPS_PER_S
    # Some of the first rides have ended, so that there are more of them than taxis.
    assert TAXIS < busy < RATE_MAX * usual


def test_half_a_step_has_half_of_the_rides() -> None:
    taxis = Taxis()
    begun = [taxis.step(START_MS + 500 * at, START_MS + 500 * (at + 1)) for at in range(20)]
    assert [len(one) for one in begun] == [1, 2] * 10


def test_readings_come_at_the_rate_of_the_steps() -> None:
    world = World(START_MS)
    events = [event for at in range(80) for event in world.step(START_MS + 250 * at)]
    assert len({event.t for event in events}) == 80
    assert len(events) > 80 * 15


class Clock:
    """A clock that advances when it is read."""

    def __init__(self) -> None:
        self.ms = START_MS

    def __call__(self) -> float:
        self.ms += 10
        return self.ms / 1_000


@pytest.mark.parametrize(("rate", "step_ms"), [(0.5, 2_000), (1, 1_000), (8, 125)])
def test_steps_are_as_far_apart_as_the_rate_says(rate: float, step_ms: int) -> None:
    pace = Pace(Clock())
    pace.set_rate(rate)
    pace._changed.wait = lambda _: True  # type: ignore[method-assign, misc, assignment]  # no waiting
    assert pace.next_step(START_MS) == START_MS + step_ms


def test_after_a_pause_nothing_is_made_up_for() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.set_rate(0)
    waiting = threading.Timer(0, pace.set_rate, [1])
    clock.ms += 60_000
    waiting.start()
    assert pace.next_step(START_MS) > START_MS + 60_000


@pytest.mark.parametrize("rate", [-0.1, RATE_MAX + 0.1])
def test_a_rate_out_of_bounds_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 8"):
        Pace().set_rate(rate)


@pytest.fixture(scope="module")
def answers() -> dict[str, list[Any]]:
    engine = Engine()
    for stream in (SENSORS, PEOPLE):
        engine.declare_stream(stream, lateness=LATENESS_MS)
    for stream in TAXI_STREAMS:
        engine.declare_stream(stream)
    engine.load(BUILDING, building())
    queries = {query.name: engine.register(query.text, query.name) for query in gallery()}
    late = 0
    for event in itertools.chain.from_iterable(seconds(SECONDS)):
        late += engine.push(event.stream, event.t, event.turtle).late
    assert 0 < late < 60, "a few events are late, as in life"
    assert sum(engine.push(event.stream, event.t, event.turtle).late for event in trips(TAXI_SECONDS)) == 0
    return {name: [answer for answer in query if answer.inserted] for name, query in queries.items()}


@pytest.mark.parametrize("name", [query.name for query in gallery()])
def test_every_query_of_the_gallery_answers(answers: dict[str, list[Any]], name: str) -> None:
    assert answers[name]


def test_queries_of_the_gallery_say_what_they_show(answers: dict[str, list[Any]]) -> None:
    assert all(query.title and not query.title.startswith("PREFIX") for query in gallery())
    assert all(row["temperature"] > 25 for answer in answers["hot-readings"] for row in answer.inserted)
    assert all(len(answer.inserted) <= 3 for answer in answers["warmest-rooms"])
    assert {row["floor"] for answer in answers["floors"] for row in answer.inserted} == {"ground floor", "first floor"}
    assert all(len(answer.inserted) <= 10 for answer in answers["taxi-routes"])
    assert max(row["trips"] for answer in answers["taxi-routes"] for row in answer.inserted) > 1
    assert all(row["empty"] >= 1 for answer in answers["taxi-areas"] for row in answer.inserted)
    # Two fires in two minutes, in two rooms.
    assert len({row["room"] for answer in answers["fire-alert"] for row in answer.inserted}) == 2


def test_readings_are_observations_as_the_field_models_them() -> None:
    read = [event for event in seconds(1)[0] if event.stream == SENSORS]
    graphs = [list(ox.parse(event.turtle, ox.RdfFormat.TURTLE)) for event in read]
    sosa = "http://www.w3.org/ns/sosa/"
    said = {"madeBySensor", "observedProperty", "hasFeatureOfInterest", "hasSimpleResult", "resultTime"}
    for graph in graphs:
        assert len({triple.subject for triple in graph}) == 1
        assert {triple.predicate.value.removeprefix(sosa) for triple in graph} == {RDF_TYPE, *said}
    assert len({graph[0].subject for graph in graphs}) == len(read), "each reading has a name of its own"


def test_every_reading_counts(answers: dict[str, list[Any]]) -> None:
    """A room has a reading each second, and some are equal; a few come too late."""
    counted = [row["readings"] for answer in answers["average-temperature"] for row in answer.inserted]
    assert max(counted) == 30


def test_no_query_of_the_gallery_warns_that_readings_merge() -> None:
    texts = {query.name: query.text for query in gallery()}
    codes = {name: {one["code"] for one in Engine().validate(text)["warnings"]} for name, text in texts.items()}
    assert {name for name, found in codes.items() if "aggregate.merges" in found} == set()
