"""The speed of the demo, which can be changed while it runs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from whorl.demo.world import STEP_MS

if TYPE_CHECKING:
    from collections.abc import Callable

RATE_MAX = 8.0


class Pace:
    """A multiple of the usual number of events; zero pauses. Event time follows the clock at any rate."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._rate = 1.0
        self._changed = threading.Condition()

    @property
    def rate(self) -> float:
        """The current rate."""
        return self._rate

    def set_rate(self, rate: float) -> None:
        """Set the rate."""
        if not 0 <= rate <= RATE_MAX:
            raise ValueError(f"the rate of the demo is between 0 and {RATE_MAX:g}")
        with self._changed:
            self._rate = rate
            self._changed.notify_all()

    def now_ms(self) -> int:
        """The clock."""
        return int(self._clock() * 1_000)

    def next_step(self, last_ms: int) -> int:
        """Wait until the step after `last_ms` is due; returns its instant. A new rate takes effect at once."""
        with self._changed:
            while self._rate == 0 or self._left_ms(last_ms) > 0:
                self._changed.wait(None if self._rate == 0 else self._left_ms(last_ms) / 1_000)
            due_ms = last_ms + int(STEP_MS / self._rate)
        # Slightly late steps keep their distance; after a pause, missed steps are not made up for.
        return due_ms if self.now_ms() - due_ms < STEP_MS else self.now_ms()

    def _left_ms(self, last_ms: int) -> int:
        return last_ms + int(STEP_MS / self._rate) - self.now_ms()
