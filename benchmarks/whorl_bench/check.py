"""Correctness before figures: a point counts only if all contestants agree on a small run.

The engine is compared with the outside oracle of the tests at every evaluation; every other contestant with the
engine, solution by solution.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from whorl_oracle.compare import same_rows
from whorl_oracle.model import R2s, Report, Tick
from whorl_oracle.run import Row
from whorl_workloads.check import Settings
from whorl_workloads.check import check as compare_with_oracle

from whorl_bench.case import AbsentError, Case
from whorl_bench.contestants import Answers, Contestant
from whorl_bench.isolate import RunError, isolated

# The number of queries of a case that are compared with the oracle; the others differ in a constant.
_QUERIES = 2


class WrongAnswerError(RuntimeError):
    """A contestant has a different result."""


@dataclass(frozen=True)
class Checked:
    """The extent of the comparison: events, and the solutions over them."""

    events: int
    solutions: int


def checked(case: Case, engine: Contestant, others: Mapping[str, Contestant]) -> tuple[Checked, dict[str, Exception]]:
    """Compare all contestants with the engine, and the engine with the oracle.

    Returns the extent, and the contestants that differ or fail, with the reason. A wrong result of the engine is a
    `WrongAnswerError`.
    """
    for query in case.queries[:_QUERIES]:
        try:
            compare_with_oracle(query.text, query.dialect, case.events, case.static, settings_of(case.options))
        except AssertionError as error:
            raise WrongAnswerError(f"the engine differs from the oracle: {error}") from None
    found = engine.answers(case)
    if not found:
        raise WrongAnswerError(f"the check proves nothing: no solution came over {len(case.events)} events")
    refused: dict[str, Exception] = {}
    for name, other in others.items():
        try:
            _compare(name, found, isolated(partial(other.answers, case)))
        except (AbsentError, RunError, WrongAnswerError) as error:
            refused[name] = error
    return Checked(len(case.events), found.total()), refused


def _compare(name: str, ours: Answers, theirs: Answers) -> None:
    """Compare instant by instant; decimals and doubles by value, because a store may normalise them."""
    expected, found = _by_instant(ours), _by_instant(theirs)
    for at in sorted(expected.keys() | found.keys()):
        if not same_rows(expected[at], found[at]):
            missing, extra = list(ours - theirs)[:2], list(theirs - ours)[:2]
            raise WrongAnswerError(
                f"{name} differs from the engine at {at}: it lacks {missing} and has {extra} instead"
            )


def _by_instant(answers: Answers) -> defaultdict[int, list[Row]]:
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for at, row in answers.elements():
        found[at].append(row)
    return found


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Options of a registration as the oracle reads them."""
    chosen: dict[str, Any] = {}
    if "report" in options:
        words: Sequence[str] = str(options["report"]).replace(",", " ").split()
        chosen["report"] = Report(close="close" in words, change="change" in words, nonempty="nonempty" in words)
    if "tick" in options:
        chosen["tick"] = Tick(options["tick"])
    if "r2s" in options:
        chosen["r2s"] = R2s(options["r2s"])
    if "semantics" in options:
        chosen["semantics"] = options["semantics"]
    return Settings(**chosen)
