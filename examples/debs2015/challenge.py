"""The DEBS 2015 Grand Challenge as it was judged: trips as CSV come in, lines of CSV go out.

    python examples/debs2015/challenge.py q1 < sorted_data.csv
    python examples/debs2015/challenge.py q2 < sorted_data.csv

A line has the pick-up and drop-off time of the trip that caused it, the ten routes (q1: from, to) or areas (q2: cell,
empty taxis, median income, profitability), NULL where there are fewer, and the delay in milliseconds. A trip that does
not change the list causes no line. A cell is written as column.row.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whorl import Engine

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / folder) for folder in ("workloads", "oracle", "common")]

from whorl_workloads.data import ntriples, to_ms  # noqa: E402 - the path is set above
from whorl_workloads.debs2015 import TRIPS, trip  # noqa: E402 - the path is set above

PLACES = 10
Row = Mapping[str, Any]


def lines(name: str, trips: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The lines of q1 or q2 over trips in the order of their drop-offs, without the delay."""
    engine = Engine()
    text = (HERE / f"{name}.cqels").read_text(encoding="utf-8")
    query = engine.register(text, dialect="cqels", semantics="set", r2s="RSTREAM", report="change")
    last: list[str] = []
    for number, row in enumerate(trips):
        engine.push(TRIPS, to_ms(row[3]), ntriples(trip(number, row)), "ntriples")
        # What expired before the trip is reported too; the last report is the list after the trip.
        for answer in query.answers()[-1:]:
            found = [cell for place in answer.inserted for cell in CELLS[name](place)]
            if found != last:
                yield [row[2], row[3], *found, *["NULL"] * (PLACES - len(answer.inserted)) * WIDTHS[name]]
            last = found


def route(place: Row) -> list[str]:
    """From and to."""
    return [f"{place['fromColumn']}.{place['fromRow']}", f"{place['toColumn']}.{place['toRow']}"]


def area(place: Row) -> list[str]:
    """Cell, empty taxis, median income, profitability."""
    money = [f"{float(place[name]):.6g}" for name in ("medianIncome", "profitability")]
    return [f"{place['column']}.{place['row']}", str(place["emptyTaxis"]), *money]


CELLS = {"q1": route, "q2": area}
WIDTHS = {"q1": 2, "q2": 4}


def main(name: str) -> None:
    """From standard input to standard output."""
    out = csv.writer(sys.stdout)
    began = time.perf_counter()
    for line in lines(name, csv.reader(sys.stdin)):
        out.writerow([*line, f"{(time.perf_counter() - began) * 1000:.3f}"])
        began = time.perf_counter()


if __name__ == "__main__":
    if sys.argv[1:] not in (["q1"], ["q2"]):
        raise SystemExit(__doc__)
    main(sys.argv[1])
