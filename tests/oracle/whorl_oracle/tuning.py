"""Ways of working that must not change an answer: the engine's options, drawn at random.

The one place where thresholds are passed to the engine: rings, purges and sweeps that are tiny make the rare common.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from whorl import Engine

# The thresholds that a campaign draws, with the values it draws from; None leaves the engine's own.
THRESHOLDS: dict[str, tuple[int, ...]] = {}


@dataclass(frozen=True)
class Way:
    """How an engine works."""

    retraction: str | None = None
    hash_seed: int | None = None
    probing_order: int | None = None
    sharing: bool = True
    thresholds: tuple[tuple[str, int], ...] = field(default=())

    def options(self) -> dict[str, Any]:
        """The keywords of `Engine` and of `Engine.restore`."""
        found: dict[str, Any] = {
            "retraction": self.retraction,
            "hash_seed": self.hash_seed,
            "probing_order": self.probing_order,
            "sharing": self.sharing,
        }
        if self.thresholds and takes_thresholds():
            found["thresholds"] = dict(self.thresholds)
        return found


PLAIN = Way(retraction="probe", sharing=False)


@cache
def takes_thresholds() -> bool:
    return "thresholds" in inspect.signature(Engine.__init__).parameters


def draw(rng: Random) -> Way:
    return Way(
        retraction=rng.choice([None, None, "auto", "tree", "tree", "probe"]),
        hash_seed=rng.choice([None, rng.randrange(1 << 32)]),
        probing_order=rng.choice([None, None, rng.randrange(8)]),
        sharing=rng.random() < 0.8,
        thresholds=draw_thresholds(rng),
    )


def draw_thresholds(rng: Random) -> tuple[tuple[str, int], ...]:
    """Tiny ones mostly, a random mixture sometimes, the real ones sometimes."""
    pick = rng.random()
    if pick < 0.2:
        return ()
    tiny = pick < 0.7
    return tuple((name, values[0] if tiny else rng.choice(values)) for name, values in THRESHOLDS.items())
