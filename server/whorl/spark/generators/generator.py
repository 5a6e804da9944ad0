"""Generators of rows, and the feed that computes them.

The time of row n is at least `n × step_ms` after the start, and less than `reach_ms` later than that. So a span of time
is computed from a small range of row numbers, and its cost depends on its length alone, not on its position. `Changes`
make the data harder (other rates, hot keys, disorder, invalid rows); they too are functions of the row number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whorl.spark.generators.draw import Draw, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whorl.spark.feeds import Feed


@dataclass(frozen=True)
class Changes:
    """Variations of the generated data."""

    # Rows per second of event time; None means the generator's own rate.
    rate: float | None = None
    # How much more often some keys are drawn than others; 0 means uniformly.
    skew: float = 0.0
    # The maximum distance by which a row's time is earlier than its position in the feed.
    disorder_ms: int = 0
    # The fraction of rows that lack a value.
    bad_rows: float = 0.0


NO_CHANGES = Changes()


@dataclass(frozen=True)
class Generator:
    """Computes rows from their numbers. `times` are milliseconds after the start; `columns` receives absolute times."""

    step_ms: int
    reach_ms: int
    start_ms: int
    schema: pa.Schema
    times: Callable[[Draw], Rows]
    columns: Callable[[Draw, Rows], Mapping[str, Any]]

    def feed(
        self, *, start_ms: int | None = None, rows: int | None = None, seed: int = 0, changes: Changes = NO_CHANGES
    ) -> Feed:
        """The rows as a feed, which is endless unless `rows` is given."""
        return GeneratedFeed(self, self.start_ms if start_ms is None else start_ms, rows, seed, changes)


@dataclass(frozen=True)
class GeneratedFeed:
    """The first `rows` rows of a generator."""

    generator: Generator
    start_ms: int
    rows: int | None
    seed: int
    changes: Changes = NO_CHANGES

    @property
    def schema(self) -> pa.Schema:
        """The columns; `t` is the time."""
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
        """The time up to which at most this many rows follow; None if no row follows."""
        after = max(after, self.start_ms - 1)
        span = max(1, int(most * self.generator.step_ms * self._pace))
        found = self._times_between(after, after + span)
        while len(found) < most and (self.last is None or after + span < self.last):
            # A span near the start or the end has fewer rows than usual.
            span *= 2
            found = self._times_between(after, after + span)
        return _cut(found, most) if len(found) else None

    def read(self, after: int, until: int) -> Iterator[pa.RecordBatch]:
        """The rows with `after < t <= until`, in order of time."""
        draw = self._candidates(after, until)
        times = self._times(draw)
        inside = (times > after) & (times <= until)
        if inside.any():
            draw, times = draw.of(draw.rows[inside]), times[inside]
            order = np.argsort(times, kind="stable")
            draw, times = draw.of(draw.rows[order]), times[order]
            columns = {"t": self._told_times(draw, times), **self.generator.columns(draw, times)}
            arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
            yield self._with_bad_rows(draw, pa.RecordBatch.from_arrays(arrays, schema=self.schema))

    def _told_times(self, draw: Draw, times: Rows) -> Rows:
        """The times in the rows; with disorder, some are earlier than their position."""
        if not self.changes.disorder_ms:
            return times
        return times - Draw(draw.rows, self.seed).whole("disorder", self.changes.disorder_ms + 1)

    def _with_bad_rows(self, draw: Draw, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Remove the value of the first column other than the time from some rows."""
        if not self.changes.bad_rows:
            return batch
        place = 1 if batch.schema.names[0] == "t" else 0
        is_bad = pa.array(Draw(draw.rows, self.seed).unit("bad") < self.changes.bad_rows)
        field = batch.schema.field(place)
        return batch.set_column(place, field, pc.if_else(is_bad, pa.scalar(None, field.type), batch.column(place)))

    @cached_property
    def _pace(self) -> Fraction:
        """The factor by which event time is stretched to reach the requested rate."""
        if self.changes.rate is None:
            return Fraction(1)
        # A fraction of small numbers, so that times multiplied by it stay below 64 bits.
        rate = Fraction(self.changes.rate).limit_denominator(1_000)
        return Fraction(1_000, self.generator.step_ms) / rate

    @property
    def _near(self) -> int:
        """How many positions apart two rows can be whose times are in the opposite order."""
        return self.generator.reach_ms // self.generator.step_ms + 1

    def _times_between(self, after: int, until: int) -> Rows:
        found = self._sorted_times(self._candidates(after, until))
        return found[(found > after) & (found <= until)]

    def _candidates(self, after: int, until: int) -> Draw:
        step = self.generator.step_ms
        # In unstretched time, with one extra row at either end.
        own = [int((at - self.start_ms) / self._pace) // step for at in (after, until)]
        return self._draw(own[0] - self._near - 1, own[1] + 2)

    def _draw(self, first: int, end: int) -> Draw:
        end = end if self.rows is None else min(end, self.rows)
        return Draw(np.arange(max(first, 0), max(end, 0), dtype=np.int64), self.seed, self.changes.skew)

    def _times(self, draw: Draw) -> Rows:
        own = self.generator.times(draw)
        return self.start_ms + (own if self._pace == 1 else own * self._pace.numerator // self._pace.denominator)

    def _sorted_times(self, draw: Draw) -> Rows:
        return np.sort(self._times(draw))


def _cut(times: Rows, most: int) -> int:
    """The last instant whose rows are all among the first `most`; the first instant if it alone has more."""
    if len(times) <= most:
        return int(times[-1])
    whole = times[:most][times[:most] < times[most]]
    return int(whole[-1]) if len(whole) else int(times[0])
