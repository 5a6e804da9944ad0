"""Workloads as data: the stream, the query, the contestants, and the figures of the paper.

A file has a title, a metric, a source with its parameters, the contestants and the points that are measured. The
parameters of a point are those of the file, then of the size (`[quick]` or `[full]`), then its own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Parameters: TypeAlias = Mapping[str, Any]
Size: TypeAlias = Literal["quick", "full"]

WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
_KEYS = {
    *("title", "paper", "figure", "about", "shape", "difference", "gap", "metric", "axis", "source", "profile"),
    *("parameters", "quick", "full", "check", "contestants", "points", "goals"),
}


# What an entry says beside the settings of its adapter.
_OF_ENTRY = ("limit", "quick_limit", "rounds")


class WorkloadError(ValueError):
    """A workload file that cannot be used."""


@dataclass(frozen=True)
class Entry:
    """A contestant: its name in tables, its kind, its settings, and whether it is a baseline or a peer.

    `limit` says how far it takes part, the largest value of a parameter that it is asked for; `quick_limit` adds to it
    in the quick size. `rounds` is for a peer that takes long to start: it takes part in so many rounds, and not in the
    one that warms up.
    """

    name: str
    kind: str
    settings: Parameters = field(default_factory=dict)
    is_peer: bool = False
    limit: Mapping[str, float] = field(default_factory=dict)
    quick_limit: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 0

    def is_in_round(self, number: int) -> bool:
        """Whether it takes part; round 0 warms up."""
        return not self.rounds or 0 < number <= self.rounds

    def beyond(self, parameters: Parameters, size: Size) -> str:
        """Why it skips this point, or None."""
        limit = {**self.limit, **(self.quick_limit if size == "quick" else {})}
        over = [f"{key} = {most:,g}" for key, most in limit.items() if parameters.get(key, 0) > most]
        return f"not run beyond {', '.join(over)}" if over else ""


@dataclass(frozen=True)
class Point:
    """One measured point: a row of a table, a position on an axis."""

    label: str
    parameters: Parameters = field(default_factory=dict)
    paper: Mapping[str, float] = field(default_factory=dict)
    only: Size | None = None
    check: Parameters = field(default_factory=dict)


@dataclass(frozen=True)
class Goal:
    """A goal of the first contestant: a ratio to others over some points, or an exponent of its growth.

    `against` is `best` or `worst`, point by point among the others, or the name of one. The ratio of costs is to be at
    most `most`, or its inverse at least `least`.
    """

    text: str
    points: Sequence[str] = ()
    against: str = ""
    most: float | None = None
    least: float | None = None
    exponent: float | None = None


@dataclass(frozen=True)
class Workload:
    """A workload file."""

    name: str
    title: str
    metric: str
    source: str
    contestants: Sequence[Entry]
    points: Sequence[Point]
    paper: str = ""
    figure: str = ""
    about: str = ""
    shape: str = ""
    # Why our growth differs from the paper's, if it does.
    difference: str = ""
    gap: str = ""
    axis: str = ""
    profile: str = ""
    parameters: Parameters = field(default_factory=dict)
    sizes: Mapping[str, Parameters] = field(default_factory=dict)
    check: Parameters = field(default_factory=dict)
    goals: Sequence[Goal] = ()

    def points_of(self, size: Size) -> list[Point]:
        """The points that this size measures."""
        return [point for point in self.points if point.only in (None, size)]

    def parameters_of(self, point: Point, size: Size) -> dict[str, Any]:
        """All parameters of a point."""
        return {**self.parameters, **self.sizes.get(size, {}), **point.parameters}

    def check_parameters_of(self, point: Point, size: Size) -> dict[str, Any]:
        """The parameters of the small run whose answers are checked."""
        return {**self.parameters_of(point, size), "warm": 0, **self.check, **point.check}


def read(path: Path) -> Workload:
    """One file; its name is that of the workload."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise WorkloadError(f"{path.name}: {error}") from None
    if unknown := sorted(document.keys() - _KEYS):
        raise WorkloadError(f"{path.name}: unknown keys: {', '.join(unknown)}")
    try:
        return _workload(path.stem, document)
    except KeyError as error:
        raise WorkloadError(f"{path.name}: {error.args[0]!r} is missing") from None


def _workload(name: str, document: dict[str, Any]) -> Workload:
    texts = ("paper", "figure", "about", "shape", "difference", "gap", "axis", "profile")
    return Workload(
        name=name,
        title=document["title"],
        metric=document["metric"],
        source=document["source"],
        contestants=tuple(_entry(one) for one in document.get("contestants", ())),
        points=tuple(_point(one) for one in document.get("points", ())),
        parameters=document.get("parameters", {}),
        sizes={size: document.get(size, {}) for size in ("quick", "full")},
        check=document.get("check", {}),
        goals=tuple(Goal(**one) for one in document.get("goals", ())),
        **{key: document.get(key, "") for key in texts},
    )


def _entry(document: dict[str, Any]) -> Entry:
    settings = {key: value for key, value in document.items() if key not in ("name", "kind", "peer", *_OF_ENTRY)}
    given = {key: document[key] for key in _OF_ENTRY if key in document}
    return Entry(document["name"], document["kind"], settings, document.get("peer", False), **given)


def _point(document: dict[str, Any]) -> Point:
    own = {key: value for key, value in document.items() if key not in ("label", "paper", "only", "check")}
    only, check = document.get("only"), document.get("check", {})
    return Point(str(document["label"]), own, document.get("paper", {}), only, check)


def all_workloads(directory: Path = WORKLOADS) -> list[Workload]:
    """Every workload of a directory, in the order of the file names: figure 9 comes before figure 10."""
    return [read(path) for path in sorted(directory.glob("*.toml"), key=_place)]


def _place(path: Path) -> list[tuple[int, str]]:
    parts = re.findall(r"\d+|\D+", path.stem)
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def chosen(names: Sequence[str], directory: Path = WORKLOADS) -> list[Workload]:
    """The workloads with these names, or with names that begin so; all of them for no names."""
    known = all_workloads(directory)
    found = [workload for workload in known if not names or any(workload.name.startswith(name) for name in names)]
    for name in names:
        if not any(workload.name.startswith(name) for workload in known):
            raise WorkloadError(f"there is no workload {name!r}; `whorl bench --list` shows them")
    return found
