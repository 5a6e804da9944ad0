"""Times and speeds on the command line."""

from __future__ import annotations

import math
import re
import time
from datetime import UTC, datetime, timedelta

from whorl import _engine
from whorl.cli.faults import UsageError
from whorl.errors import DurationError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def time_ms(text: str) -> int:
    """An instant: milliseconds since the epoch, a dateTime with a zone, or `now`."""
    if text == "now":
        return time.time_ns() // 1_000_000
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    instant = date_time_ms(text)
    if instant is None:
        raise UsageError(
            f"{text!r} is not an instant", hint="write milliseconds, now, or a time with a zone: 2026-01-01T12:00:00Z"
        )
    return instant


def date_time_ms(text: str) -> int | None:
    """An `xsd:dateTime` with a zone, in milliseconds; None if the text is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else (moment - EPOCH) // MILLISECOND


def duration_ms(text: str) -> int:
    """A duration as queries write it: `500ms`, `10s`, `1m30s`, `PT10M`, or a bare number of milliseconds."""
    try:
        return _engine.parse_duration(text)
    except DurationError as error:
        raise UsageError(error.message, hint=error.hint) from error


def speed_factor(text: str) -> float:
    """The speed-up: `real` is 1, `x10` is 10, `max` is infinite."""
    named = {"real": 1.0, "max": math.inf}
    if text in named:
        return named[text]
    match = re.fullmatch(r"[x×]?(\d+(?:\.\d+)?)[x×]?", text)
    if match is None or float(match[1]) == 0:
        raise UsageError(f"{text!r} is not a speed", hint="write real, max, or a factor: x10, x0.5")
    return float(match[1])


def show_time(at: int) -> str:
    """An instant for people: UTC, with milliseconds if they are not zero."""
    try:
        moment = EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return str(at)
    return moment.isoformat(timespec="milliseconds" if at % 1_000 else "seconds").replace("+00:00", "Z")
