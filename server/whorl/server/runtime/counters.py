"""Counters of the runtime, for metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

from whorl.server.durations import Durations


@dataclass(slots=True)
class Counters:
    """Counters since the start of the runtime."""

    commands: int = 0
    refused: int = 0
    batches: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    apply_seconds: float = 0.0
    envelopes: int = 0
    snapshots: int = 0
    # Batches that the store could not write.
    store_failures: int = 0
    replayed: int = 0
    recovery_seconds: float = 0.0
    # One observation per batch.
    apply_durations: Durations = field(default_factory=Durations)
    commit_durations: Durations = field(default_factory=Durations)
