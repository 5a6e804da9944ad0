"""The smallest part of a file that can be sent by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# Where rows are cut: anywhere; where time goes back; or at each instant, as a replay needs it.
Cut: TypeAlias = Literal["size", "order", "instant"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One event, or several that cannot be separated.

    `t` is its time in a replay, if the file has one. `at` is the time to send beside the body, for formats whose events
    do not carry their own.
    """

    body: bytes
    format: str
    t: int | None = None
    at: int | None = None
    n_events: int = 1
