"""People with RFID badges at a conference: a reader reports each person in range five times a second.

A person stays at a place for a while, and is seen there several times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whorl.spark.generators.generator import Generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.spark.generators.draw import Draw, Rows

START_MS = 1_349_049_600_000  # 2012-10-01T00:00:00Z
PACE_MS = 200
PERSONS = 100
STAY_MS = 300_000
FLOORS, ROOMS = "ABCDEFGHIJ", 22
SCHEMA = pa.schema([("t", pa.int64()), ("person", pa.string()), ("place", pa.string())])


def times(draw: Draw) -> Rows:
    """The times of the detections."""
    return draw.rows * PACE_MS


def columns(draw: Draw, at: Rows) -> Mapping[str, Any]:
    """The person and the reader of each detection."""
    person = draw.whole("person", PERSONS)
    stay = draw.of(person + PERSONS * (at // STAY_MS))
    floors, rooms = stay.choice("floor", FLOORS), stay.whole("room", ROOMS)
    return {
        "person": [f"http://deri.org/dblp/persons/Person_{number}" for number in person.tolist()],
        "place": [
            f"http://deri.org/floorplan/{floor}{room:03d}" for floor, room in zip(floors, rooms.tolist(), strict=True)
        ],
    }


GENERATOR = Generator(PACE_MS, 1, START_MS, SCHEMA, times, columns)
