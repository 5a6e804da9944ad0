"""Instants and durations as callers pass them; the engine counts milliseconds since the Unix epoch."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from whorl import _engine
from whorl.errors import TimestampError

if TYPE_CHECKING:
    from whorl.options import Time

Duration: TypeAlias = int | str | timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def time_ms(t: Time) -> int:
    """An instant in milliseconds.

    A datetime needs a time zone. A float is refused: `time.time()` is in seconds.
    """
    if isinstance(t, datetime):
        if t.tzinfo is None:
            raise TimestampError(
                "a datetime without a time zone is not an instant",
                code="timestamp.naive",
                hint="add tzinfo=timezone.utc",
            )
        return (t - _EPOCH) // _MILLISECOND
    try:
        return operator.index(t)
    except TypeError:
        raise TypeError(
            f"a time is an int, the milliseconds since 1970, or a datetime with a time zone, not {t!r}; "
            "write int(time.time() * 1000) for now, and datetime.fromisoformat(…) for text"
        ) from None


def duration_ms(duration: Duration) -> int:
    """A duration in milliseconds; text is in the grammar of queries.

    >>> duration_ms("1m30s"), duration_ms("PT10S"), duration_ms(timedelta(seconds=2)), duration_ms(500)
    (90000, 10000, 2000, 500)
    """
    if isinstance(duration, str):
        return _engine.parse_duration(duration)
    return duration // _MILLISECOND if isinstance(duration, timedelta) else int(duration)
