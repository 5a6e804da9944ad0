"""Goals: a ratio to the best and to the worst, an exponent, and what is not measured."""

from __future__ import annotations

import pytest
from whorl_bench.goals import growth, reached
from whorl_bench.results import ContestantResult, PointResult, WorkloadResult
from whorl_bench.workload import Entry, Goal, Workload


def workload(*goals: Goal, metric: str = "us_per_event") -> Workload:
    entries = [Entry(name, "whorl") for name in ("adaptive", "left", "right")]
    return Workload("order", "Orders", metric, "chain", entries, [], axis="width", goals=goals)


def result(*points: tuple[str, float, float, float]) -> WorkloadResult:
    def point(label: str, *medians: float) -> PointResult:
        names = ("adaptive", "left", "right")
        return PointResult(label, contestants={n: ContestantResult(m) for n, m in zip(names, medians, strict=True)})

    return WorkloadResult("order", "us_per_event", points=[point(*one) for one in points])


def test_the_best_and_the_worst_are_those_of_each_point() -> None:
    best = Goal("near the best", points=["0", "1"], against="best", most=1.15)
    worst = Goal("far from the worst", points=["0", "1"], against="worst", least=3.0)
    found = reached(workload(best, worst), result(("0", 11, 10, 40), ("1", 11, 50, 10), ("rotating", 99, 1, 1)))
    assert [(one.value, one.is_reached) for one in found] == [(1.1, True), (pytest.approx(90 / 22), True)]
    assert str(found[0]) == "near the best: 1.10, reached"


def test_a_goal_that_is_missed_says_by_how_much() -> None:
    goal = Goal("near the left one", against="left", most=1.15)
    (found,) = reached(workload(goal), result(("0", 20, 10, 40)))
    assert str(found) == "near the left one: 2.00, missed"


def test_a_goal_without_a_figure_is_not_measured() -> None:
    goal = Goal("near the left one", against="left", most=1.15)
    absent = result(("0", 20, 10, 40))
    absent.points[0].contestants["left"] = ContestantResult(absent="no Java")
    for one in (None, absent):
        (found,) = reached(workload(goal), one)
        assert str(found) == "near the left one: not measured"


def test_growth_is_that_of_the_cost() -> None:
    points = result(("10", 1.0, 1, 1), ("1k", 100.0, 1, 1))
    assert growth(workload(), points) == pytest.approx(1)
    assert growth(workload(metric="events_per_s"), points) == pytest.approx(-1)
    (found,) = reached(workload(Goal("flat", exponent=0.15)), points)
    assert not found.is_reached
