"""Results as JSON: everything that a report or a comparison needs, and the single rounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

_FORMAT = 1


class ResultsError(ValueError):
    """A file without results, or with results in another format."""


@dataclass
class ContestantResult:
    """The rounds of a contestant, and their median by the metric of the workload; or why there are none."""

    median: float = 0.0
    least: float = 0.0
    most: float = 0.0
    runs: list[dict[str, Any]] = field(default_factory=list)
    absent: str = ""

    def delay_ms(self, key: str) -> float:
        """One of the delays, as the mean over the rounds."""
        found = [float(run["delays"].get(key, 0.0)) for run in self.runs]
        return sum(found) / max(len(found), 1) / 1e6


@dataclass
class PointResult:
    """One point."""

    label: str
    parameters: dict[str, Any] = field(default_factory=dict)
    contestants: dict[str, ContestantResult] = field(default_factory=dict)
    check: dict[str, Any] = field(default_factory=dict)
    absent: str = ""


@dataclass
class WorkloadResult:
    """One workload, with the load and the speed of the machine when it began."""

    name: str
    metric: str
    load: float = 0.0
    calibration_ns: int = 0
    points: list[PointResult] = field(default_factory=list)


@dataclass
class Results:
    """One run of the command."""

    machine: dict[str, Any]
    at: str
    size: str
    rounds: int
    limit_s: float = 0.0
    seconds: float = 0.0
    # The runs that this one was merged from, if any: time, commit, profile of the engine, limit, load.
    parts: list[dict[str, Any]] = field(default_factory=list)
    workloads: list[WorkloadResult] = field(default_factory=list)

    def of(self, name: str) -> WorkloadResult | None:
        """The workload of that name."""
        return next((one for one in self.workloads if one.name == name), None)


def write(results: Results, path: Path) -> None:
    """The content of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"format": _FORMAT, **asdict(results)}
    path.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """The results in the content of a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise ResultsError(f"{path} holds no results: {error}") from None
    if not isinstance(document, dict) or document.pop("format", None) != _FORMAT:
        raise ResultsError(f"{path} holds no results of format {_FORMAT}")
    workloads = [_workload(one) for one in document.pop("workloads")]
    return Results(**document, workloads=workloads)


def merged(parts: Sequence[Results]) -> Results:
    """Runs of different workloads as one; the last one of a workload counts. The rest is from the first."""
    found = {one.name: one for part in parts for one in part.workloads}
    at = parts[0].at if len(parts) == 1 else f"{parts[0].at} and {len(parts) - 1} more runs"
    whole = replace(parts[0], at=at, workloads=list(found.values()))
    if len(parts) > 1:
        whole.parts = [_noted(part) for part in parts]
    return replace(whole, seconds=sum(part.seconds for part in parts), rounds=min(part.rounds for part in parts))


def _noted(part: Results) -> dict[str, Any]:
    loads = [one.load for one in part.workloads] or [0.0]
    known = {key: part.machine.get(key, "") for key in ("processor", "commit", "engine")}
    names = [one.name for one in part.workloads]
    return {"at": part.at, **known, "limit_s": part.limit_s, "load": [min(loads), max(loads)], "workloads": names}


def _workload(document: dict[str, Any]) -> WorkloadResult:
    points = [_point(one) for one in document.pop("points")]
    return WorkloadResult(**document, points=points)


def _point(document: dict[str, Any]) -> PointResult:
    contestants = {name: ContestantResult(**one) for name, one in document.pop("contestants").items()}
    return PointResult(**document, contestants=contestants)
