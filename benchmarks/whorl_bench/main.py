"""The work of the command, without the command line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from whorl_bench import compare, report, results
from whorl_bench.machine import ROOT
from whorl_bench.results import ResultsError
from whorl_bench.runner import Plan, Say, run
from whorl_bench.workload import WorkloadError, all_workloads, chosen

# Errors in the input of a user: a name, a workload file, a file of results.
InputError = (WorkloadError, ResultsError)

__all__ = ["InputError", "Plan", "compared", "listed", "measured", "reported"]


def listed() -> str:
    """The workloads, one per line."""
    rows = [f"{one.name:28}  {one.paper:8} {one.figure:10} {one.title}".rstrip() for one in all_workloads()]
    return "\n".join(rows)


def measured(names: Sequence[str], plan: Plan, out: Path | None, page: Path | None, say: Say) -> None:
    """Measure, write the results, and optionally the report."""
    workloads = chosen(names)
    path = out or ROOT / "benchmarks/results" / f"{plan.size}-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    run(workloads, plan, say, lambda so_far: results.write(so_far, path))
    say(f"results: {path}")
    if page is not None:
        reported([path], page, say)


def reported(paths: Sequence[Path], page: Path, say: Say) -> None:
    """Write the report of one or several files of results."""
    report.write(results.merged([results.read(path) for path in paths]), all_workloads(), page)
    say(f"report: {page}")


def compared(old: Path, new: Path) -> tuple[str, bool]:
    """The regression view, and whether any figure has become slower or is missing."""
    first, second = results.read(old), results.read(new)
    changes = compare.compare(first, second)
    shown = compare.table(changes, compare.unshared(first, second))
    return shown, any(change.verdict in ("slower", "gone") for change in changes)
