"""The regression view: slower beyond the spread is seen, noise is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from whorl_bench.compare import compare, table, unshared
from whorl_bench.results import ContestantResult, PointResult, Results, WorkloadResult, merged


def results(rounds: list[float], *, metric: str = "us_per_event", calibration_ns: int = 1000) -> Results:
    ranked = sorted(rounds)
    one = ContestantResult(ranked[len(ranked) // 2], ranked[0], ranked[-1])
    point = PointResult("W=10", {"width": 10}, {"Whorl": one})
    workload = WorkloadResult("join", metric, 0.5, calibration_ns, [point])
    return Results({}, "2026-11-18T00:00:00+00:00", "quick", len(rounds), workloads=[workload])


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ([10, 11, 12], [20, 21, 22], "slower"),
        ([10, 11, 12], [5, 6, 7], "faster"),
        ([10, 11, 20], [19, 21, 22], "same"),
        ([10, 10.1, 10.2], [10.5, 10.6, 10.7], "same"),
    ],
    ids=["slower", "faster", "ranges overlap", "within the margin"],
)
def test_costs(old: list[float], new: list[float], verdict: str) -> None:
    (change,) = compare(results(old), results(new))
    assert change.verdict == verdict


def test_a_rate_that_falls_is_slower() -> None:
    (change,) = compare(results([90, 100, 110], metric="events_per_s"), results([40, 50, 60], metric="events_per_s"))
    assert change.verdict == "slower"
    assert change.ratio == pytest.approx(2)


def test_a_slower_machine_is_no_slower_engine() -> None:
    (change,) = compare(results([10, 11, 12]), results([20, 22, 24], calibration_ns=2000))
    assert change.verdict == "same"


def with_other_parameters(new: Results) -> None:
    new.workloads[0].points[0].parameters = {"width": 20}


def without_the_point(new: Results) -> None:
    new.workloads[0].points.clear()


def without_the_contestant(new: Results) -> None:
    new.workloads[0].points[0].contestants.clear()


def with_wrong_answers(new: Results) -> None:
    new.workloads[0].points[0].absent = "the engine differs from the oracle"


def with_a_failed_contestant(new: Results) -> None:
    new.workloads[0].points[0].contestants["Whorl"] = ContestantResult(absent="stopped after 60 s")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (with_other_parameters, "other parameters"),
        (without_the_point, "the point is not measured any more"),
        (without_the_contestant, "does not take part any more"),
        (with_wrong_answers, "the engine differs from the oracle"),
        (with_a_failed_contestant, "stopped after 60 s"),
    ],
    ids=lambda one: one.__name__ if callable(one) else "",
)
def test_a_figure_that_has_vanished_is_named(spoil: Callable[[Results], None], reason: str) -> None:
    new = results([20, 21, 22])
    spoil(new)
    (change,) = compare(results([10, 11, 12]), new)
    assert change.verdict == "gone"
    assert reason in change.gone
    assert "1 gone" in table([change])


def test_a_workload_that_only_one_run_has_is_listed_and_not_compared() -> None:
    old, new = results([10, 11, 12]), results([20, 21, 22])
    new.workloads[0].name = "filter"
    assert compare(old, new) == []
    assert "in one file alone: filter, join" in table([], unshared(old, new))


def test_the_table_counts_what_is_slower() -> None:
    shown = table(compare(results([10, 11, 12]), results([20, 21, 22])))
    assert "  1.91  slower   join, W=10: Whorl" in shown
    assert "1 figures compared; 1 slower" in shown


def test_of_a_workload_in_two_files_the_last_counts() -> None:
    first, second = results([10, 11, 12]), results([20, 21, 22])
    other = results([1, 2, 3])
    other.workloads[0].name = "filter"
    whole = merged([first, other, second])
    assert [(one.name, one.points[0].contestants["Whorl"].median) for one in whole.workloads] == [
        ("join", 21),
        ("filter", 2),
    ]
