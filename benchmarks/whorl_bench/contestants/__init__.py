"""The contestants: the engine with its options, baselines, other engines, and separate programs.

Each is one small adapter. `run` measures a case; `answers` returns its results on a small one, for comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from whorl_bench.case import Case
from whorl_bench.figures import Figures
from whorl_bench.workload import Entry

# New solutions, each with its instant; terms as N-Triples.
Answers: TypeAlias = Counter[tuple[int, tuple[str | None, ...]]]


class Contestant(Protocol):
    """An adapter."""

    def run(self, case: Case, limit_s: float) -> Figures:
        """Evaluate the measured events, or as many as the time allows."""

    def answers(self, case: Case) -> Answers:
        """All new solutions over every event of the case."""


def contestant_of(entry: Entry) -> Contestant:
    """The adapter of an entry; `AbsentError` if its requirements are missing."""
    try:
        kind = _KINDS[entry.kind]
    except KeyError:
        raise ValueError(f"no contestant is of the kind {entry.kind!r}") from None
    return kind(**entry.settings)


def _whorl(**settings: Any) -> Contestant:
    from whorl_bench.contestants.embedded import Embedded

    return Embedded(**settings)


def _reevaluation(**settings: Any) -> Contestant:
    from whorl_bench.contestants.reevaluation import Reevaluation

    return Reevaluation(**settings)


def _delta(**settings: Any) -> Contestant:
    from whorl_bench.contestants.delta import DeltaQueries

    return DeltaQueries(**settings)


def _outside(**settings: Any) -> Contestant:
    from whorl_bench.contestants.outside import Outside

    return Outside(**settings)


# Adapters are imported on demand, because each needs a different library.
_KINDS: dict[str, Callable[..., Contestant]] = {
    "whorl": _whorl,
    "re-evaluation": _reevaluation,
    "delta": _delta,
    "outside": _outside,
}
