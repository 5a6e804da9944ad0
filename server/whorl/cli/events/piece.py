"""The smallest part of a file that can be sent separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

# Where rows are cut: anywhere, where time goes back, or at each instant, which a replay needs.
Cut: TypeAlias = Literal["size", "order", "instant"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One event, or several that cannot be separated.

    `t` is its time in a replay, if the file has one. `at` is the time to send beside the body, for formats whose events
    do not carry their own. `source` is the file, and `lines` the numbers that the lines of the body have there; a body
    that was converted has none.
    """

    body: bytes
    format: str
    t: int | None = None
    at: int | None = None
    n_events: int = 1
    source: str = ""
    lines: Sequence[int] = ()


def whole(body: bytes, form: str, at: int | None, source: str) -> Piece:
    """A file as it is."""
    return Piece(body, form, t=at, at=at, source=source, lines=range(1, body.count(b"\n") + 2))
