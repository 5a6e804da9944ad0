"""Every parser against changed inputs of a kept corpus: refused or accepted, never a panic or a stray exception.

The long form fuzzes each target for half an hour, or the share of it that WHORL_CAMPAIGN_SHARE says.
"""

from __future__ import annotations

import pytest
from campaign_size import sized
from fuzzer import CORPUS, TARGETS, fuzz, outcome, seeds


def test_every_target_has_a_corpus() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= TARGETS.keys()
    assert all(seeds(target) for target in TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_changed_inputs_are_accepted_or_refused(target: str) -> None:
    for data in seeds(target):
        outcome(target, data)
    done, outcomes = fuzz(target, seed=1, rounds=300)
    assert done == 300
    # A target that refuses everything in the same words is not reached.
    assert outcomes > 3


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", TARGETS)
def test_changed_inputs_are_accepted_or_refused_for_long(target: str) -> None:
    print(target, *fuzz(target, seed=2, seconds=sized(1800)))  # noqa: T201 - figures
