"""A simulated building: temperatures drift, people walk around, and from time to time a room catches fire.

Readings are SOSA observations, each with its own name and time, so that two equal readings stay apart in a window.

The simulation reads no clock: its start time is a parameter, and the same seed gives the same events.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whorl.demo import PEOPLE, SENSORS

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP_MS = 1_000
FIRE_EVERY_S = 60
FIRE_LASTS_S = 25

# Name, the temperature it tends to, and the adjacent rooms. building.ttl has the floors.
ROOMS: dict[str, tuple[float, tuple[str, ...]]] = {
    "hall": (19.0, ("kitchen", "workshop", "library")),
    "kitchen": (22.0, ("hall",)),
    "workshop": (18.0, ("hall",)),
    "library": (20.5, ("hall", "office", "laboratory")),
    "office": (21.5, ("library",)),
    "laboratory": (20.0, ("library",)),
}
PERSONS = ("ada", "alan", "edsger", "grace")

_PREFIX = "PREFIX : <http://whorl.example/> "
# Of a hundred readings, this many arrive one second late, and this many six seconds.
_DELAYED_PERCENT = 8
_LATE_PERCENT = 1
_DELAY_MS = 1_000
_LATE_MS = 6_000


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """An event that happens at `t` and is sent at `due`, which is later if it is delayed."""

    due: int
    stream: str
    t: int
    turtle: str


class World:
    """The building; each step reads all sensors, usually a second after the previous step."""

    def __init__(self, start_ms: int, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same events every time are the point
        self._start_ms = start_ms
        self._place = dict.fromkeys(PERSONS, "hall")
        self._delayed: list[Event] = []

    def step(self, now_ms: int) -> list[Event]:
        """The events sent now: a reading of every sensor, and events that were delayed until now."""
        happened = [self._sent(stream, now_ms, turtle) for stream, turtle in self._happens(now_ms)]
        waiting = sorted([*self._delayed, *happened])
        self._delayed = [event for event in waiting if event.due > now_ms]
        return [event for event in waiting if event.due <= now_ms]

    def _happens(self, now_ms: int) -> Iterator[tuple[str, str]]:
        second = (now_ms - self._start_ms) / 1_000
        burning, heat = _fire(second)
        for number, (room, (usual, _)) in enumerate(ROOMS.items()):
            fire = heat if room == burning else 0.0
            drift = 1.5 * math.sin(2 * math.pi * (second / 300 + number / len(ROOMS)))
            temperature = usual + drift + self._random.gauss(0, 0.2) + 14 * fire
            yield SENSORS, _observation(room, "temperature", f"{temperature:.1f}", now_ms)
            smoke = min(1.0, max(0.0, 0.02 + self._random.gauss(0, 0.01) + 0.8 * fire))
            yield SENSORS, _observation(room, "smoke", f"{smoke:.2f}", now_ms)
        for person in PERSONS:
            if self._random.random() < 0.2:
                self._place[person] = self._random.choice(ROOMS[self._place[person]][1])
            yield PEOPLE, f"{_PREFIX}:{person} :isIn :{self._place[person]} ."

    def _sent(self, stream: str, t: int, turtle: str) -> Event:
        chance = self._random.randrange(100)
        late = _LATE_MS if chance < _LATE_PERCENT else 0
        delay = late or (_DELAY_MS if chance < _LATE_PERCENT + _DELAYED_PERCENT else 0)
        return Event(t + delay, stream, t, turtle)


def _observation(room: str, observed: str, value: str, at_ms: int) -> str:
    time = datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return (
        f"{_PREFIX}PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
        f"<http://whorl.example/observation/{room}-{observed}-{at_ms}> a sosa:Observation ; "
        f"sosa:madeBySensor :{room}-{observed}-sensor ; sosa:observedProperty :{observed} ; "
        f'sosa:hasFeatureOfInterest :{room} ; sosa:hasSimpleResult {value} ; sosa:resultTime "{time}"^^xsd:dateTime .'
    )


def _fire(second: float) -> tuple[str, float]:
    """The room that burns in this cycle, and the intensity of the fire: from 0 up to 1 and down again."""
    turn, since = divmod(second, FIRE_EVERY_S)
    # The first ten seconds of a cycle are quiet, so that the demo begins without a fire.
    share = (since - 10) / FIRE_LASTS_S
    heat = math.sin(math.pi * share) if 0 <= share <= 1 else 0.0
    return list(ROOMS)[(int(turn) * 5 + 1) % len(ROOMS)], heat
