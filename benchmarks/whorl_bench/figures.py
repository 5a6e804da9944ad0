"""The measurements of a run, and the metrics computed from them."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

_PAGE = resource.getpagesize()


@dataclass(frozen=True)
class Figures:
    """One run. Times are those of the measured events alone; `rss_bytes` is the growth of the process."""

    events: int
    triples: int
    cpu_ns: int
    wall_ns: int
    setup_ns: int = 0
    rss_bytes: int = 0
    results: int = 0
    # Work that is counted and not timed: leaves and queries that the events led to, and mappings kept at the end.
    visits: int = 0
    mappings: int = 0
    # Wall time from handing an event over to having its results, in ns: `mean`, `p50`, `p99`, `max`.
    delays: dict[str, float] = field(default_factory=dict)
    # Depends on every result, and is equal for contestants that agree. Only programs have one.
    checksum: str = ""

    def beyond(self, other: Figures) -> Figures:
        """The additional cost of this run over another with the same events, per event of this one."""
        share = self.events / max(other.events, 1)
        cpu_ns, wall_ns = (round(time_ns * share) for time_ns in (other.cpu_ns, other.wall_ns))
        return replace(self, cpu_ns=max(self.cpu_ns - cpu_ns, 0), wall_ns=max(self.wall_ns - wall_ns, 0), delays={})


@dataclass
class Delays:
    """The delays of single events."""

    found: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        """For `Figures`."""
        if not self.found:
            return {}
        ranked = sorted(self.found)
        return {
            "mean": statistics.fmean(ranked),
            "p50": float(ranked[len(ranked) // 2]),
            "p99": float(ranked[min(len(ranked) - 1, len(ranked) * 99 // 100)]),
            "max": float(ranked[-1]),
        }


class Stopwatch:
    """Wall time, and processor time of this thread with a limit: a busy machine lengthens a run."""

    def __init__(self, limit_s: float) -> None:
        self._limit_ns = int(limit_s * 1e9)
        self.cpu_ns = self.wall_ns = 0

    def start(self) -> None:
        """Begin."""
        self._wall, self._cpu = time.perf_counter_ns(), time.thread_time_ns()

    def is_over(self) -> bool:
        """Whether the time limit of a run has passed."""
        return time.thread_time_ns() - self._cpu > self._limit_ns

    def stop(self) -> None:
        """End."""
        self.cpu_ns, self.wall_ns = time.thread_time_ns() - self._cpu, time.perf_counter_ns() - self._wall


def resident_bytes() -> int:
    """The resident set of the process; its peak if the system does not provide the current value."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * _PAGE
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass(frozen=True)
class Metric:
    """How a run is judged: a number, its unit, and whether less is better."""

    unit: str
    value: Callable[[Figures], float]
    is_cost: bool = True


def _per(total: float, count: int) -> float:
    return total / max(count, 1)


# What depends on neither the machine nor its load, from a run as it stands in the results.
COUNTED: dict[str, Callable[[dict[str, Any]], float]] = {
    "visits per event": lambda run: _per(run.get("visits", 0), run["events"]),
    "mappings kept": lambda run: float(run.get("mappings", 0)),
}


METRICS = {
    "us_per_event": Metric("µs/event", lambda one: _per(one.cpu_ns / 1e3, one.events)),
    "ms_per_event": Metric("ms/event", lambda one: _per(one.cpu_ns / 1e6, one.events)),
    "ns_per_event": Metric("ns/event", lambda one: _per(one.cpu_ns, one.events)),
    "events_per_s": Metric("events/s", lambda one: one.events * 1e9 / max(one.cpu_ns, 1), is_cost=False),
    "triples_per_s": Metric("triples/s", lambda one: one.triples * 1e9 / max(one.cpu_ns, 1), is_cost=False),
    "delay_ms": Metric("ms delay, mean", lambda one: one.delays.get("mean", 0.0) / 1e6),
    "longest_ms": Metric("ms, the longest event", lambda one: one.delays.get("max", 0.0) / 1e6),
    "total_ms": Metric("ms in all", lambda one: one.cpu_ns / 1e6),
    "setup_ms": Metric("ms to set up", lambda one: one.setup_ns / 1e6),
    "mappings": Metric("mappings kept", lambda one: float(one.mappings)),
    "megabytes": Metric("MB", lambda one: one.rss_bytes / 1e6),
}


@dataclass(frozen=True)
class Spread:
    """The median of the rounds, the minimum and the maximum."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))
