"""Pieces put together for sending: as large as allowed, and no earlier than a replay wants them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.cli.faults import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.cli.events.piece import Piece

BATCH_BYTES = 256 * 1024
BATCH_EVENTS = 1_000

# Formats in which bodies can be written one after the other.
_JOINED = ("nquads", "ndjson")


@dataclass(frozen=True, slots=True)
class Batch:
    """One request."""

    body: bytes
    format: str
    at: int | None
    n_events: int
    # The time of its last event, where it has one.
    t: int | None


def batches(pieces: Iterable[Piece | None], *, in_order: bool = False) -> Iterator[Batch]:
    """Neighbours that can share a request do, up to a size.

    None stands for a pause: what has come goes now. Events of one request are taken in by their times; with `in_order`
    a batch ends where time goes back, so that disorder in a file means the same as if its events had come one by one.
    """
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        if piece is None:
            yield from _batch(waiting)
            waiting, size = [], 0
            continue
        full = size + len(piece.body) > BATCH_BYTES or len(waiting) >= BATCH_EVENTS
        if waiting and (full or not _fits(waiting[-1], piece) or (in_order and _goes_back(waiting[-1], piece))):
            yield from _batch(waiting)
            waiting, size = [], 0
        waiting.append(piece)
        size += len(piece.body)
    yield from _batch(waiting)


def paced(
    pieces: Iterable[Piece | None], speed: float, clock: Callable[[], float], wait: Callable[[float], None]
) -> Iterator[Batch]:
    """The pieces by their own times, `speed` times as fast as they happened; what is due together goes together.

    `clock` gives seconds, `wait` lets some pass. A piece that is older than the one before it (it was late) is due at
    once.
    """
    if math.isinf(speed):
        yield from batches(pieces)
        return
    yield from batches(_when_due(pieces, speed, clock, wait))


def _when_due(
    pieces: Iterable[Piece | None], speed: float, clock: Callable[[], float], wait: Callable[[float], None]
) -> Iterator[Piece | None]:
    """The pieces, each not before it is due; before a wait there is a pause, so that nothing is held back by it."""
    begun: tuple[float, int] | None = None
    for piece in pieces:
        if piece is not None:
            t = _needed_time(piece)
            begun = (clock(), t) if begun is None else begun
            due_at = begun[0] + (t - begun[1]) / 1_000 / speed
            if due_at > clock():
                yield None
                wait(max(0.0, due_at - clock()))
        yield piece


def _needed_time(piece: Piece) -> int:
    if piece.t is None:
        raise CommandError(
            f"an event in {piece.format} has no time to replay it by",
            hint="use --speed max, or give times: prov:generatedAtTime of each graph, or t of each line or row",
        )
    return piece.t


def _fits(before: Piece, piece: Piece) -> bool:
    return piece.format in _JOINED and piece.format == before.format and piece.at is None and before.at is None


def _goes_back(before: Piece, piece: Piece) -> bool:
    return before.t is not None and piece.t is not None and piece.t < before.t


def _batch(pieces: list[Piece]) -> Iterator[Batch]:
    if not pieces:
        return
    body = b"".join(piece.body for piece in pieces)
    last = next((piece.t for piece in reversed(pieces) if piece.t is not None), None)
    yield Batch(body, pieces[0].format, pieces[0].at, sum(piece.n_events for piece in pieces), last)
