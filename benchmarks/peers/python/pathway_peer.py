"""Pathway: a chain of patterns as joins of tables that rows come to and go from.

Words and lines are those of `whorl_bench/contestants/outside.py`. The windows are kept outside, as the others' are:
each is a table with the two ends of its triples, as numbers, and every change has a time of its own. One worker; no
persistence, no monitoring. Pathway tells of the end of a time long after it, so that the filling cannot be told from
the rest: all changes are measured, the start of its engine with them, and divided by the number of all events.
Processor time is that of the process.
"""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pathway as pw

_WINDOW = re.compile(r"urn:w(\d+)$")


class Row(pw.Schema):
    s: int = pw.column_definition(primary_key=True)
    o: int = pw.column_definition(primary_key=True)


@dataclass
class Read:
    """The rows of each window with time and difference, and what the times stand for."""

    rows: list[list[tuple[int, int, int, int]]] = field(default_factory=list)
    instants: list[tuple[int, bool]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    filled_at: int = 0


def read(path: Path) -> Read:
    """Terms become numbers before the clock starts."""
    found, ids = Read(), dict[str, int]()
    for line in path.read_text(encoding="utf-8").splitlines():
        sign, *parts = line.split("\t")
        if sign == "=":
            found.filled_at = len(found.instants)
        elif sign == "@":
            found.instants.append((int(parts[0]), parts[1] == "1"))
        else:
            place = int(_WINDOW.search(parts[0])[1])
            while len(found.rows) <= place:
                found.rows.append([])
            s, o = (ids.setdefault(term, len(ids)) for term in (parts[1], parts[3]))
            # Times are even.
            found.rows[place].append((s, o, 2 * len(found.instants), 1 if sign == "+" else -1))
    found.texts = list(ids)
    return found


def chain(tables: list[pw.Table]) -> pw.Table:
    """`S0(v0, v1) ⋈ S1(v1, v2) ⋈ …`."""
    first, *others = tables
    joined = first.select(v0=first.s, v1=first.o)
    for n, table in enumerate(others, 1):
        columns = {f"v{place}": joined[f"v{place}"] for place in range(n + 1)}
        joined = joined.join(table, joined[f"v{n}"] == table.s).select(**columns, **{f"v{n + 1}": table.o})
    return joined


class Came:
    """The rows that come once the windows are full."""

    def __init__(self, filled_at: int) -> None:
        self.filled_at = filled_at
        self.rows: list[tuple[int, dict[str, Any]]] = []

    def change(self, key: object, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: ARG002, FBT001 - Pathway's
        if is_addition and time // 2 > self.filled_at:
            self.rows.append((time, row))


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:])
    given = read(Path(words["file"]))
    tables = [pw.debug.table_from_rows(Row, rows, is_stream=True) for rows in given.rows]
    came = Came(given.filled_at)
    pw.io.subscribe(chain(tables), on_change=came.change)
    cpu_ns, wall_ns = time.process_time_ns(), time.perf_counter_ns()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    cpu_ns, wall_ns = time.process_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns
    if "answers" in words:
        lines = [
            "\t".join([str(given.instants[at // 2 - 1][0]), *(given.texts[value] for value in row.values())]) + "\n"
            for at, row in came.rows
        ]
        Path(words["answers"]).write_text("".join(lines), encoding="utf-8")
    events = sum(is_event for _, is_event in given.instants)
    said = {"events": events, "cpu_ns": cpu_ns, "wall_ns": wall_ns, "results": len(came.rows)}
    sys.stdout.write(json.dumps(said) + "\n")


main()
