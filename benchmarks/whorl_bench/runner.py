"""The runner: checks results, warms up, then runs the contestants in rotation.

Each workload has a process that loads its data, and each run is a fork of it. Round 0 warms up and does not count; the
order of the contestants is reversed from round to round, so that no contestant always runs on the warmer machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from whorl_workloads import DataMissingError

from whorl_bench import machine
from whorl_bench.case import AbsentError, Case
from whorl_bench.check import Checked, WrongAnswerError, checked
from whorl_bench.contestants import Contestant, contestant_of
from whorl_bench.figures import METRICS, Figures, spread
from whorl_bench.isolate import RunError, isolated
from whorl_bench.programs import Program
from whorl_bench.results import ContestantResult, PointResult, Results, WorkloadResult
from whorl_bench.sources import case_of
from whorl_bench.workload import Entry, Point, Size, Workload, WorkloadError

Say = Callable[[str], None]
Keep = Callable[[Results], None]


# The output of a program without results: their number, and the sum.
_NOTHING = "0:0"


@dataclass(frozen=True)
class Plan:
    """The extent of the measurement: the size, the number of rounds, and the processor time limit of a run."""

    size: Size = "quick"
    rounds: int = 5
    limit_s: float = 0.5

    @property
    def timeout_s(self) -> float:
        """The wall time limit of a program, which includes generating events and filling windows."""
        return 60.0 if self.size == "quick" else 900.0


def run(workloads: Sequence[Workload], plan: Plan, say: Say, keep: Keep = lambda _: None) -> Results:
    """Measure workloads one after the other; `keep` receives the results so far after each of them."""
    began = time.monotonic()
    results = Results(
        machine=machine.description(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        size=plan.size,
        rounds=plan.rounds,
        limit_s=plan.limit_s,
    )
    for workload in workloads:
        say(f"{workload.name}: {workload.title}")
        results.workloads.append(run_workload(workload, plan, say))
        results.seconds = round(time.monotonic() - began, 1)
        keep(results)
    return results


def run_workload(workload: Workload, plan: Plan, say: Say) -> WorkloadResult:
    """All points of a workload, in a separate process."""
    result = WorkloadResult(
        workload.name, workload.metric, load=machine.load(), calibration_ns=isolated(machine.calibration_ns)
    )
    try:
        result.points = isolated(lambda: list(_points(workload, plan, say)))
    except RunError as error:
        result.points = [PointResult("all", absent=_last_line(error))]
    return result


def _points(workload: Workload, plan: Plan, say: Say) -> Iterator[PointResult]:
    for point in workload.points_of(plan.size):
        result = PointResult(point.label, workload.parameters_of(point, plan.size))
        try:
            _measure(result, workload, plan, _turns(result, workload, point, plan))
        except (DataMissingError, AbsentError, WorkloadError, WrongAnswerError) as error:
            result.absent = _last_line(error)
        say(f"  {point.label}: {summary(workload, result)}")
        yield result


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1][:400]


def summary(workload: Workload, point: PointResult) -> str:
    """A point in one line."""
    if point.absent:
        return point.absent
    unit = METRICS[workload.metric].unit
    return "; ".join(
        f"{name} {one.absent}" if one.absent else f"{name} {one.median:.4g} {unit} [{one.least:.3g}–{one.most:.3g}]"
        for name, one in point.contestants.items()
    )


def _turns(result: PointResult, workload: Workload, point: Point, plan: Plan) -> _Streamed | _Programs:
    """The contestants at a point; the results of those that evaluate events are checked now."""
    if workload.source == "program":
        return _Programs(workload, result.parameters, _beyond(workload, result, plan.size), plan.timeout_s)
    small = case_of(workload.source, workload.check_parameters_of(point, plan.size))
    left_out = _beyond(workload, result, plan.size)
    contestants = _contestants(workload.contestants, left_out)
    result.check = asdict(_checked(small, workload.contestants, contestants, left_out))
    case = case_of(workload.source, result.parameters)
    return _Streamed(case, contestants, left_out, plan.limit_s)


def _contestants(entries: Sequence[Entry], left_out: dict[str, str]) -> dict[str, Contestant]:
    """The adapters of those who take part; one whose library is missing says so."""
    found: dict[str, Contestant] = {}
    for entry in entries:
        try:
            found[entry.name] = contestant_of(entry)
        except ImportError as error:
            left_out[entry.name] = f"{error.name} is not installed"
    return found


def _beyond(workload: Workload, result: PointResult, size: Size) -> dict[str, str]:
    """The contestants that skip this point, and why."""
    reasons = {entry.name: entry.beyond(result.parameters, size) for entry in workload.contestants}
    return {name: reason for name, reason in reasons.items() if reason}


def _checked(
    case: Case, entries: Sequence[Entry], contestants: Mapping[str, Contestant], left_out: dict[str, str]
) -> Checked:
    """The first contestant of the engine's kind is the one that the oracle checks. A peer that differs is left out."""
    first = next((entry.name for entry in entries if entry.kind == "whorl"), None)
    if first is None or first not in contestants:
        raise AbsentError("no contestant is the engine, so nothing checks the answers")
    peers = {entry.name for entry in entries if entry.is_peer}
    found, refused = checked(
        case, contestants[first], {name: one for name, one in contestants.items() if name != first}
    )
    for name, error in refused.items():
        if name not in peers and isinstance(error, WrongAnswerError):
            raise error
        left_out.setdefault(name, _last_line(error))
    return found


