"""The expected results of a query on Spark: an engine given each micro-batch sorted by time, then the watermark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from whorl import Engine

Row = dict[str, Any]
"""A triple as columns: t, s, p, o and datatype."""
Report = tuple[int, str, tuple[tuple[int, tuple[str | None, ...]], ...]]
"""An instant, the windows, and the rows in their order: sign and terms."""


@dataclass
class EmbeddedTwin:
    """One engine; `lateness` is by stream, in milliseconds."""

    query: str
    streams: Sequence[str]
    lateness: Mapping[str, int] = field(default_factory=dict)
    static: Iterable[tuple[str | None, bytes, str]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = Engine()
        for graph, body, form in self.static:
            self.engine.load(graph, body, form)  # type: ignore[arg-type]  # formats of the tests
        for stream in self.streams:
            self.engine.declare_stream(stream, lateness=self.lateness.get(stream, 0))
        self.registered = self.engine.register(self.query, **self.options)
        self.variables = [name.lstrip("?") for name in self.registered.describe()["variables"]]
        self.greatest: dict[str, int] = {}

    def take(self, batch: Mapping[str, Sequence[Row]]) -> list[Report]:
        """One micro-batch: rows by stream."""
        events = [(row["t"], idx, stream, row) for stream in sorted(batch) for idx, row in enumerate(batch[stream])]
        for _, _, stream, row in sorted(events, key=lambda event: event[:2]):
            self.engine.push(stream, None, pa.table({name: [value] for name, value in row.items()}))
        for stream, rows in batch.items():
            seen = [row["t"] for row in rows] + ([self.greatest[stream]] if stream in self.greatest else [])
            if seen:
                self.greatest[stream] = max(seen)
                self.engine.advance_to(self.greatest[stream] - self.lateness.get(stream, 0), stream)
        return self.reports()

    def close(self) -> list[Report]:
        """End all streams."""
        self.engine.close()
        return self.reports()

    def reports(self) -> list[Report]:
        """Drain the results."""
        return [report_of(json.loads(answer), self.variables) for answer in self.registered.results()]


def report_of(envelope: dict[str, Any], variables: Sequence[str]) -> Report:
    """An envelope as a report."""
    if envelope["type"] == "changes":
        signed = [(1, envelope["insert"]), (-1, envelope["delete"])]
    else:
        signed = [(-1 if envelope["r2s"] == "DSTREAM" else 1, envelope["results"])]
    rows = [
        (sign, tuple(_term(binding.get(name)) for name in variables))
        for sign, results in signed
        for binding in results["results"]["bindings"]
    ]
    return envelope["t"], _windows(envelope["windows"]), tuple(rows)


def reports_of(tables: Iterable[pa.Table], variables: Sequence[str]) -> list[Report]:
    """The answers of a run on Spark as reports, in the order of their numbers; numbers must go up by one."""
    found: dict[int, tuple[int, str, list[tuple[int, tuple[str | None, ...]]]]] = {}
    for table in tables:
        for row in table.to_pylist():
            windows = _windows(json.loads(row["windows"]))
            _, _, rows = found.setdefault(row["seq"], (row["at"], windows, []))
            if row["sign"]:
                rows.append((row["sign"], tuple(row[name] for name in variables)))
    assert list(found) == sorted(found), "reports are out of order"
    if found:
        first = min(found)
        assert sorted(found) == list(range(first, first + len(found))), "a report is missing"
    return [(at, windows, tuple(rows)) for at, windows, rows in found.values()]


def _windows(windows: list[dict[str, Any]]) -> str:
    return " ".join(f"{window['name']}[{window.get('open')},{window.get('close')})" for window in windows)


def _term(binding: dict[str, str] | None) -> str | None:
    if binding is None:
        return None
    value = binding["value"]
    if binding["type"] == "uri":
        return f"<{value}>"
    if binding["type"] == "bnode":
        return f"_:{value}"
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if "xml:lang" in binding:
        return f"{quoted}@{binding['xml:lang']}"
    return f"{quoted}^^<{binding['datatype']}>" if "datatype" in binding else quoted
