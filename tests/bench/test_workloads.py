"""The workloads of the repository: each can be run, and together they are the experiments of the papers."""

from __future__ import annotations

import pytest
from whorl_bench.contestants import _KINDS
from whorl_bench.figures import METRICS
from whorl_bench.sources import SOURCES
from whorl_bench.workload import Workload, all_workloads
from whorl_workloads.check import EXAMPLES

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
