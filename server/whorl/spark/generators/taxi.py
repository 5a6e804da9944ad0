"""Taxi trips in New York in the form of DEBS 2015.

Trips rotate over the taxis: trip n belongs to taxi n mod `TAXIS`, and ends before that taxi's next trip begins. No two
trips begin in the same millisecond.

Places follow the distribution in the data of DEBS 2015, over the squares of one kilometre in `whorl.demo.taxis`. It
changes with the hour: in the morning trips end in Midtown, in the evening they begin there, at night they begin
downtown. The evening and night surcharges are those of 2013. The number of trips is the same in every hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whorl.demo.taxis import AREAS
from whorl.spark.generators.generator import Generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.spark.generators.draw import Draw, Rows

START_MS = 1_356_998_400_000  # 2013-01-01T00:00:00Z
STEP_MS = 500
TAXIS = 4_000
SHORTEST_S, LONGEST_S = 120, 1_500
SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        *[
            (name, pa.string())
            for name in ("medallion", "pickup_datetime", "dropoff_datetime", "pickup_longitude", "pickup_latitude")
        ],
        *[(name, pa.string()) for name in ("dropoff_longitude", "dropoff_latitude", "fare_amount", "tip_amount")],
        ("trip_time_in_secs", pa.int64()),
    ]
)


def pickups(draw: Draw) -> Rows:
    """The start times of the trips."""
    return draw.rows * STEP_MS + draw.whole("pickup", STEP_MS)


def dropoffs(draw: Draw) -> Rows:
    """The end times of the trips."""
    return pickups(draw) + 1000 * _seconds(draw)


def at_pickup(draw: Draw, times: Rows) -> Mapping[str, Any]:
    """The trips, given their start times."""
    return _trips(draw, times)


def at_dropoff(draw: Draw, times: Rows) -> Mapping[str, Any]:
    """The trips, given their end times."""
    return _trips(draw, times - 1000 * _seconds(draw))


BY_PICKUP = Generator(STEP_MS, STEP_MS, START_MS, SCHEMA, pickups, at_pickup)
BY_DROPOFF = Generator(STEP_MS, STEP_MS + 1000 * LONGEST_S, START_MS, SCHEMA, dropoffs, at_dropoff)


Numbers: TypeAlias = NDArray[np.float64]

_LATITUDE, _LONGITUDE, _BEGIN, _END = range(4)
_AREAS = np.array(AREAS)
_MIDTOWN = _AREAS[:, _LATITUDE] > 40.74  # North of 23rd Street.
_BUSY = 3.0
# The number of candidate destinations, of which the one that best fits the duration of the trip is chosen.
_CANDIDATES = 3
# At this latitude a degree of longitude is three quarters of a degree of latitude; 5 m/s is a typical speed.
_NARROWER = 0.76
_DEGREES_PER_S = 5 / 111_000


def _is_between(hour: Rows, first: int, end: int) -> NDArray[np.bool_]:
    return (hour >= first) & (hour < end)


def _shares(hour: Rows, ends: int) -> Numbers:
    """The weight of each area, one line per row; `ends` tells whether trips end or begin there."""
    to_work, home = _is_between(hour, 7, 10), _is_between(hour, 16, 20)
    to_midtown = to_work if ends == _END else home
    at_night = ((hour >= 22) | (hour < 4)) if ends == _BEGIN else np.zeros(len(hour), dtype=np.bool_)
    factors = np.where(to_midtown[:, None] & _MIDTOWN, _BUSY, 1.0) * np.where(at_night[:, None] & ~_MIDTOWN, _BUSY, 1.0)
    return np.asarray(_AREAS[:, ends] * factors)


def _scattered(draw: Draw, name: str, areas: Rows) -> tuple[Numbers, Numbers]:
    """A place near the centre of each area; pick-ups cluster at street corners."""
    spread = [sum(draw.between(f"{name} {way} {n}", -0.5, 0.5) for n in range(3)) for way in ("north", "east")]
    return _AREAS[areas, _LATITUDE] + 0.0022 * spread[0], _AREAS[areas, _LONGITUDE] + 0.003 * spread[1]


def _dropoff(draw: Draw, pickup: tuple[Numbers, Numbers], hour: Rows, seconds: Rows) -> tuple[Numbers, Numbers]:
    shares, wanted = _shares(hour, _END), seconds * _DEGREES_PER_S
    best, nearest = np.zeros(len(hour), dtype=np.int64), np.full(len(hour), np.inf)
    for number in range(_CANDIDATES):
        areas = draw.weighted(f"dropoff place {number}", shares)
        north = _AREAS[areas, _LATITUDE] - pickup[0]
        east = (_AREAS[areas, _LONGITUDE] - pickup[1]) * _NARROWER
        misfit = np.abs(np.hypot(north, east) - wanted)
        best, nearest = np.where(misfit < nearest, areas, best), np.minimum(misfit, nearest)
    return _scattered(draw, "dropoff", best)


def _seconds(draw: Draw) -> Rows:
    return SHORTEST_S + draw.whole("duration", LONGEST_S - SHORTEST_S)


def _trips(draw: Draw, begun: Rows) -> Mapping[str, Any]:
    seconds = _seconds(draw)
    fare = np.round((2.5 + seconds / 100 * draw.between("price", 0.8, 1.6)) * 2) / 2
    tip = np.where(draw.unit("paid by card") < 0.4, fare * draw.between("generosity", 0.1, 0.3), 0.0)
    hour = (begun // 3_600_000) % 24
    fare = fare + np.select([_is_between(hour, 16, 20), (hour >= 20) | (hour < 6)], [1.0, 0.5], 0.0)
    pickup = _scattered(draw, "pickup", draw.weighted("pickup place", _shares(hour, _BEGIN)))
    dropoff = _dropoff(draw, pickup, hour, seconds)
    return {
        "medallion": [f"{taxi:032X}" for taxi in (draw.rows % TAXIS).tolist()],
        "pickup_datetime": _texts(begun),
        "dropoff_datetime": _texts(begun + 1000 * seconds),
        "trip_time_in_secs": seconds,
        "pickup_longitude": _fixed(pickup[1], 6),
        "pickup_latitude": _fixed(pickup[0], 6),
        "dropoff_longitude": _fixed(dropoff[1], 6),
        "dropoff_latitude": _fixed(dropoff[0], 6),
        "fare_amount": _fixed(fare, 2),
        "tip_amount": _fixed(tip, 2),
    }


def _texts(times: Rows) -> list[str]:
    return [text.replace("T", " ") for text in np.datetime_as_string(times.astype("datetime64[ms]")).tolist()]


def _fixed(values: Any, digits: int) -> list[str]:  # noqa: ANN401 - numpy
    return [f"{value:.{digits}f}" for value in values.tolist()]
