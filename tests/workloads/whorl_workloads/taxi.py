"""Taxi trips as small graphs: what the CGPM paper makes of a row, 24 triples with stars and chains in them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from whorl_workloads.data import TYPE, Event, Term, Triple, data_path, gzip_lines, iri, to_ms, typed
from whorl_workloads.debs2015 import REAL

TRIPS = "http://example.org/taxi/trips"
VOCABULARY = "http://example.org/taxi/"
MONEY = ("fare", "surcharge", "mtaTax", "tip", "tolls", "total")


def events(count: int | None = None, file: str = REAL) -> list[Event]:
    """The first trips, each an event at its drop-off."""
    rows = csv.reader(gzip_lines(data_path("debs2015", file)))
    return [
        Event(TRIPS, to_ms(row[3]), tuple(trip(number, row)))
        for number, row in enumerate(rows)
        if count is None or number < count
    ]


def trip(number: int, row: Sequence[str]) -> Iterator[Triple]:
    """One row of the challenge."""
    name, taxi = _thing("trip", number), _thing("taxi", row[0])
    yield name, TYPE, _word("Trip")
    yield taxi, TYPE, _word("Taxi")
    yield name, _word("taxi"), taxi
    yield name, _word("driver"), _thing("driver", row[1])
    yield name, _word("duration"), typed(row[4], "integer")
    yield name, _word("distance"), typed(row[5], "decimal")
    for place, end in enumerate(("pickup", "dropoff")):
        yield from _end(name, number, end, row[2 + place], row[6 + 2 * place : 8 + 2 * place])
    payment = _thing("payment", number)
    yield name, _word("payment"), payment
    yield payment, _word("type"), f'"{row[10]}"'
    for column, word in enumerate(MONEY, start=11):
        yield payment, _word(word), typed(row[column], "decimal")


def _end(name: Term, number: int, end: str, time: str, position: Sequence[str]) -> Iterator[Triple]:
    event, place = _thing(end, number), _thing(f"{end}-place", number)
    yield name, _word(end), event
    yield event, _word("at"), typed(f"{time.replace(' ', 'T')}Z", "dateTime")
    yield event, _word("place"), place
    yield place, _word("lon"), typed(position[0], "decimal")
    yield place, _word("lat"), typed(position[1], "decimal")


def _word(name: str) -> Term:
    return iri(VOCABULARY + name)


def _thing(kind: str, number: object) -> Term:
    return iri(f"{VOCABULARY}{kind}/{number}")
