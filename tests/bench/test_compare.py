"""The regression view: slower beyond the spread is seen, noise is not."""

from __future__ import annotations

import pytest
from whorl_bench.compare import compare, table
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


def test_other_parameters_are_not_compared() -> None:
    new = results([20, 21, 22])
    new.workloads[0].points[0].parameters = {"width": 20}
    assert compare(results([10, 11, 12]), new) == []


def test_the_table_counts_what_is_slower() -> None:
    shown = table(compare(results([10, 11, 12]), results([20, 21, 22])))
    assert "  1.91  slower   join, W=10: Whorl" in shown
    assert "1 figures in both files; 1 slower" in shown


def test_of_a_workload_in_two_files_the_last_counts() -> None:
    first, second = results([10, 11, 12]), results([20, 21, 22])
    other = results([1, 2, 3])
    other.workloads[0].name = "filter"
    whole = merged([first, other, second])
    assert [(one.name, one.points[0].contestants["Whorl"].median) for one in whole.workloads] == [
        ("join", 21),
        ("filter", 2),
    ]
