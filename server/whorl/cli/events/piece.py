"""What readers give: the smallest part of a file that can be sent by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# Where rows are cut: as they come; also where time goes back; or at each instant, as a replay needs it.
Cut: TypeAlias = Literal["size", "order", "instant"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One event, or several that cannot be told apart.

    `t` is the time by which it is replayed, where the file says one. `at` is the time to send beside the body, for
    formats whose events do not carry their own.
    """

    body: bytes
    format: str
    t: int | None = None
    at: int | None = None
    n_events: int = 1
