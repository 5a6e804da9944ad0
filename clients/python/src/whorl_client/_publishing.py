"""Publishing without I/O: collects events in batches, each with its number in the producer's sequence.

A batch keeps its sequence number until the server has acknowledged or refused it, so that a batch whose response was
lost can be sent again and is applied once. One batch is in flight at a time: the server sets the producer's pace.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ._exceptions import ProblemError
from ._flow import Server, perform
from ._models import Ack, Event, Time, time_ms
from ._payload import MEDIA_TYPES, Body, body_of, event_line, is_arrow, watermark_line
from ._protocol import send

if TYPE_CHECKING:
    from ._flow import Flow

# Errors of the batch itself: sent again, it would be refused again.
_REFUSED = frozenset({400, 413, 415, 422})


@dataclass(slots=True)
class Outbox:
    """The batches of one producer for one stream.

    `epoch` distinguishes this run of the producer from earlier ones; `next_seq` is the number of the next batch.
    """

    server: Server
    stream: str
    producer: str
    epoch: int
    next_seq: int = 0
    events_max: int = 500
    bytes_max: int = 1024 * 1024
    total: Ack = field(default_factory=lambda: Ack(0))
    _lines: list[bytes] = field(default_factory=list)
    _lines_bytes: int = 0
    _sealed: list[Body] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[!-:<-~]{1,128}", self.producer):
            raise ValueError(f"{self.producer!r} cannot name a producer: up to 128 ASCII characters, no space, no ';'")

    @property
    def waiting(self) -> int:
        """The number of buffered events (a frame counts as one)."""
        return len(self._lines) + len(self._sealed)

    def add(self, data: object, t: Time | None) -> bool:
        """Buffer data; True means that it is time to flush."""
        if is_arrow(data):
            self._seal()
            self._sealed.append(body_of(data))
            return True
        events = data if isinstance(data, list) and all(isinstance(item, Event) for item in data) else [Event(data, t)]
        for line in [event_line(event) for event in events]:
            self._append(line)
        return bool(self._sealed) or len(self._lines) >= self.events_max

    def add_watermark(self, t: Time) -> None:
        """Buffer a watermark, in order with the events."""
        self._append(watermark_line(time_ms(t)))

    def flush(self) -> Flow[Ack]:
        """Send everything buffered. A permanently refused batch is dropped with the exception; the rest stays."""
        self._seal()
        flushed = Ack(0)
        while self._sealed:
            flushed = _sum(flushed, (yield from self._send_first()))
        return flushed

    def _send_first(self) -> Flow[Ack]:
        place = f"{self.producer};{self.epoch};{self.next_seq}"
        try:
            ack = yield from perform(self.server, send(self.stream, self._sealed[0], None, atomic=True, producer=place))
        except ProblemError as error:
            if error.status in _REFUSED:
                del self._sealed[0]  # Never logged, so the next batch can use its number.
            raise
        del self._sealed[0]
        self.next_seq += 1
        self.total = _sum(self.total, ack)
        return ack

    def _append(self, line: bytes) -> None:
        if self._lines and self._lines_bytes + len(line) > self.bytes_max:
            self._seal()
        self._lines.append(line)
        self._lines_bytes += len(line)

    def _seal(self) -> None:
        """Close the open batch: a sealed batch has the same content in every attempt."""
        if self._lines:
            self._sealed.append(Body(b"".join(self._lines), MEDIA_TYPES["ndjson"]))
            self._lines, self._lines_bytes = [], 0


def new_epoch() -> int:
    """An epoch after those of earlier runs of a producer: the current time in milliseconds."""
    return time.time_ns() // 1_000_000


def _sum(first: Ack, second: Ack) -> Ack:
    return replace(
        second,
        accepted=first.accepted + second.accepted,
        late=first.late + second.late,
        duplicates=first.duplicates + second.duplicates,
        ahead=first.ahead + second.ahead,
        warning=second.warning or first.warning,
    )
