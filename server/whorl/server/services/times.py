"""Instants and durations in requests; internally, both are milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from whorl import _engine
from whorl.server import errors

if TYPE_CHECKING:
    from whorl.server.errors import DomainError

# Years 0001 to 9999, the range of a dateTime.
MS_MIN = -62_135_596_800_000
MS_MAX = 253_402_300_799_999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})")
# No duration is longer than this; an error does not echo arbitrary input.
_SHOWN_MAX = 60


def parse_instant(text: str) -> int:
    """Milliseconds since 1970, from a number of them or from an ISO dateTime with a zone."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return _checked(int(text), text)
    # A `+` in a query string arrives as a space.
    repaired = re.sub(r" (\d{2}:\d{2})$", r"+\1", text)
    if not _DATE_TIME.fullmatch(repaired):
        raise _not_an_instant(text)
    try:
        return _checked((datetime.fromisoformat(repaired) - _EPOCH) // _MS, text)
    except (ValueError, OverflowError) as error:
        raise _not_an_instant(text) from error


def parse_duration(value: str | int) -> int:
    """Milliseconds, from a number of them or from a duration as queries write it: `10s`, `1m30s`, `PT10S`."""
    if isinstance(value, int):
        return value
    shown = value if len(value) <= _SHOWN_MAX else value[:_SHOWN_MAX] + "…"
    return _engine.parse_duration(shown)


def _checked(ms: int, text: str) -> int:
    if not MS_MIN <= ms <= MS_MAX:
        raise _not_an_instant(text)
    return ms


def _not_an_instant(text: str) -> DomainError:
    hint = "write milliseconds since 1970, or a dateTime with a zone such as 2026-01-31T12:00:00Z"
    return errors.InvalidInstantError(f"'{text[:60]}' is not an instant", hint=hint)
