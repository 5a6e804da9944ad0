"""When a snapshot is due: the log is bounded by what a replay costs, also after snapshots that fail or are slow."""

from __future__ import annotations

import pytest
from whorl.server.runtime import growth
from whorl.server.runtime.growth import Growth
from whorl.server.settings import Settings


class Clock:
    """The processor time of the thread, as the test says."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(growth, "thread_time", made)
    return made


def apply(counted: Growth, clock: Clock, seconds: float, log_bytes: int = 0) -> None:
    with counted.applying():
        clock.now_s += seconds
    counted.log_bytes += log_bytes


def take_snapshot(counted: Growth, clock: Clock, seconds: float) -> None:
    with counted.snapshot():
        clock.now_s += seconds


def is_due(counted: Growth) -> bool:
    return counted.is_due


def replay_until_due(counted: Growth, clock: Clock) -> float:
    """The seconds of commands that a recovery would replay when the next snapshot is due."""
    seconds = 0.0
    while not is_due(counted):
        apply(counted, clock, 0.1)
        seconds += 0.1
    return seconds


def test_costly_commands_make_a_snapshot_due(clock: Clock) -> None:
    counted = Growth(Settings())
    assert replay_until_due(counted, clock) == pytest.approx(2.0, abs=0.2)
    take_snapshot(counted, clock, 0.1)
    assert not is_due(counted)


def test_a_slow_snapshot_puts_off_the_next_one_but_not_for_long(clock: Clock) -> None:
    counted = Growth(Settings())
    for snapshot_s, replay_s in ((0.2, 2.4), (0.5, 3.0), (10.0, 3.0), (100.0, 3.0)):
        take_snapshot(counted, clock, snapshot_s)
        assert replay_until_due(counted, clock) == pytest.approx(replay_s, abs=0.2)


def test_a_snapshot_that_was_not_written_replaces_nothing(clock: Clock) -> None:
    counted = Growth(Settings())
    apply(counted, clock, 2.5, 1000)
    assert is_due(counted)
    take_snapshot(counted, clock, 0.1)
    apply(counted, clock, 0.1, 10)
    counted.snapshot_failed()
    # It is tried again soon, but not after every command: taking it costs time.
    assert not is_due(counted)
    assert counted.log_bytes == 1010
    assert counted.replay_s == pytest.approx(2.6)
    assert replay_until_due(counted, clock) == pytest.approx(0.5, abs=0.2)
    take_snapshot(counted, clock, 0.1)
    assert not is_due(counted)
    assert counted.log_bytes == 0
