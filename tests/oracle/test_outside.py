"""The engine against the outside oracle, at every instant.

Two campaigns. `test_scenarios` has long, repetitive streams, several queries that come and go, snapshots and every
format; solutions are evaluated by the oracle's own algebra over bags. `test_whole_language` has every expression and
form of SPARQL 1.1 on short streams; pyoxigraph evaluates, and `whorl_oracle.exclusions` says what it is not asked.

A difference is made small and printed with its seed. `WHORL_SEED=17 WHORL_PAIRS=1 make test-python` runs the scenario
of a seed, and more pairs from there on; `WHORL_SEEDS=0-5000` is the range of the whole language. With
`WHORL_CAMPAIGN=long`, `WHORL_PAIRS` is 100,000 unless it is set.
"""

from __future__ import annotations

import os

import pytest
from whorl_oracle import campaign, check

SCENARIOS = 300
LONG_PAIRS = 100_000
LANGUAGE = 2_500
LONG_LANGUAGE = 200_000


def long_campaign() -> bool:
    return os.environ.get("WHORL_CAMPAIGN") == "long"


def first_seed() -> int:
    return int(os.environ.get("WHORL_SEED", "0"))


def everyday_scenarios() -> list[range]:
    """About two thirds as many scenarios as pairs; what was asked for is rounded up."""
    pairs = os.environ.get("WHORL_PAIRS")
    scenarios = SCENARIOS if pairs is None else -(-int(pairs) * 2 // 3)
    return campaign.blocks(range(first_seed(), first_seed() + scenarios))


@pytest.mark.parametrize("seeds", everyday_scenarios(), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
@pytest.mark.skipif(long_campaign(), reason="these are the first of the long campaign")
def test_scenarios(seeds: range) -> None:
    tally = campaign.checked_all(seeds)
    assert not tally.stories, "\n\n".join([tally.text(), *tally.stories])
    if len(seeds) == campaign.BLOCK:
        # Most blocks must emit results: a generator of empty answers or refused queries would prove nothing.
        assert tally.fruitful >= tally.pairs // 3
        assert tally.refused.total() + tally.too_big <= tally.pairs // 5


@pytest.mark.long
@pytest.mark.timeout(14_400)
@pytest.mark.skipif(not long_campaign(), reason="runs in make test-all")
def test_long_scenarios() -> None:
    tally = campaign.campaign(first_seed(), int(os.environ.get("WHORL_PAIRS", LONG_PAIRS)))
    assert not tally.stories, "\n\n".join([tally.text(), *tally.stories[:20]])


def everyday_language() -> list[range]:
    chosen = os.environ.get("WHORL_SEEDS")
    return check.blocks(check.seed_range(chosen) if chosen is not None else range(LANGUAGE))


@pytest.mark.parametrize("seeds", everyday_language(), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_whole_language(seeds: range) -> None:
    tally = check.checked_all(seeds)
    assert not tally.findings, "\n\n".join(tally.findings)
    if len(seeds) == check.BLOCK:
        assert tally.fruitful >= check.BLOCK // 4
        assert tally.refused <= check.BLOCK // 10


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.skipif(
    not long_campaign() or "WHORL_SEEDS" in os.environ,
    reason="runs in make test-all; WHORL_SEEDS asks for other seeds instead",
)
def test_long_whole_language() -> None:
    """On all cores; the seeds of every day come first."""
    findings = [finding for _, tally in check.campaign(range(LANGUAGE, LONG_LANGUAGE)) for finding in tally.findings]
    assert not findings, f"{len(findings)} findings\n" + "\n\n".join(findings[:20])
