"""Batches of pieces: as large as allowed, and no earlier than the replay is due."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.cli.faults import CommandError, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.cli.events.piece import Piece

BATCH_BYTES = 256 * 1024
BATCH_EVENTS = 1_000

# Formats whose bodies can be concatenated.
_JOINED = ("nquads", "ndjson")


@dataclass(frozen=True, slots=True)
class Batch:
    """One request."""

    body: bytes
    format: str
    at: int | None
    n_events: int
    # The time of its last event, if it has one.
    t: int | None
    # The pieces in it.
    pieces: tuple[Piece, ...] = ()

    def place(self, line: int, column: int | None) -> Place | None:
        """A line of the body as the user wrote it: with the file and its number there; None for a converted line."""
        for piece in self.pieces:
            if line <= len(piece.lines):
                return self._place(piece, line, column)
            line -= len(piece.lines) or piece.body.count(b"\n")
            if line <= 0:
                break
        return None

    def place_of_event(self, index: int) -> Place | None:
        """The first line of an event; in N-Quads it has the time."""
        for piece in self.pieces:
            if index < piece.n_events:
                return self._place(piece, 1, None) if piece.lines and index == 0 else None
            index -= piece.n_events
        return None

    def source(self) -> str:
        """The file of its first event."""
        return self.pieces[0].source if self.pieces else ""

    @staticmethod
    def _place(piece: Piece, line: int, column: int | None) -> Place:
        lines = piece.body.decode("utf-8", "replace").split("\n")
        text = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
        number = piece.lines[line - 1]
        return Place(piece.source, "\n" * (number - 1) + text, number, column)


def batches(pieces: Iterable[Piece | None], *, in_order: bool = False) -> Iterator[Batch]:
    """Join consecutive pieces into requests, up to a size.

    None stands for a pause: send what has arrived. Events of one request are ingested in time order; with `in_order` a
    batch ends where time goes back, so that disorder in a file means the same as if its events were sent one by one.
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
    """The pieces at their own times, `speed` times as fast as they happened; pieces due together are sent together.

    `clock` returns seconds, `wait` sleeps. A piece older than the one before it (a late one) is due at once.
    """
    if math.isinf(speed):
        yield from batches(pieces)
        return
    yield from batches(_when_due(pieces, speed, clock, wait))


def _when_due(
    pieces: Iterable[Piece | None], speed: float, clock: Callable[[], float], wait: Callable[[float], None]
) -> Iterator[Piece | None]:
    """The pieces, none before it is due; a pause precedes each wait, so that the wait holds nothing back."""
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
            f"cannot replay: an event in {piece.format} has no time",
            hint="use --speed max, or add times: prov:generatedAtTime for each graph, or t for each line or row",
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
    yield Batch(body, pieces[0].format, pieces[0].at, sum(piece.n_events for piece in pieces), last, tuple(pieces))


def event_fault(error: object, batch: Batch) -> CommandError:
    """An error of the engine or the server about a batch: with the user's own line, or at least the file."""
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    message, hint = getattr(error, "message", None) or str(error), getattr(error, "hint", None)
    index = getattr(error, "index", None)
    place = batch.place(line, column) if line is not None else None if index is None else batch.place_of_event(index)
    if place is None and batch.source():
        message = f"{batch.source()}: {message}"
    return CommandError(message, hint=hint, place=place)
