"""Time zones by name or offset, and the table of offsets in which the engine reads times without a zone."""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

HINT = "write Z, an offset such as +02:00, or a name such as Europe/Paris"

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are what this module is about
_MS = timedelta(milliseconds=1)
_MINUTE = timedelta(minutes=1)
# Zones were introduced in the 19th century; rules for the far future are unknown.
_FIRST, _LAST = datetime(1850, 1, 1), datetime(2150, 1, 1)  # noqa: DTZ001 - as above
_STEP = timedelta(days=7)
_OFFSET_MAX = timedelta(hours=14)


class UnknownZoneError(ValueError):
    """The text is not a time zone."""


def zone_of(text: str) -> tzinfo:
    """A zone: `Z`, an offset such as `+02:00`, or a name such as `Europe/Paris`.

    >>> zone_of("+02:00")
    datetime.timezone(datetime.timedelta(seconds=7200))
    """
    if text in {"Z", "UTC"}:
        return UTC
    match = re.fullmatch(r"([+-])(\d{1,2}):?([0-5]\d)?", text, re.ASCII)
    if match is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if offset <= _OFFSET_MAX:
            return timezone(-offset if match[1] == "-" else offset)
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnknownZoneError(f"{text[:60]!r} is not a time zone") from None


@functools.lru_cache(maxsize=64)
def offsets_of(text: str) -> tuple[tuple[int, int], ...]:
    """The offsets from UTC of a zone, each with the local time from which on it holds; in milliseconds.

    A local time that occurs twice is the first of the two, and one that is skipped is read with the offset before the
    change, as `datetime` does it.

    >>> offsets_of("+02:00")
    ((-3786825600000, 7200000),)
    """
    zone = zone_of(text)
    found = [(_FIRST, _offset(zone, _FIRST))]
    if isinstance(zone, timezone):
        return _in_ms(found)
    at = _FIRST
    while at < _LAST:
        then = at + _STEP
        # Two changes within a week that cancel each other out are skipped; the database has none after 1970.
        while (offset := _offset(zone, then)) != found[-1][1]:
            change = _first_change(zone, at, then)
            found.append((change, _offset(zone, change)))
            at = change
            if found[-1][1] == offset:
                break
        at = then
    return _in_ms(found)


def _first_change(zone: tzinfo, before: datetime, after: datetime) -> datetime:
    """The first minute after `before` with another offset, if there is one change up to `after`."""
    old = _offset(zone, before)
    while after - before > _MINUTE:
        middle = before + ((after - before) // 2 // _MINUTE or 1) * _MINUTE
        if _offset(zone, middle) == old:
            before = middle
        else:
            after = middle
    return after


def _offset(zone: tzinfo, local: datetime) -> timedelta:
    offset = zone.utcoffset(local)
    if offset is None:
        raise UnknownZoneError("the zone has no offset from UTC")
    return offset


def _in_ms(found: list[tuple[datetime, timedelta]]) -> tuple[tuple[int, int], ...]:
    return tuple(((local - _EPOCH) // _MS, offset // _MS) for local, offset in found)
