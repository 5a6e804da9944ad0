"""DEBS 2015: taxi trips in New York, reported when they end.

A trip is one event at its drop-off, with taxi, times, places, fare and tip.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from whorl_workloads.data import Event, Triple, data_path, gzip_lines, iri, to_ms, typed

TRIPS = "http://example.org/debs2015/trips"
VOCABULARY = "http://example.org/debs2015/"
REAL = "trips-2013-01-01-0000-0056.csv.gz"


def events(one_taxi_in: int = 1, file: str = REAL, first: int = 0) -> list[Event]:
    """The trips of every n-th taxi, beginning with the `first`, so that the history of each taxi is whole."""
    rows = csv.reader(gzip_lines(data_path("debs2015", file)))
    return [
        Event(TRIPS, to_ms(row[3]), tuple(trip(number, row)))
        for number, row in enumerate(rows)
        if int(row[0][:6], 16) % one_taxi_in == first
    ]


def trip(number: int, row: Sequence[str]) -> Iterator[Triple]:
    """The triples of one row of the challenge."""
    subject = iri(f"{VOCABULARY}trip/{number}")
    times = {"pickupTime": row[2], "dropoffTime": row[3]}
    numbers = {
        "pickLon": row[6],
        "pickLat": row[7],
        "dropLon": row[8],
        "dropLat": row[9],
        "fare": row[11],
        "tip": row[14],
    }
    yield subject, iri(f"{VOCABULARY}taxi"), f'"{row[0]}"'
    for name, value in times.items():
        yield subject, iri(f"{VOCABULARY}{name}"), typed(f"{value.replace(' ', 'T')}Z", "dateTime")
    for name, value in numbers.items():
        yield subject, iri(f"{VOCABULARY}{name}"), typed(value, "decimal")
