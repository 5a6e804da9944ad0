"""The demo is the same every time, and every query of its gallery answers within two minutes of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from whorl import Engine
from whorl.demo import BUILDING, LATENESS_MS, PEOPLE, SENSORS
from whorl.demo.queries import building, gallery
from whorl.demo.world import Event, World

START_MS = 1_767_225_600_000
SECONDS = 120


def seconds(n: int, seed: int = 1) -> list[list[Event]]:
    return list(itertools.islice(World(seed).events(START_MS), n))


def test_the_same_seed_gives_the_same_events() -> None:
    assert seconds(40) == seconds(40)
    assert seconds(40) != seconds(40, seed=2)


def test_events_are_sent_at_their_time_or_later_and_none_is_lost() -> None:
    events = [event for second in seconds(SECONDS) for event in second]
    assert all(event.due >= event.t for event in events)
    # Two readings in each of six rooms, and four people; those of the last seconds may be on their way.
    per_second = [sum(event.t == START_MS + 1_000 * second for event in events) for second in range(SECONDS - 6)]
    assert set(per_second) == {16}


@pytest.fixture(scope="module")
def answers() -> dict[str, list[Any]]:
    engine = Engine()
    for stream in (SENSORS, PEOPLE):
        engine.declare_stream(stream, lateness=LATENESS_MS)
    engine.load(BUILDING, building())
    queries = {query.name: engine.register(query.text, query.name) for query in gallery()}
    late = 0
    for event in itertools.chain.from_iterable(seconds(SECONDS)):
        late += engine.push(event.stream, event.t, event.turtle).late
    assert 0 < late < 60, "a few events are late, as in life"
    return {name: [answer for answer in query if answer.inserted] for name, query in queries.items()}


@pytest.mark.parametrize("name", [query.name for query in gallery()])
def test_every_query_of_the_gallery_answers(answers: dict[str, list[Any]], name: str) -> None:
    assert answers[name]


def test_queries_of_the_gallery_say_what_they_show(answers: dict[str, list[Any]]) -> None:
    assert all(query.title and not query.title.startswith("PREFIX") for query in gallery())
    assert all(row["temperature"] > 25 for answer in answers["hot-readings"] for row in answer.inserted)
    assert all(len(answer.inserted) <= 3 for answer in answers["warmest-rooms"])
    assert {row["floor"] for answer in answers["floors"] for row in answer.inserted} == {"ground floor", "first floor"}
    # Two fires in two minutes, in two rooms.
    assert len({row["room"] for answer in answers["fire-alert"] for row in answer.inserted}) == 2
