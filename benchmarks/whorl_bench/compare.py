"""The regression view: the differences between two files of results that exceed the spread of the rounds.

Machines are noisy and differ, so a figure is compared in units of the calibration work that ran beside it. A change
counts when the ranges of the rounds do not overlap and the medians differ by more than the margin. A figure that the
second file lacks counts as well, since the worst slow-down has none.

Counted work stands beside the figure where both files have it. It depends on neither the machine nor its load, so that
a slow-down which two busy machines would hide is seen in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from whorl_bench.figures import COUNTED, METRICS, spread
from whorl_bench.results import ContestantResult, PointResult, Results, WorkloadResult

MARGIN = 1.15


@dataclass(frozen=True)
class Change:
    """One figure of the first file. `ratio` is how much costlier the second is; below 1 it has become cheaper."""

    workload: str
    point: str
    contestant: str
    ratio: float
    is_clear: bool
    # Why the second file has no such figure.
    gone: str = ""
    # What was counted, where it is not the figure of the workload.
    counted: str = ""

    @property
    def verdict(self) -> str:
        """The verdict."""
        if self.gone:
            return "gone"
        if not self.is_clear or 1 / MARGIN <= self.ratio <= MARGIN:
            return "same"
        return "slower" if self.ratio > 1 else "faster"


def compare(old: Results, new: Results) -> list[Change]:
    """Every figure of the first file: missing ones first, then the worst; workloads in only one file are left out."""
    found = [change for one in old.workloads if (now := new.of(one.name)) for change in _workload(one, now)]
    return sorted(found, key=lambda change: (not change.gone, -change.ratio))


def unshared(old: Results, new: Results) -> list[str]:
    """Workloads in only one of the files."""
    return sorted({one.name for one in old.workloads} ^ {one.name for one in new.workloads})


def _workload(old: WorkloadResult, new: WorkloadResult) -> Iterator[Change]:
    known = {point.label: point for point in new.points}
    for point in old.points:
        now = known.get(point.label)
        for name, then in point.contestants.items():
            if then.absent or then.median <= 0:
                continue
            if reason := _gone(old, new, point, now, name):
                yield Change(old.name, point.label, name, 1.0, is_clear=True, gone=reason)
            elif now is not None:
                yield _change(old, new, point.label, name, then, now.contestants[name])
                yield from _counted(old.name, point.label, name, then.runs, now.contestants[name].runs)


def _gone(old: WorkloadResult, new: WorkloadResult, then: PointResult, now: PointResult | None, name: str) -> str:
    """Why there is nothing to compare with, or None."""
    if old.metric != new.metric:
        return f"the metric was {old.metric} and is {new.metric}"
    if now is None:
        return "the point is not measured any more"
    if now.absent:
        return now.absent
    if now.parameters != then.parameters:
        return "the point has other parameters"
    one = now.contestants.get(name)
    if one is None:
        return "the contestant does not take part any more"
    return one.absent or ("" if one.median > 0 else "the figure is 0")


def _change(
    old: WorkloadResult, new: WorkloadResult, point: str, name: str, then: ContestantResult, now: ContestantResult
) -> Change:
    first, second = _costs(old, then), _costs(new, now)
    is_clear = second.least > first.most or second.most < first.least
    return Change(new.name, point, name, second.median / first.median, is_clear)


def _counted(
    workload: str, point: str, name: str, then: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]
) -> Iterator[Change]:
    """What both have counted over the same events: a run whose time was over has counted others."""
    if {run["events"] for run in then} != {run["events"] for run in now}:
        return
    for what, count in COUNTED.items():
        known = [[count(run) for run in runs] for runs in (then, now)]
        if not all(known) or min(known[0]) <= 0:
            continue
        first, second = (spread(counts) for counts in known)
        is_clear = second.least > first.most or second.most < first.least
        yield Change(workload, point, name, second.median / first.median, is_clear, counted=what)


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


def table(changes: list[Change], unshared: Sequence[str] = ()) -> str:
    """For people."""
    rows = [f"{'ratio':>6}  {'verdict':7}  figure"]
    rows += [_row(one) for one in changes]
    if unshared:
        rows.append(f"in one file alone: {', '.join(unshared)}")
    gone, slower = (sum(one.verdict == verdict for one in changes) for verdict in ("gone", "slower"))
    rows.append(
        f"{len(changes) - gone} figures compared; {slower} slower by more than {MARGIN:g}× beyond their spread; "
        f"{gone} gone"
    )
    return "\n".join(rows)


def _row(one: Change) -> str:
    figure = f"{one.workload}, {one.point}: {one.contestant}{', ' if one.counted else ''}{one.counted}"
    return f"{'–':>6}  gone     {figure}: {one.gone}" if one.gone else f"{one.ratio:6.2f}  {one.verdict:7}  {figure}"