@dataclass
class _Streamed:
    """Contestants that evaluate events in a fork of this process."""

    case: Case
    contestants: Mapping[str, Contestant]
    left_out: Mapping[str, str]
    limit_s: float

    def run(self, name: str) -> Figures:
        whole = self._run(name, self.case)
        return whole.beyond(self._run(name, replace(self.case, queries=self.case.minus))) if self.case.minus else whole

    def _run(self, name: str, case: Case) -> Figures:
        return isolated(lambda: self.contestants[name].run(case, self.limit_s))


@dataclass
class _Programs:
    """Contestants that are programs: they generate events from a seed, and print a checksum of their results."""

    workload: Workload
    parameters: Mapping[str, Any]
    left_out: Mapping[str, str]
    timeout_s: float
    programs: dict[str, Program] = field(init=False)

    def __post_init__(self) -> None:
        self.programs = {entry.name: Program(**entry.settings) for entry in self.workload.contestants}

    def run(self, name: str) -> Figures:
        return self.programs[name].run(self.parameters, self.timeout_s)


def _measure(result: PointResult, workload: Workload, plan: Plan, turns: _Streamed | _Programs) -> None:
    """Rounds in turn; whoever cannot take part is left out and says why."""
    found: dict[str, list[Figures]] = {entry.name: [] for entry in workload.contestants}
    absent = dict(turns.left_out)
    for number in range(plan.rounds + 1):
        for entry in workload.contestants if number % 2 == 0 else reversed(workload.contestants):
            if entry.name in absent or not entry.is_in_round(number):
                continue
            try:
                figures = turns.run(entry.name)
            except (AbsentError, RunError) as error:
                absent[entry.name] = _last_line(error)
                continue
            if number > 0:
                found[entry.name].append(figures)
    for name, runs in found.items():
        result.contestants[name] = _summed(workload, runs, absent.get(name, ""))
    _compare_checksums(result, workload, found)


def _summed(workload: Workload, runs: Sequence[Figures], absent: str) -> ContestantResult:
    if not runs:
        return ContestantResult(absent=absent or "no round was measured")
    metric = METRICS[workload.metric]
    value = spread([metric.value(one) for one in runs])
    return ContestantResult(median=value.median, least=value.least, most=value.most, runs=[asdict(one) for one in runs])


def _compare_checksums(result: PointResult, workload: Workload, found: Mapping[str, Sequence[Figures]]) -> None:
    """Programs must agree on the sum of their results, in every round, and on a sum of something.

    A peer that has another sum than ours is left out; ours must be the same.
    """
    sums = {name: {one.checksum for one in runs} for name, runs in found.items() if runs}
    ours = set().union(*(sums.get(entry.name, set()) for entry in workload.contestants if not entry.is_peer))
    if len(ours) > 1:
        _refuse(result, f"the programs disagree on the results: {sums}")
        return
    for entry in workload.contestants:
        if entry.is_peer and ours and sums.get(entry.name, ours) != ours:
            reason = f"its results add up to {', '.join(sorted(sums.pop(entry.name)))}, ours to {', '.join(ours)}"
            result.contestants[entry.name] = ContestantResult(absent=reason)
    if ours == {_NOTHING}:
        _refuse(result, "the check proves nothing: no program has a result")
    elif ours - {""}:
        result.check = {"checksum": ours.pop(), "programs": len(sums)}


def _refuse(result: PointResult, reason: str) -> None:
    result.absent = reason
    result.contestants.clear()
