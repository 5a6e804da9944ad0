"""Taxis in New York: trips like those of the first hour of 2013 in the data of the DEBS 2015 Grand Challenge.

Areas, distances, speeds, fares and tips follow the distribution of 9,787 trips of that night; taxis and instants are
generated. Like the building, this reads no clock: the same seed gives the same trips.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whorl.demo import DROPOFFS, FARES, PICKUPS
from whorl.demo.world import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

TAXIS = 4_630
PICKUPS_PER_S = 3
# This many minutes are sent at once at the start, so that windows of half an hour fill immediately.
BEFORE_MS = 30 * 60_000

# Centres of squares of a kilometre, with the share of trips in percent that begin and that end there.
AREAS: tuple[tuple[float, float, float, float], ...] = (
    (40.743, -73.980, 5.5, 5.4),
    (40.761, -73.968, 5.4, 4.1),
    (40.752, -73.980, 5.2, 4.7),
    (40.734, -73.992, 5.1, 3.3),
    (40.743, -73.992, 4.8, 3.3),
    (40.725, -73.992, 4.1, 3.5),
    (40.743, -74.004, 4.0, 3.0),
    (40.779, -73.956, 3.8, 3.9),
    (40.734, -74.004, 3.6, 2.7),
    (40.770, -73.956, 3.6, 4.2),
    (40.761, -73.992, 3.0, 2.1),
    (40.761, -73.980, 2.9, 1.1),
    (40.752, -73.968, 2.8, 2.9),
    (40.725, -74.004, 2.8, 2.2),
    (40.752, -73.992, 2.6, 3.7),
    (40.734, -73.980, 2.5, 3.2),
    (40.779, -73.980, 2.4, 2.3),
    (40.770, -73.980, 2.3, 1.7),
    (40.770, -73.968, 2.1, 1.4),
    (40.725, -73.980, 2.0, 2.1),
    (40.716, -74.004, 1.9, 1.6),
    (40.716, -73.992, 1.9, 1.5),
    (40.797, -73.968, 1.8, 1.9),
    (40.788, -73.980, 1.5, 1.7),
    (40.770, -73.992, 1.2, 1.3),
    (40.779, -73.944, 1.2, 1.4),
)
_BEGIN = tuple(itertools.accumulate(area[2] for area in AREAS))
_END = tuple(itertools.accumulate(area[3] for area in AREAS))
# The extremes and the nine deciles between them.
_MILES = (0.3, 0.68, 0.97, 1.24, 1.53, 1.88, 2.31, 2.9, 3.81, 5.34, 9.0)
_MILES_PER_HOUR = (5.0, 7.47, 9.23, 10.56, 11.7, 12.9, 14.2, 15.72, 17.88, 21.97, 28.0)
_DOLLARS_PER_MILE = (2.5, 2.66, 2.82, 2.95, 3.08, 3.23, 3.38, 3.57, 3.88, 4.47, 5.5)
_TIP = (0.05, 0.1, 0.16, 0.2, 0.21, 0.21, 0.22, 0.23, 0.26, 0.31, 0.4)
_FLAG_DROP = 2.5
_PAID_BY_CARD = 0.4
_MILES_PER_DEGREE = 69.0
# Of three random destinations, the one that best fits the length of the trip is used.
_CANDIDATES = 3

_PREFIXES = "PREFIX : <http://whorl.example/taxi/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


@dataclass(frozen=True, slots=True)
class _Place:
    lat: float
    lon: float


class Taxis:
    """A city of taxis. If all of them are taken, a request is dropped."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same trips every time are the point
        self._free = list(range(TAXIS))
        self._random.shuffle(self._free)
        # Rides in progress: end, start, taxi, and the event at the end.
        self._riding: list[tuple[int, int, int, list[Event]]] = []
        # The fraction of a ride carried over to the next step.
        self._owed = 0.0

    def step(self, from_ms: int, until_ms: int, rate: float = 1.0) -> list[Event]:
        """The events sent from one instant to just before another, at a multiple of the usual number of rides."""
        span = until_ms - from_ms
        self._owed += PICKUPS_PER_S * rate * span / 1_000
        rides = min(int(self._owed), span, len(self._free))
        self._owed -= int(self._owed)
        begun = [self._ride(from_ms + offset) for offset in sorted(self._random.sample(range(span), rides))]
        return sorted([*begun, *self._ended(until_ms)])

    def _ended(self, before_ms: int) -> list[Event]:
        events: list[Event] = []
        while self._riding and self._riding[0][0] < before_ms:
            _, _, taxi, events_after = heapq.heappop(self._riding)
            self._free.insert(self._random.randrange(len(self._free) + 1), taxi)
            events += events_after
        return events

    def _ride(self, at: int) -> Event:
        """Start a ride and queue the event at its end. Its name is its instant, which is unique."""
        taxi = self._free.pop()
        start, end = self._way()
        miles = max(0.2, 1.3 * _miles(start, end))
        seconds = max(60, round(3_600 * miles / self._drawn(_MILES_PER_HOUR)))
        fare = round(2 * (_FLAG_DROP + miles * self._drawn(_DOLLARS_PER_MILE))) / 2
        tip = round(fare * self._drawn(_TIP), 2) if self._random.random() < _PAID_BY_CARD else 0.0
        done = at + 1_000 * seconds
        trip = (
            f":ride{at} :taxi :t{taxi:04} ; :pickupTime {_time(at)} ; :dropoffTime {_time(done)} ; "
            f":tripTime {seconds} ; :fare {fare:.2f} ; :tip {tip:.2f} ; :pickLat {start.lat:.6f} ; "
            f":pickLon {start.lon:.6f} ; :dropLat {end.lat:.6f} ; :dropLon {end.lon:.6f} ."
        )
        paid = f":fare{at} :fare {fare:.2f} ; :pickupTime {_time(at)} ."
        events_after = [Event(done, DROPOFFS, done, _PREFIXES + trip), Event(done, FARES, done, _PREFIXES + paid)]
        heapq.heappush(self._riding, (done, at, taxi, events_after))
        begun = f":ride{at} :taxi :t{taxi:04} ; :pickupTime {_time(at)} ."
        return Event(at, PICKUPS, at, _PREFIXES + begun)

    def _way(self) -> tuple[_Place, _Place]:
        start, wanted = self._place(_BEGIN), self._drawn(_MILES)
        ends = [self._place(_END) for _ in range(_CANDIDATES)]
        return start, min(ends, key=lambda end: abs(1.3 * _miles(start, end) - wanted))

    def _place(self, shares: Sequence[float]) -> _Place:
        lat, lon, _, _ = AREAS[bisect.bisect(shares, self._random.random() * shares[-1])]
        # People cluster at corners: a third of the square has most of them.
        return _Place(lat + self._random.gauss(0, 0.0011), lon + self._random.gauss(0, 0.0015))

    def _drawn(self, deciles: Sequence[float]) -> float:
        place = self._random.random() * (len(deciles) - 1)
        low = int(place)
        return deciles[low] + (place - low) * (deciles[low + 1] - deciles[low])


def _miles(start: _Place, end: _Place) -> float:
    north, east = end.lat - start.lat, (end.lon - start.lon) * math.cos(math.radians(start.lat))
    return _MILES_PER_DEGREE * math.hypot(north, east)


def _time(ms: int) -> str:
    text = datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f'"{text}"^^xsd:dateTime'
