"""Pseudo-random numbers that depend only on a seed, a name and the row number.

No state is carried from row to row: any task can compute any range of rows, and again after a restart.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows: TypeAlias = NDArray[np.int64]

_MASK = (1 << 64) - 1
# The increment and the factors of splitmix64.
_STEP = 0x9E3779B97F4A7C15
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
# A double holds 53 bits.
_UNIT = 2.0**-53


class Draw:
    """Random values for some rows; each name yields an independent sequence."""

    def __init__(self, rows: Rows, seed: int = 0, skew: float = 0.0) -> None:
        self.rows = rows
        self._seed = seed
        # How much more often small numbers are drawn; 0 means uniformly.
        self._skew = skew

    def of(self, keys: Rows) -> Draw:
        """The same draw for other numbers, such as those of the sensors of the rows."""
        return Draw(keys, self._seed, self._skew)

    def unit(self, name: str) -> NDArray[np.float64]:
        """Uniform values in [0, 1)."""
        return (self._bits(name) >> np.uint64(11)).astype(np.float64) * _UNIT

    def between(self, name: str, low: float, high: float) -> NDArray[np.float64]:
        """Uniform values between `low` and `high`."""
        return low + (high - low) * self.unit(name)

    def whole(self, name: str, below: int) -> Rows:
        """Integers in [0, below); with skew, small ones are more frequent."""
        return (self.unit(name) ** (1.0 + self._skew) * below).astype(np.int64)

    def weighted(self, name: str, weights: NDArray[np.float64]) -> Rows:
        """An index per row, drawn by the row's weights (one line per row); with skew, small ones are more frequent."""
        heaped = np.cumsum(weights, axis=1)
        place = self.unit(name) ** (1.0 + self._skew) * heaped[:, -1]
        # Rounding can make the last sum smaller than the drawn value.
        drawn: Rows = np.minimum((heaped <= place[:, None]).sum(axis=1), weights.shape[1] - 1).astype(np.int64)
        return drawn

    def choice(self, name: str, values: Sequence[str]) -> list[str]:
        """One of the values for each row."""
        return [values[index] for index in self.whole(name, len(values)).tolist()]

    def _bits(self, name: str) -> NDArray[np.uint64]:
        salt = (zlib.crc32(name.encode()) * _STEP + self._seed * 0xD1342543DE82EF95) & _MASK
        bits = (self.rows.astype(np.uint64) + np.uint64(1)) * np.uint64(_STEP) + np.uint64(salt)
        bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
        return bits ^ (bits >> np.uint64(31))
