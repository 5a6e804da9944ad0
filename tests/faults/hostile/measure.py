"""The cost of one attack: processor time, in total and of the engine's thread; peak memory and memory afterwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from server_process import ServerProcess

MIB = 2**20
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Of one attack."""

    name: str
    cpu_s: float
    engine_s: float
    peak_mib: float
    left_mib: float


class Meter:
    """Reads /proc; resets the peak of memory before each attack."""

    def __init__(self, server: ServerProcess) -> None:
        assert server.process is not None
        self._proc = Path(f"/proc/{server.process.pid}")
        # Engine and committer run from the start; threads for ad-hoc queries come and go.
        self._lasting = [task for task in self._tasks() if task.name != str(server.process.pid)]
        self.costs: list[Cost] = []

    def begin(self) -> None:
        (self._proc / "clear_refs").write_text("5")
        self._cpu_s, self._rss = self.cpu_s(), self.memory("VmRSS")
        self._threads_s = self._lasting_s()

    def end(self, name: str) -> None:
        peak, left = self.memory("VmHWM") - self._rss, self.memory("VmRSS") - self._rss
        spent = zip(self._lasting_s(), self._threads_s, strict=True)
        engine_s = max(after - before for after, before in spent)
        self.costs.append(Cost(name, self.cpu_s() - self._cpu_s, engine_s, peak / MIB, left / MIB))

    def _tasks(self) -> list[Path]:
        return sorted((self._proc / "task").iterdir())

    def _lasting_s(self) -> list[float]:
        """The processor time of each lasting thread; the engine's is the busiest of them."""
        return [int((task / "schedstat").read_text().split()[0]) / 1e9 for task in self._lasting]

    def cpu_s(self) -> float:
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK_S

    def memory(self, name: str) -> int:
        lines = (self._proc / "status").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith(f"{name}:")]
        return int(line.split()[1]) * 1024

    def handles(self) -> int:
        return len(list((self._proc / "fd").iterdir()))

    def threads(self) -> int:
        return len(list((self._proc / "task").iterdir()))

    def report(self, n: int = 8) -> str:
        """The costliest attacks, by time and by memory."""
        by_time = sorted(self.costs, key=lambda cost: -cost.engine_s)[:n]
        by_memory = sorted(self.costs, key=lambda cost: -cost.peak_mib)[:n]
        times = [f"  {cost.engine_s:6.2f} s of the engine, {cost.cpu_s:.2f} s in all   {cost.name}" for cost in by_time]
        sizes = [f"  {cost.peak_mib:+6.0f} MiB, {cost.left_mib:+.0f} afterwards   {cost.name}" for cost in by_memory]
        beyond = sum(cost.engine_s > 1 for cost in self.costs)
        return "\n".join([f"{len(self.costs)} attacks, {beyond} beyond 1 s of the engine", *times, *sizes])
