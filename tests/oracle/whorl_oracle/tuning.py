"""Ways of working that must not change an answer: the engine's options, drawn at random.

The one place where thresholds are passed to the engine. Tiny ones make the rare common: rings grow and shrink with
every mapping, positions wrap, keys and terms are swept at once, and every instant is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

TINY: tuple[tuple[str, int | bool], ...] = (("tiny", True),)
# From the smallest to the engine's own.
THRESHOLDS: dict[str, tuple[int, ...]] = {
    "ring_slots_min": (1, 2, 4, 16),
    "ring_shrink_min": (1, 8, 1024),
    "ring_gaps_max": (0, 1, 4, 16),
    "first_position": (2**32 - 9, 2**32 - 200, 0),
    "arrivals_compared_max": (1, 3, 16),
    "rows_compared_max": (0, 2, 16),
    "new_terms_min": (1, 10, 4096),
    "terms_shrink_min": (1, 16, 1024),
    "removed_triples_min": (1, 8, 1024),
    "bag_chunk_max": (2, 5, 64),
    "regexes_cached_max": (1, 3, 16),
    "keys_moved": (1, 2, 8),
    "keys_shrink_min": (4, 16, 64),
    "text_chunk_max": (32, 64, 500, 65_536),
    "leaves_compared_max": (0, 2, 4),
    "triples_compared_max": (0, 3, 32),
    "predicates_kept_max": (0, 1, 16),
    "changes_kept_max": (0, 1, 5, 4096),
    "row_slots_kept": (0, 3, 1024),
    "buffers_ordered_max": (1, 3, 10),
    "subsets_indexed_max": (0, 1, 6),
}


@dataclass(frozen=True)
class Way:
    """How an engine works."""

    retraction: str | None = None
    hash_seed: int | None = None
    probing_order: int | None = None
    sharing: bool = True
    thresholds: tuple[tuple[str, int | bool], ...] = ()

    def options(self) -> dict[str, Any]:
        """The keywords of `Engine` and of `Engine.restore`."""
        chosen = {"thresholds": dict(self.thresholds)} if self.thresholds else {}
        return {
            "retraction": self.retraction,
            "hash_seed": self.hash_seed,
            "probing_order": self.probing_order,
            "sharing": self.sharing,
            **chosen,
        }


# The plainest: nothing is kept of results, and queries share nothing.
PLAIN = Way(retraction="probe", sharing=False)


def draw(rng: Random) -> Way:
    return Way(
        retraction=rng.choice([None, None, "auto", "tree", "tree", "probe"]),
        hash_seed=rng.choice([None, rng.randrange(1 << 32)]),
        probing_order=rng.choice([None, None, rng.randrange(8)]),
        sharing=rng.random() < 0.8,
        thresholds=draw_thresholds(rng),
    )


def draw_thresholds(rng: Random) -> tuple[tuple[str, int | bool], ...]:
    """Tiny ones, a random mixture, or the engine's own."""
    pick = rng.random()
    if pick < 0.5:
        return TINY
    if pick < 0.8:
        return (*((name, rng.choice(values)) for name, values in THRESHOLDS.items()), ("checks", True))
    return ()
