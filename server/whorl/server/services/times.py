"""Instants and durations as people and programs write them in requests; inside, both are milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from whorl.server import errors

if TYPE_CHECKING:
    from whorl.server.errors import DomainError

# Years 0001 to 9999, as a dateTime can say them.
MS_MIN = -62_135_596_800_000
MS_MAX = 253_402_300_799_999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})")
_SHORT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*(ms|s|m|h|d)")
_ISO = re.compile(
    r"P(?:(?P<d>\d{1,6})D)?(?:T(?:(?P<h>\d{1,8})H)?(?:(?P<m>\d{1,9})M)?(?:(?P<s>\d{1,12}(?:\.\d{1,3})?)S)?)?"
)
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


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
    """Milliseconds, from a number of them, from `10s`, `500ms`, `2h`, or from an ISO duration such as `PT1M30S`."""
    if isinstance(value, int):
        return value
    text = value.strip()
    if text.isdecimal() and len(text) < 16:
        return int(text)
    short = _SHORT.fullmatch(text.lower())
    if short is not None:
        return round(float(short.group(1)) * _UNIT_MS[short.group(2)])
    iso = _ISO.fullmatch(text)
    parts = {unit: amount for unit, amount in iso.groupdict().items() if amount} if iso is not None else {}
    if not parts:
        raise ValueError(f"'{text[:40]}' is not a duration: write milliseconds, '10s' or 'PT10S'")
    return round(sum(float(amount) * _UNIT_MS[unit] for unit, amount in parts.items()))


def _checked(ms: int, text: str) -> int:
    if not MS_MIN <= ms <= MS_MAX:
        raise _not_an_instant(text)
    return ms


def _not_an_instant(text: str) -> DomainError:
    hint = "write milliseconds since 1970, or a dateTime with a zone such as 2026-01-31T12:00:00Z"
    return errors.InvalidInstantError(f"'{text[:60]}' is not an instant", hint=hint)
