"""Rate limits for requests that are expensive or useless to the server."""

from __future__ import annotations

import math
import time

from whorl.server import errors


class Buckets:
    """A token bucket per caller: a burst of `per_minute`, refilled evenly."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, caller: str, now: float | None = None) -> None:
        """Take one, or refuse and say when to retry."""
        at = time.monotonic() if now is None else now
        level, before = self._levels.get(caller, (float(self._per_minute), at))
        level = min(self._per_minute, level + (at - before) * self._per_minute / 60)
        if level < 1:
            wait_s = max(1, math.ceil((1 - level) * 60 / self._per_minute))
            detail = f"more than {self._per_minute} registrations a minute"
            raise errors.TooManyRegistrationsError(detail, retry_after_s=wait_s)
        self._levels[caller] = (level - 1, at)


class Allowance:
    """A token bucket of one connection: `burst` at once, and `per_s` more each second."""

    __slots__ = ("_at", "_burst", "_level", "_per_s")

    def __init__(self, burst: int, per_s: float, now: float) -> None:
        self._burst = burst
        self._per_s = per_s
        self._level = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """Take one; False when there is none left."""
        self._level = min(self._burst, self._level + (now - self._at) * self._per_s)
        self._at = now
        if self._level < 1:
            return False
        self._level -= 1
        return True
