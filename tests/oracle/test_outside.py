"""The engine against the outside oracle, at every instant, on random pairs of a query and its streams.

It sees wrong instants, contents, solutions and differences. It cannot see faults that pyoxigraph and the engine share
in plain SPARQL. A failing pair is made small and printed as a case; its seed reproduces it:
`WHORL_SEEDS=17 make test-python`, or a range `WHORL_SEEDS=0-5000`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from whorl import UnsupportedQueryError
from whorl_oracle.generate import pair
from whorl_oracle.model import Close, Now, Past, Sliding, Step
from whorl_oracle.shrink import case_text, shrink
from whorl_oracle.subject import answers_by_action, difference, expected_by_action

if TYPE_CHECKING:
    from whorl_oracle.generate import Pair

BLOCK = 250
EVERYDAY = 2_000
LONG = 100_000


def blocks() -> list[range]:
    """Seeds in blocks, so that a run shows where it is."""
    chosen = os.environ.get("WHORL_SEEDS")
    if chosen is not None:
        first, _, last = chosen.partition("-")
        seeds = range(int(first), int(last or first) + 1)
    else:
        seeds = range(LONG if os.environ.get("WHORL_CAMPAIGN") == "long" else EVERYDAY)
    return [seeds[start : start + BLOCK] for start in range(0, len(seeds), BLOCK)]


def without_open_ends(one: Pair) -> Pair:
    """The pair without the end of all streams, where the contract leaves open which empty windows still report.

    With several streams the order in which they end decides, a window that slides becomes empty without a last report,
    and a period alone goes on until what came has been shown (see docs/decisions/0003-end-of-stream.md).
    """
    report = one.query.options.report
    kinds = [window.kind for window in one.query.windows]
    steps = any(isinstance(kind, Step | Past) for kind in kinds)
    mixed = steps and any(isinstance(kind, Sliding | Now) for kind in kinds)
    streams = {window.stream for window in one.query.windows}
    period_alone = report.periodic is not None and not report.close and not report.change
    if period_alone or (report.close and ((steps and len(streams) > 1) or mixed)):
        return replace(one, actions=tuple(action for action in one.actions if not isinstance(action, Close)))
    return one


def fault(one: Pair) -> str | None:
    """What is wrong, in words; None when the engine and the oracle agree."""
    expected = expected_by_action(one)
    try:
        found = answers_by_action(one)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        return f"{type(error).__name__}: {error}"
    return difference(one, expected, found)


def still_fails(one: Pair) -> bool:
    """While a pair is made small it may lose its meaning; then it is no finding."""
    try:
        expected_by_action(one)
    except Exception:  # noqa: BLE001
        return False
    return fault(one) is not None


def story(one: Pair) -> str:
    expected = [answer for answers in expected_by_action(one) for answer in answers]
    try:
        found = [answer for answers in answers_by_action(one) for answer in answers]
    except Exception as error:  # noqa: BLE001
        return case_text(one, expected, repr(error))
    return case_text(one, expected, found)


@pytest.mark.parametrize("seeds", blocks(), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_engine_and_oracle_agree(seeds: range) -> None:
    fruitful = 0
    for seed in seeds:
        one = without_open_ends(pair(seed))
        reason = fault(one)
        if reason is not None:
            if reason.startswith(UnsupportedQueryError.__name__):
                continue
            small = shrink(one, still_fails)
            pytest.fail(f"seed {seed}: {reason}\n{story(small)}", pytrace=False)
        fruitful += any(answer.inserted for answers in expected_by_action(one) for answer in answers)
    # Most blocks must say something: a generator of empty answers would prove nothing.
    assert fruitful >= len(seeds) // 5 or len(seeds) < BLOCK
