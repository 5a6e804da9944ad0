"""Queries and data for the tests of queries on Spark: small, deterministic, and with awkward times."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from whorl.options import QueryOptions

EX = "http://example.org/"
SENSORS, DOORS = EX + "sensors", EX + "doors"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

Row = dict[str, Any]
Batch = dict[str, list[Row]]

_PREFIX = f"PREFIX : <{EX}>\n"
_WINDOW = "FROM NAMED WINDOW :w ON :sensors [RANGE 10s STEP 5s]\n"


def _query(select: str, pattern: str, end: str = "", outside: str = "") -> str:
    return f"{_PREFIX}{select}\n{_WINDOW}WHERE {{ WINDOW :w {{ {pattern} }} {outside} }} {end}"


@dataclass(frozen=True)
class Case:
    """A query, the merge it needs, and what it reads besides :sensors."""

    query: str
    merge: str
    streams: tuple[str, ...] = (SENSORS,)
    static: tuple[tuple[str | None, bytes, str], ...] = ()
    options: QueryOptions = field(default_factory=QueryOptions)


_FLOORS = "".join(f"<{EX}x{x}> <{EX}floor> {x % 3} .\n" for x in range(0, 12, 2)).encode()
_TWO = f"""{_PREFIX}SELECT ?x ?t ?d
FROM NAMED WINDOW :w ON :sensors [RANGE 10s STEP 5s]
FROM NAMED WINDOW :v ON :doors [RANGE 5s STEP 5s]
WHERE {{ WINDOW :w {{ ?x :temp ?t }} WINDOW :v {{ ?x :door ?d }} }}"""

CASES = {
    "star join": Case(_query("SELECT ?x ?t ?h", "?x :temp ?t ; :humidity ?h"), "union"),
    "star join, istream": Case(
        _query("SELECT ?x ?t ?h", "?x :temp ?t ; :humidity ?h"), "union", options={"r2s": "ISTREAM"}
    ),
    "rows without the variable, changes": Case(
        _query("SELECT ?t ?h", "?x :temp ?t ; :humidity ?h"), "netting", options={"r2s": "CHANGES"}
    ),
    "group by the variable": Case(
        _query("SELECT ?x (COUNT(*) AS ?n) (AVG(?t) AS ?mean)", "?x :temp ?t", "GROUP BY ?x HAVING (COUNT(*) > 1)"),
        "union",
    ),
    "group by another key": Case(
        _query(
            "SELECT ?room (COUNT(*) AS ?n) (SUM(?t) AS ?sum) (AVG(?t) AS ?mean) (MIN(?t) AS ?min) (MAX(?t) AS ?max)",
            "?x :temp ?t ; :in ?room",
            "GROUP BY ?room",
        ),
        "groups",
    ),
    "group by another key, changes": Case(
        _query("SELECT ?room (COUNT(*) AS ?n)", "?x :temp ?t ; :in ?room", "GROUP BY ?room"),
        "groups",
        options={"r2s": "CHANGES"},
    ),
    "static data": Case(
        _query("SELECT ?floor (MAX(?t) AS ?max)", "?x :temp ?t", "GROUP BY ?floor", "?x :floor ?floor"),
        "groups",
        static=((None, _FLOORS, "turtle"),),
    ),
    "distinct": Case(_query("SELECT DISTINCT ?room", "?x :temp ?t ; :in ?room"), "distinct"),
    "top-k": Case(_query("SELECT ?x ?t", "?x :temp ?t", "ORDER BY DESC(?t) ?x LIMIT 3"), "top-k"),
    "two streams": Case(_TWO, "union", streams=(DOORS, SENSORS)),
}


def batches(case: Case, n_batches: int, seed: int = 7) -> list[Batch]:
    """Micro-batches with equal times, edges of windows, disorder within and between batches, and an empty batch."""
    chance = random.Random(seed)
    made: list[Batch] = []
    for number in range(n_batches):
        start = 1_000_000 + number * 4_000
        rows = [row for _ in range(12) for row in _reading(chance, start)]
        batch: Batch = {SENSORS: [] if number == 3 else rows}
        if DOORS in case.streams:
            doors = [_triple(_time(chance, start), chance.randrange(6), "door", chance.randrange(3)) for _ in range(6)]
            batch[DOORS] = [] if number == 2 else doors
        made.append(batch)
    return made


def _reading(chance: random.Random, start: int) -> list[Row]:
    t, x = _time(chance, start), chance.randrange(12)
    rows = [_triple(t, x, "temp", chance.randrange(15, 25))]
    if chance.random() < 0.6:
        rows.append(_triple(t, x, "humidity", chance.randrange(3)))
    if chance.random() < 0.8:
        rows.append({"t": t, "s": f"{EX}x{x}", "p": EX + "in", "o": f"{EX}room{x % 4}"})
    if chance.random() < 0.2:
        rows.append(_triple(t, x, "battery", 1))
    return rows


def _time(chance: random.Random, start: int) -> int:
    """Mostly new; some on the edge of a window, some older than the batch, a few too late for any lateness."""
    kind = chance.random()
    if kind < 0.2:
        return start - start % 5_000
    if kind < 0.3:
        return start - chance.randrange(6_000)
    return start + chance.randrange(4_000)


def _triple(t: int, x: int, p: str, value: int) -> Row:
    return {"t": t, "s": f"{EX}x{x}", "p": EX + p, "o": f'"{value}"^^<{INTEGER}>'}
