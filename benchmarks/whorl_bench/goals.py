"""Goals of a workload, and whether a run has reached them; a goal that is missed stays in the table with its value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whorl_bench.figures import METRICS
from whorl_bench.plots import number
from whorl_bench.results import PointResult, WorkloadResult
from whorl_bench.workload import Goal, Workload


@dataclass(frozen=True)
class Reached:
    """A goal, its value in this run, and whether it is reached; no value if the run has not measured it."""

    text: str
    value: float | None
    is_reached: bool

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.text}: not measured"
        return f"{self.text}: {self.value:.2f}, {'reached' if self.is_reached else 'missed'}"


def reached(workload: Workload, result: WorkloadResult | None) -> list[Reached]:
    """Every goal of the workload."""
    return [_reached(goal, workload, result) for goal in workload.goals]


def _reached(goal: Goal, workload: Workload, result: WorkloadResult | None) -> Reached:
    if goal.exponent is not None:
        value = growth(workload, result)
        return Reached(goal.text, value, value is not None and value <= goal.exponent)
    costs = [_costs(workload, goal, point) for point in (result.points if result else []) if _counts(goal, point)]
    known = [cost for cost in costs if cost is not None]
    if not known or len(known) < len(costs):
        return Reached(goal.text, None, is_reached=False)
    ours, theirs = (sum(values) for values in zip(*known, strict=True))
    if goal.most is not None:
        return Reached(goal.text, ours / theirs, ours / theirs <= goal.most)
    return Reached(goal.text, theirs / ours, theirs / ours >= (goal.least or 0))


def _counts(goal: Goal, point: PointResult) -> bool:
    return not goal.points or point.label in goal.points


def _costs(workload: Workload, goal: Goal, point: PointResult) -> tuple[float, float] | None:
    """The figures of the first contestant, and of those it is compared with."""
    own, *others = (cost for _, cost in _costs_of(workload, point, [entry.name for entry in workload.contestants]))
    named = dict(_costs_of(workload, point, [goal.against]))
    found = [cost for cost in others if cost is not None]
    match goal.against:
        case "best":
            other = min(found, default=None)
        case "worst":
            other = max(found, default=None)
        case name:
            other = named.get(name)
    return None if own is None or other is None else (own, other)


def _costs_of(workload: Workload, point: PointResult, names: Sequence[str]) -> Iterator[tuple[str, float | None]]:
    for name in names:
        one = point.contestants.get(name)
        if one is None or one.absent or one.median <= 0:
            yield name, None
        else:
            yield name, one.median if METRICS[workload.metric].is_cost else 1 / one.median


def growth(workload: Workload, result: WorkloadResult | None) -> float | None:
    """The exponent by which the cost of the first contestant grows along the axis, from its first point to its last."""
    name = workload.contestants[0].name if workload.contestants else ""
    known = [(number(point.label), dict(_costs_of(workload, point, [name]))[name]) for point in _points(result)]
    found = [(at, cost) for at, cost in known if at and cost is not None]
    if not workload.axis or len(found) < 2 or found[0][0] == found[-1][0]:
        return None
    (x0, y0), (x1, y1) = found[0], found[-1]
    return math.log(y1 / y0) / math.log(x1 / x0)


def _points(result: WorkloadResult | None) -> Sequence[PointResult]:
    return [] if result is None else [point for point in result.points if not point.absent]
