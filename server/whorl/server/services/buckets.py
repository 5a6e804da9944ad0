"""How often a caller may do what costs the server much."""

from __future__ import annotations

import math
import time

from whorl.server import errors


class Buckets:
    """A token bucket per caller: `per_minute` at once, refilled evenly."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, caller: str, now: float | None = None) -> None:
        """Take one, or say when there is one again."""
        at = time.monotonic() if now is None else now
        level, before = self._levels.get(caller, (float(self._per_minute), at))
        level = min(self._per_minute, level + (at - before) * self._per_minute / 60)
        if level < 1:
            wait_s = max(1, math.ceil((1 - level) * 60 / self._per_minute))
            detail = f"more than {self._per_minute} registrations a minute"
            raise errors.TooManyRegistrationsError(detail, retry_after_s=wait_s)
        self._levels[caller] = (level - 1, at)
