"""A building in which things happen: temperatures drift, people walk about, now and then a room is on fire.

The world reads no clock: it is told where its time begins, and the same seed gives the same events.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.demo import PEOPLE, SENSORS

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP_MS = 1_000
FIRE_EVERY_S = 60
FIRE_LASTS_S = 25

# Name, the temperature it tends to, and the rooms next door. Floors stand in building.ttl.
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
# Of a hundred readings, this many arrive a second after their time, and this many six seconds.
_DELAYED_PERCENT = 8
_LATE_PERCENT = 1
_DELAY_MS = 1_000
_LATE_MS = 6_000


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something that happened at `t` and is sent at `due`, later if it was delayed."""

    due: int
    stream: str
    t: int
    turtle: str


class World:
    """The building; each step is a second of it."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same events every time are the point
        self._place = dict.fromkeys(PERSONS, "hall")

    def events(self, start_ms: int) -> Iterator[list[Event]]:
        """What is sent in each second from `start_ms` on, for ever."""
        delayed: list[Event] = []
        second = 0
        while True:
            now = start_ms + second * STEP_MS
            happened = [self._sent(stream, now, turtle) for stream, turtle in self._happens(second)]
            waiting = sorted([*delayed, *happened])
            yield [event for event in waiting if event.due <= now]
            delayed = [event for event in waiting if event.due > now]
            second += 1

    def _happens(self, second: int) -> Iterator[tuple[str, str]]:
        burning, heat = _fire(second)
        for number, (room, (usual, _)) in enumerate(ROOMS.items()):
            fire = heat if room == burning else 0.0
            drift = 1.5 * math.sin(2 * math.pi * (second / 300 + number / len(ROOMS)))
            temperature = usual + drift + self._random.gauss(0, 0.2) + 14 * fire
            yield SENSORS, f"{_PREFIX}:{room} :temperature {temperature:.1f} ."
            smoke = min(1.0, max(0.0, 0.02 + self._random.gauss(0, 0.01) + 0.8 * fire))
            yield SENSORS, f"{_PREFIX}:{room} :smoke {smoke:.2f} ."
        for person in PERSONS:
            if self._random.random() < 0.2:
                self._place[person] = self._random.choice(ROOMS[self._place[person]][1])
            yield PEOPLE, f"{_PREFIX}:{person} :isIn :{self._place[person]} ."

    def _sent(self, stream: str, t: int, turtle: str) -> Event:
        chance = self._random.randrange(100)
        late = _LATE_MS if chance < _LATE_PERCENT else 0
        delay = late or (_DELAY_MS if chance < _LATE_PERCENT + _DELAYED_PERCENT else 0)
        return Event(t + delay, stream, t, turtle)


def _fire(second: int) -> tuple[str, float]:
    """The room whose turn it is to burn, and how much it does: from 0 up to 1 and down again."""
    turn, since = divmod(second, FIRE_EVERY_S)
    # The first ten seconds of a turn are quiet, so that the demo begins with an ordinary day.
    share = (since - 10) / FIRE_LASTS_S
    heat = math.sin(math.pi * share) if 0 <= share <= 1 else 0.0
    return list(ROOMS)[(turn * 5 + 1) % len(ROOMS)], heat
