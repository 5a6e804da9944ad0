"""The workloads of the repository: each can be run, and together they are the experiments of the papers."""

from __future__ import annotations

import pytest
from whorl_bench.contestants import _KINDS, contestant_of
from whorl_bench.figures import METRICS
from whorl_bench.sources import SOURCES, case_of
from whorl_bench.workload import Workload, all_workloads
from whorl_workloads import is_long
from whorl_workloads.check import EXAMPLES, loaded

WORKLOADS = all_workloads()
EXPERIMENTS = {
    "003": {"Table 2", "Fig. 4", "Fig. 5"},
    "000/002": {f"Fig. {n}" for n in (9, 10, 11, 12, "13a", "13b", "13c", "13d")} | {"Table 1", "Table 2"},
    "001": {"Table 1", "§4"},
    "004": {f"Fig. {n}" for n in range(6, 16)} | {"Table II"},
}


def test_every_experiment_of_the_papers_has_a_workload() -> None:
    found: dict[str, set[str]] = {paper: set() for paper in EXPERIMENTS}
    for workload in WORKLOADS:
        if workload.paper:
            found[workload.paper].add(workload.figure)
    assert found == EXPERIMENTS
    assert sum(len(figures) for figures in found.values()) == 26


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_a_workload_can_be_run(workload: Workload) -> None:
    assert workload.metric in METRICS
    assert workload.source in {*SOURCES, "program"}
    kinds = {"program"} if workload.source == "program" else set(_KINDS)
    assert {entry.kind for entry in workload.contestants} <= kinds
    assert workload.contestants
    assert workload.points
    for point in workload.points:
        query = workload.parameters_of(point, "full").get("query")
        assert query is None or (EXAMPLES / query).exists()
    assert len({point.label for point in workload.points}) == len(workload.points)


STREAMED = [one for one in WORKLOADS if one.source != "program"]
# Events of thousands of triples; a round of all others measures at least as many events as make a median.
LARGE_EVENTS = {f"cgpm-fig{n}" for n in range(8, 13)}


@pytest.mark.parametrize("workload", STREAMED, ids=lambda one: one.name)
def test_every_quick_point_measures_events_and_has_something_to_check(workload: Workload) -> None:
    """The first point; every one of them in long campaigns. A check without solutions proves nothing."""
    engine = next(contestant_of(entry) for entry in workload.contestants if entry.kind == "whorl")
    for point in workload.points_of("quick")[: None if is_long() else 1]:
        case = loaded(case_of, workload.source, workload.parameters_of(point, "quick"))
        assert len(case.measured) >= (5 if workload.name in LARGE_EVENTS else 40)
        small = case_of(workload.source, workload.check_parameters_of(point, "quick"))
        assert engine.answers(small).total() > 0, point.label
