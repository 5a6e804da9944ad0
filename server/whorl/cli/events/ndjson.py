"""NDJSON: one event per line, sent unchanged; `t`, if present, is its time in a replay."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl.cli.events.piece import Piece
from whorl.cli.faults import CommandError, Place
from whorl.cli.times import date_time_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def read(name: str, lines: Iterable[bytes]) -> Iterator[Piece]:
    """The non-empty lines."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            event = _object(name, number, line)
            control = "watermark" in event or "end" in event
            body, n_events = line.rstrip(b"\r\n") + b"\n", 0 if control else 1
            yield Piece(body, "ndjson", t=_time(event), n_events=n_events, source=name, lines=(number,))


def _object(name: str, number: int, line: bytes) -> dict[str, object]:
    text = line.decode("utf-8", "replace").rstrip()
    try:
        event = json.loads(text)
    except ValueError as error:
        place = Place(name, "\n" * (number - 1) + text, number, getattr(error, "colno", None))
        raise CommandError(f"this line is not JSON: {getattr(error, 'msg', error)}", place=place) from None
    if not isinstance(event, dict):
        place = Place(name, "\n" * (number - 1) + text, number)
        raise CommandError("a line of NDJSON must be an object", place=place, hint='such as {"t": 1000, "event": {…}}')
    return event


def _time(event: dict[str, object]) -> int | None:
    t = event.get("t", event.get("watermark"))
    if isinstance(t, bool):
        return None
    return t if isinstance(t, int) else date_time_ms(t) if isinstance(t, str) else None
