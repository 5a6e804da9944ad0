"""Rows in time order; any span can be read again, which a replay needs.

An instant is never split: rows of the same time are read together. A position in a feed is a time, and means that
everything up to it has been read.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from pyarrow import fs, parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


class Feed(Protocol):
    """Rows with a column `t`, in milliseconds."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    @property
    def first(self) -> int | None:
        """The time of the first row; None if there is none."""

    @property
    def last(self) -> int | None:
        """The time of the last row; None if there is no end."""

    def stop(self, after: int, most: int) -> int | None:
        """Where to stop for at most this many rows; None if nothing follows."""

    def read(self, after: int, until: int) -> Iterator[pa.RecordBatch]:
        """The rows after a time up to another, in time order."""


@dataclass(frozen=True)
class _Group:
    """A row group of a file: the rows before it, its size, its first and last time."""

    path: str
    number: int
    rows_before: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class StoredFeed:
    """Parquet files whose rows are in time order, from file to file by name."""

    uri: str

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns."""
        files, paths = _files(self.uri)
        return parquet.read_schema(paths[0], filesystem=files)

    @property
    def first(self) -> int | None:
        """The time of the first row."""
        return self._groups[0].first if self._groups else None

    @property
    def last(self) -> int | None:
        """The time of the last row. A stored feed has an end: without rows it is at the beginning of time."""
        return self._groups[-1].last if self._groups else 0

    def stop(self, after: int, most: int) -> int | None:
        """Where to stop for at most this many rows; None if nothing follows."""
        done = self._rank(after)
        if done == self._total:
            return None
        end = min(done + most, self._total)
        cut = self._time_of(end - 1)
        if end < self._total and self._time_of(end) == cut:
            # The instant continues after the cut: stop before it, unless there is no other.
            before = self._rank(cut - 1)
            return self._time_of(before - 1) if before > done else cut
        return cut

    def read(self, after: int, until: int) -> Iterator[pa.RecordBatch]:
        """The rows after a time up to another, in time order."""
        first, end = self._rank(after), self._rank(until)
        for group in self._groups:
            start, stop = max(first - group.rows_before, 0), min(end - group.rows_before, group.rows)
            if start < stop:
                table = _file(self.uri, group.path).read_row_group(group.number)
                yield from table.slice(start, stop - start).to_batches()

    @cached_property
    def _groups(self) -> Sequence[_Group]:
        found: list[_Group] = []
        for path in _files(self.uri)[1]:
            about = _file(self.uri, path).metadata
            place = next(column for column in range(about.num_columns) if about.schema.column(column).path == "t")
            for number in range(about.num_row_groups):
                group = about.row_group(number)
                if group.num_rows:
                    times = group.column(place).statistics
                    before = found[-1].rows_before + found[-1].rows if found else 0
                    found.append(_Group(path, number, before, group.num_rows, times.min, times.max))
        return found

    @property
    def _total(self) -> int:
        return self._groups[-1].rows_before + self._groups[-1].rows if self._groups else 0

    def _rank(self, t: int) -> int:
        """The number of rows with a time up to `t`."""
        place = bisect.bisect_left(self._groups, t + 1, key=lambda group: group.last)
        if place == len(self._groups):
            return self._total
        group = self._groups[place]
        if t < group.first:
            return group.rows_before
        return group.rows_before + int(np.searchsorted(self._times(group), t, side="right"))

    def _time_of(self, row: int) -> int:
        group = self._groups[bisect.bisect_right(self._groups, row, key=lambda group: group.rows_before) - 1]
        return int(self._times(group)[row - group.rows_before])

    def _times(self, group: _Group) -> NDArray[np.int64]:
        return _times(self.uri, group.path, group.number)


def _files(uri: str) -> tuple[fs.FileSystem, list[str]]:
    files, root = fs.FileSystem.from_uri(uri)
    found = files.get_file_info(fs.FileSelector(root, recursive=False))
    return files, sorted(info.path for info in found if info.path.endswith(".parquet"))


def _file(uri: str, path: str) -> parquet.ParquetFile:
    files, _ = fs.FileSystem.from_uri(uri)
    return parquet.ParquetFile(path, filesystem=files)


# A search reads the same few groups repeatedly.
@lru_cache(maxsize=8)
def _times(uri: str, path: str, number: int) -> NDArray[np.int64]:
    table = _file(uri, path).read_row_group(number, columns=["t"])
    return np.asarray(table.column("t").to_numpy(), dtype=np.int64)
