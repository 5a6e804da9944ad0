"""The results by directory."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl_w3c.run import Verdict

HEAD = ("directory", "tests", "passed", "incremental", "excluded")


def table(verdicts: Iterable[Verdict]) -> str:
    """Directories with how many tests there are, pass, are wholly incremental and are excluded; then which ones."""
    verdicts = list(verdicts)
    by_directory: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_directory[verdict.entry.directory].append(verdict)
    rows = [HEAD, *(_row(name, found) for name, found in by_directory.items()), _row("all", verdicts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [_line(row, widths) for row in rows]
    reasons = [f"excluded: {one.entry.id}: {one.excluded}" for one in verdicts if one.excluded is not None]
    anew = [f"re-evaluated: {one.entry.id}" for one in verdicts if one.incremental is False]
    return "\n".join([*lines, *reasons, *anew])


def _row(name: str, verdicts: list[Verdict]) -> tuple[str, ...]:
    passed = [one for one in verdicts if not one.faults and one.excluded is None]
    measured = [one for one in passed if one.incremental is not None]
    incremental = sum(one.incremental is True for one in measured)
    share = f"{incremental} ({100 * incremental // len(measured)} %)" if measured else "–"
    excluded = sum(one.excluded is not None for one in verdicts)
    return (name, str(len(verdicts)), str(len(passed)), share, str(excluded))


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])
