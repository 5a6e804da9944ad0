"""The regression view: two files of results, and what has changed by more than the rounds differ among themselves.

Machines are noisy and differ, so a figure is compared in units of the calibration work that ran beside it. A change
counts when the ranges of the rounds do not overlap and the medians differ by more than the margin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whorl_bench.figures import METRICS
from whorl_bench.results import ContestantResult, Results, WorkloadResult

MARGIN = 1.15


@dataclass(frozen=True)
class Change:
    """One figure in both files. `ratio` is how much costlier the second is; below 1 it has become cheaper."""

    workload: str
    point: str
    contestant: str
    ratio: float
    is_clear: bool

    @property
    def verdict(self) -> str:
        """In a word."""
        if not self.is_clear or 1 / MARGIN <= self.ratio <= MARGIN:
            return "same"
        return "slower" if self.ratio > 1 else "faster"


def compare(old: Results, new: Results) -> list[Change]:
    """Every figure that both files have, the worst first."""
    found = [change for workload in new.workloads for change in _workload(old.of(workload.name), workload)]
    return sorted(found, key=lambda change: -change.ratio)


def _workload(old: WorkloadResult | None, new: WorkloadResult) -> Iterator[Change]:
    if old is None or old.metric != new.metric:
        return
    known = {point.label: point for point in old.points}
    for point in new.points:
        before = known.get(point.label)
        if before is None or before.parameters != point.parameters:
            continue
        for name, now in point.contestants.items():
            then = before.contestants.get(name)
            if then is not None and then.median > 0 and now.median > 0:
                yield _change(old, new, point.label, name, then, now)


def _change(
    old: WorkloadResult, new: WorkloadResult, point: str, name: str, then: ContestantResult, now: ContestantResult
) -> Change:
    first, second = _costs(old, then), _costs(new, now)
    is_clear = second.least > first.most or second.most < first.least
    return Change(new.name, point, name, second.median / first.median, is_clear)


@dataclass(frozen=True)
class _Cost:
    median: float
    least: float
    most: float


def _costs(workload: WorkloadResult, result: ContestantResult) -> _Cost:
    """A rate becomes its inverse, so that more is worse; memory does not depend on the speed of the machine."""
    if not METRICS[workload.metric].is_cost:
        unit = workload.calibration_ns or 1
        return _Cost(1 / result.median / unit, 1 / result.most / unit, 1 / result.least / unit)
    unit = 1 if workload.metric == "megabytes" else workload.calibration_ns or 1
    return _Cost(result.median / unit, result.least / unit, result.most / unit)


def table(changes: list[Change]) -> str:
    """For people."""
    rows = [f"{'ratio':>6}  {'verdict':7}  figure"]
    rows += [f"{one.ratio:6.2f}  {one.verdict:7}  {one.workload}, {one.point}: {one.contestant}" for one in changes]
    slower = sum(one.verdict == "slower" for one in changes)
    rows.append(f"{len(changes)} figures in both files; {slower} slower by more than {MARGIN:g}× beyond their spread")
    return "\n".join(rows)
