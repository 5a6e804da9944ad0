"""Bags of solutions: joins and differences as the algebra defines them.

A solution is a tuple with a place for every variable of its scope, None where unbound; a bag is a dict from solutions
to how often they are there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

Solution = tuple[str | None, ...]
Bag = dict[Solution, int]
# More solutions than this say nothing more, and take long.
SOLUTIONS_MAX = 20_000


class TooBigError(Exception):
    """The answers are too big to be worth comparing."""


def bounded(bag: Bag) -> Bag:
    if len(bag) > SOLUTIONS_MAX or sum(bag.values()) > SOLUTIONS_MAX:
        raise TooBigError
    return bag


def bound(row: Solution, spots: list[tuple[int | None, str | None]], values: Sequence[str | int]) -> Solution | None:
    """The solution with the values in their places; None where they do not fit."""
    made: list[str | None] | None = None
    for (place, constant), value in zip(spots, values, strict=False):
        if place is None:
            if constant != value:
                return None
            continue
        here = (made or row)[place]
        if here is None:
            made = list(row) if made is None else made
            made[place] = str(value)
        elif here != value:
            return None
    return row if made is None else tuple(made)


def join(left: Bag, right: Bag) -> Bag:
    found: Bag = defaultdict(int)
    for _, count, matches in matched(left, right):
        for row, more in matches:
            found[row] += count * more
    return found


def matched(left: Bag, right: Bag) -> Iterator[tuple[Solution, int, list[tuple[Solution, int]]]]:
    """Each solution on the left, how often it is there, and what it makes with the compatible ones on the right."""
    keys = certain(left) & certain(right)
    table: dict[tuple[str | None, ...], list[tuple[Solution, int]]] = defaultdict(list)
    for row, count in right.items():
        table[tuple(row[place] for place in keys)].append((row, count))
    for row, count in left.items():
        near = table.get(tuple(row[place] for place in keys), ())
        merged = ((merge(row, other), more) for other, more in near)
        yield row, count, [(one, more) for one, more in merged if one is not None]


def certain(bag: Bag) -> set[int]:
    """Places that are bound in every solution."""
    if not bag:
        return set()
    rows = iter(bag)
    found = {place for place, value in enumerate(next(rows)) if value is not None}
    for row in rows:
        found = {place for place in found if place < len(row) and row[place] is not None}
    return found


def merge(left: Solution, right: Solution) -> Solution | None:
    if len(left) < len(right):
        left, right = right, left
    made = list(left)
    for place, value in enumerate(right):
        if value is None:
            continue
        if made[place] is None:
            made[place] = value
        elif made[place] != value:
            return None
    return tuple(made)


def minus(left: Bag, right: Bag) -> Bag:
    return {row: count for row, count in left.items() if not any(excludes(other, row) for other in right)}


def excludes(other: Solution, row: Solution) -> bool:
    """Compatible, and with a variable in common."""
    shared = [(a, b) for a, b in zip(row, other, strict=False) if a is not None and b is not None]
    return bool(shared) and all(a == b for a, b in shared)
