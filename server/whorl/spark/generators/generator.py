"""What a generator says of its rows, and the feed that makes them.

Row n comes at `n × step_ms` after the start, or later by less than `reach_ms`. So the rows of a span of time are among
few numbers, and a span costs what its rows cost, wherever it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whorl.spark.generators.draw import Draw, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whorl.spark.feeds import Feed


@dataclass(frozen=True)
class Generator:
    """Rows by their number. `times` are milliseconds after the start; `columns` gets the true times."""

    step_ms: int
    reach_ms: int
    start_ms: int
    schema: pa.Schema
    times: Callable[[Draw], Rows]
    columns: Callable[[Draw, Rows], Mapping[str, Any]]

    def feed(self, *, start_ms: int | None = None, rows: int | None = None, seed: int = 0) -> Feed:
        """The rows as a feed; without a number of rows it is endless."""
        return GeneratedFeed(self, self.start_ms if start_ms is None else start_ms, rows, seed)


@dataclass(frozen=True)
class GeneratedFeed:
    """The first `rows` rows of a generator."""

    generator: Generator
    start_ms: int
    rows: int | None
    seed: int

    @property
    def schema(self) -> pa.Schema:
        """The columns; `t` has the time."""
        return self.generator.schema

    @cached_property
    def first(self) -> int | None:
        """The time of the first row."""
        found = self._sorted_times(self._draw(0, self._near + 1))
        return int(found[0]) if len(found) else None

    @cached_property
    def last(self) -> int | None:
        """The time of the last row; None if there is no end."""
        if self.rows is None:
            return None
        found = self._sorted_times(self._draw(self.rows - self._near - 1, self.rows))
        return int(found[-1]) if len(found) else self.start_ms

    def stop(self, after: int, most: int) -> int | None:
        """How far to read for at most so many rows; None where nothing comes any more."""
        after = max(after, self.start_ms - 1)
        span = most * self.generator.step_ms
        found = self._times_between(after, after + span)
        while len(found) < most and (self.last is None or after + span < self.last):
            # Fewer than usual: at the beginning, and near the end.
            span *= 2
            found = self._times_between(after, after + span)
        return _cut(found, most) if len(found) else None

    def read(self, after: int, until: int) -> Iterator[pa.RecordBatch]:
        """The rows after a time up to another, in order of time."""
        draw = self._candidates(after, until)
        times = self._times(draw)
        inside = (times > after) & (times <= until)
        if inside.any():
            draw, times = draw.of(draw.rows[inside]), times[inside]
            order = np.argsort(times, kind="stable")
            draw, times = draw.of(draw.rows[order]), times[order]
            columns = {"t": times, **self.generator.columns(draw, times)}
            arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @property
    def _near(self) -> int:
        """How many rows later a row can still come earlier."""
        return self.generator.reach_ms // self.generator.step_ms + 1

    def _times_between(self, after: int, until: int) -> Rows:
        found = self._sorted_times(self._candidates(after, until))
        return found[(found > after) & (found <= until)]

    def _candidates(self, after: int, until: int) -> Draw:
        step = self.generator.step_ms
        return self._draw((after - self.start_ms) // step - self._near, (until - self.start_ms) // step + 1)

    def _draw(self, first: int, end: int) -> Draw:
        end = end if self.rows is None else min(end, self.rows)
        return Draw(np.arange(max(first, 0), max(end, 0), dtype=np.int64), self.seed)

    def _times(self, draw: Draw) -> Rows:
        return self.start_ms + self.generator.times(draw)

    def _sorted_times(self, draw: Draw) -> Rows:
        return np.sort(self._times(draw))


def _cut(times: Rows, most: int) -> int:
    """The last instant that is whole among the first `most` times; the first instant if it has more rows than that."""
    if len(times) <= most:
        return int(times[-1])
    whole = times[:most][times[:most] < times[most]]
    return int(whole[-1]) if len(whole) else int(times[0])
