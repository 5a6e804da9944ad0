"""Taxi trips in New York in the form of DEBS 2015.

Taxis drive in turn: trip n is one of taxi n mod `TAXIS`, and ends before that taxi's next one begins. No two trips
begin in the same millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

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
    """When the trips begin."""
    return draw.rows * STEP_MS + draw.whole("pickup", STEP_MS)


def dropoffs(draw: Draw) -> Rows:
    """When the trips end."""
    return pickups(draw) + 1000 * _seconds(draw)


def at_pickup(draw: Draw, times: Rows) -> Mapping[str, Any]:
    """The trips, where their beginnings are known."""
    return _trips(draw, times)


def at_dropoff(draw: Draw, times: Rows) -> Mapping[str, Any]:
    """The trips, where their ends are known."""
    return _trips(draw, times - 1000 * _seconds(draw))


BY_PICKUP = Generator(STEP_MS, STEP_MS, START_MS, SCHEMA, pickups, at_pickup)
BY_DROPOFF = Generator(STEP_MS, STEP_MS + 1000 * LONGEST_S, START_MS, SCHEMA, dropoffs, at_dropoff)


def _seconds(draw: Draw) -> Rows:
    return SHORTEST_S + draw.whole("duration", LONGEST_S - SHORTEST_S)


def _trips(draw: Draw, begun: Rows) -> Mapping[str, Any]:
    seconds = _seconds(draw)
    fare = np.round((2.5 + seconds / 100 * draw.between("price", 0.8, 1.6)) * 2) / 2
    tip = np.where(draw.unit("paid by card") < 0.4, fare * draw.between("generosity", 0.1, 0.3), 0.0)
    longitude, latitude = draw.between("longitude", -74.01, -73.93), draw.between("latitude", 40.70, 40.80)
    # A degree of longitude is three quarters of one of latitude here; 5 m/s is a fair speed in the city.
    way = seconds * 5 / 111_000
    angle = draw.between("direction", 0, 2 * np.pi)
    return {
        "medallion": [f"{taxi:032X}" for taxi in (draw.rows % TAXIS).tolist()],
        "pickup_datetime": _texts(begun),
        "dropoff_datetime": _texts(begun + 1000 * seconds),
        "trip_time_in_secs": seconds,
        "pickup_longitude": _fixed(longitude, 6),
        "pickup_latitude": _fixed(latitude, 6),
        "dropoff_longitude": _fixed(longitude + way * np.cos(angle) / 0.76, 6),
        "dropoff_latitude": _fixed(latitude + way * np.sin(angle), 6),
        "fare_amount": _fixed(fare, 2),
        "tip_amount": _fixed(tip, 2),
    }


def _texts(times: Rows) -> list[str]:
    return [text.replace("T", " ") for text in np.datetime_as_string(times.astype("datetime64[ms]")).tolist()]


def _fixed(values: Any, digits: int) -> list[str]:  # noqa: ANN401 - numpy
    return [f"{value:.{digits}f}" for value in values.tolist()]
