"""The engine against the outside oracle, at every instant, on random pairs of a query and its streams.

It sees wrong instants, contents, solutions and differences, over the whole language. It cannot see faults that
pyoxigraph and the engine share in plain SPARQL, nor what `whorl_oracle.exclusions` leaves out. A failing pair is made
small and printed as a case; its seed reproduces it: `WHORL_SEEDS=17 make test-python`, or a range `WHORL_SEEDS=0-5000`.
"""

from __future__ import annotations

import os

import pytest
from whorl_oracle.check import BLOCK, blocks, campaign, checked_all, seed_range

EVERYDAY = 5_000
LONG = 200_000


def long_campaign() -> bool:
    return os.environ.get("WHORL_CAMPAIGN") == "long"


def everyday() -> list[range]:
    chosen = os.environ.get("WHORL_SEEDS")
    return blocks(seed_range(chosen) if chosen is not None else range(EVERYDAY))


@pytest.mark.parametrize("seeds", everyday(), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_engine_and_oracle_agree(seeds: range) -> None:
    tally = checked_all(seeds)
    assert not tally.findings, "\n\n".join(tally.findings)
    if len(seeds) == BLOCK:
        # Most blocks must say something: a generator of empty answers or refused queries would prove nothing.
        assert tally.fruitful >= BLOCK // 4
        assert tally.refused <= BLOCK // 10


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.skipif(
    not long_campaign() or "WHORL_SEEDS" in os.environ,
    reason="runs in make test-all; WHORL_SEEDS asks for other seeds instead",
)
def test_long_campaign() -> None:
    """On all cores; the seeds of every day come first."""
    findings = [finding for _, tally in campaign(range(EVERYDAY, LONG)) for finding in tally.findings]
    assert not findings, f"{len(findings)} findings\n" + "\n\n".join(findings[:20])
