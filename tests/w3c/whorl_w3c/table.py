"""The results by directory."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl_w3c.run import Verdict

HEAD = ("directory", "tests", "passed", "incremental", "excluded")


class Outcome(NamedTuple):
    """What the table needs of a verdict, in types that pytest can send from one process to another."""

    directory: str
    id: str
    passed: bool
    incremental: bool | None
    excluded: str | None


def outcome(verdict: Verdict) -> Outcome:
    """The line of one test."""
    passed = not verdict.faults and verdict.excluded is None
    return Outcome(verdict.entry.directory, verdict.entry.id, passed, verdict.incremental, verdict.excluded)


def table(outcomes: Iterable[Outcome]) -> str:
    """Directories with how many tests there are, pass, are wholly incremental and are excluded; then which ones."""
    outcomes = sorted(outcomes)
    by_directory: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        by_directory[one.directory].append(one)
    rows = [HEAD, *(_row(name, found) for name, found in by_directory.items()), _row("all", outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [_line(row, widths) for row in rows]
    reasons = [f"excluded: {one.id}: {one.excluded}" for one in outcomes if one.excluded is not None]
    re_evaluated = [f"re-evaluated: {one.id}" for one in outcomes if one.incremental is False]
    return "\n".join([*lines, *reasons, *re_evaluated])


def _row(name: str, outcomes: list[Outcome]) -> tuple[str, ...]:
    passed = [one for one in outcomes if one.passed]
    measured = [one for one in passed if one.incremental is not None]
    incremental = sum(one.incremental is True for one in measured)
    share = f"{incremental} ({100 * incremental // len(measured)} %)" if measured else "–"
    excluded = sum(one.excluded is not None for one in outcomes)
    return (name, str(len(outcomes)), str(len(passed)), share, str(excluded))


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])
