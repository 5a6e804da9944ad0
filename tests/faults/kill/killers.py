"""Ways to kill a server under load: at seeded random times, or from its own calls at a named point.

Both restart it on the same port and data, in a separate thread, until their cycles are done.
"""

from __future__ import annotations

import random
import subprocess
import threading
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from server_process import ServerProcess
from shim import Call, Moment

_REACHED_WITHIN_S = 5


class Point(NamedTuple):
    """A call of the store or of a connection, at which the server dies before, during or after it."""

    name: str
    call: Call
    # A part of the path of the file.
    file: str
    moment: Moment
    # How many such calls succeed before, at most.
    after_max: int


def _around(name: str, call: Call, file: str, after_max: int, *, during: bool = False) -> list[Point]:
    moments = [Moment.BEFORE, *([Moment.DURING] if during else []), Moment.AFTER]
    return [Point(f"{moment.name.lower()} the {name}", call, file, moment, after_max) for moment in moments]


# In the order of a commit. What follows the sync of the mark is the acknowledgement, then the publication.
POINTS = [
    *_around("write of the log", Call.WRITE, "/log-", 40, during=True),
    *_around("sync of the log", Call.SYNC, "/log-", 40),
    *_around("write of the mark", Call.WRITE, "/acknowledged", 40, during=True),
    *_around("sync of the mark", Call.SYNC, "/acknowledged", 40),
    *_around("sending of a reply or a result", Call.SEND, "", 120),
]
SNAPSHOT_POINTS = [
    *_around("creation of a snapshot", Call.CREATE, "/snapshot-", 4),
    *_around("write of a snapshot", Call.WRITE, "/snapshot-", 8, during=True),
    *_around("sync of a snapshot", Call.SYNC, "/snapshot-", 4),
    *_around("creation of the log behind a snapshot", Call.CREATE, "/log-", 4),
    *_around("removal of the log before a snapshot", Call.UNLINK, "/log-", 4),
]


class Killer(ABC):
    """Counts its kills; reports errors of its own to the test."""

    def __init__(self, server: ServerProcess, cycles: int, seed: int) -> None:
        self.server = server
        self.cycles = cycles
        self.chance = random.Random(seed)
        self.kills = 0
        self.error: BaseException | None = None
        self.is_done = threading.Event()

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run)
        thread.start()
        return thread

    def _run(self) -> None:
        try:
            for cycle in range(self.cycles):
                self._cycle(cycle)
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.error = error
        finally:
            self.is_done.set()

    @abstractmethod
    def _cycle(self, cycle: int) -> None:
        """Let it die once, and restart it."""

    def _kill(self) -> None:
        self.server.kill()
        self.kills += 1


class RandomKiller(Killer):
    """Kills at any instant, and now and then while the server starts."""

    def _cycle(self, cycle: int) -> None:
        self.is_done.wait(self.chance.uniform(0.05, 0.8))
        self._kill()
        if cycle % 3 == 1:
            self._kill_while_starting()
        self.server.start()

    def _kill_while_starting(self) -> None:
        """Between the first instruction and readiness: opening the file, replay."""
        starting = threading.Thread(target=self._start_in_vain)
        before = self.server.process
        starting.start()
        while self.server.process is before:
            self.is_done.wait(0.001)
        self.is_done.wait(self.chance.uniform(0.0, 0.6))
        self._kill()
        starting.join()

    def _start_in_vain(self) -> None:
        try:
            self.server.start()
        except Exception:  # noqa: BLE001 - a refused connection, a broken pipe, no answer
            # It was killed before it was ready, which is the point.
            return


class PointKiller(Killer):
    """Arms one point after the other; the server kills itself when it reaches the point."""

    def __init__(self, server: ServerProcess, cycles: int, seed: int, points: list[Point], library: Path) -> None:
        super().__init__(server, cycles, seed)
        self.reached: Counter[str] = Counter()
        self._points = points
        self._library = library

    def _run(self) -> None:
        self._kill()
        super()._run()

    def _cycle(self, cycle: int) -> None:
        point = self._points[cycle % len(self._points)]
        self._arm(point)
        if self._starts():
            self._await_death(point)
        else:
            self.reached[point.name] += 1
            self.kills += 1
        if cycle == self.cycles - 1:
            self.server.environment = {}
            self.server.start()

    def _arm(self, point: Point) -> None:
        after = self.chance.randrange(point.after_max)
        self.server.environment = {
            "LD_PRELOAD": str(self._library),
            "SHIM_DIR": str(self.server.data_dir),
            "SHIM_NAME": point.file,
            "SHIM_ARM": f"{int(point.call)},{after},1,{int(point.moment)}",
        }

    def _starts(self) -> bool:
        """Whether it lives to be ready: opening the store comes past some points."""
        try:
            self.server.start()
        except Exception:  # noqa: BLE001 - it has killed itself on the way
            process = self.server.process
            assert process is not None
            assert process.wait(30) == -9, self.server.log
            return False
        return True

    def _await_death(self, point: Point) -> None:
        assert self.server.process is not None
        try:
            self.server.process.wait(_REACHED_WITHIN_S)
        except subprocess.TimeoutExpired:
            # Not reached by this load: a kill like any other.
            self.server.kill()
        else:
            self.reached[point.name] += 1
        self.kills += 1
