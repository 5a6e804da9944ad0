"""Options for cutting data into events and reading their times, for data with its own conventions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal, TypeAlias

from whorl import zones
from whorl.cli.faults import CommandError, UsageError
from whorl.cli.times import EPOCH, MILLISECOND, show_time
from whorl.documents import EPOCH_SECONDS

EventPer: TypeAlias = Literal["subject", "graph", "line"]

GENERATED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
_UNITS_MS = {"s": 1_000, "ms": 1}
# `+0:00` and `+2`, written by some instead of `+00:00` and `+02:00`.
_SHORT_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d{2}))?$")


@dataclass(frozen=True, slots=True)
class Stamps:
    """The options about events and times; all are optional."""

    predicate: str | None = None
    zone: tzinfo | None = None
    every_ms: int | None = None
    event_per: EventPer | None = None
    unit_ms: int | None = None
    # Base of relative IRIs in RDF.
    base: str | None = None

    @property
    def are_given(self) -> bool:
        """Whether events and times differ from the format's convention."""
        return self != NO_STAMPS

    def instant(self, value: object) -> int | None:
        """A time in milliseconds, from a number or a dateTime with or without a zone; None if the value is neither."""
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            return round(value * (self.unit_ms or 1))
        return self._moment(value) if isinstance(value, datetime) else self._text(str(value).strip())

    def _text(self, text: str) -> int | None:
        if re.fullmatch(r"-?\d+(\.\d+)?", text):
            return round(float(text) * self.unit_ms) if self.unit_ms else int(float(text))
        try:
            return self._moment(datetime.fromisoformat(_whole_offset(text)))
        except ValueError:
            return None

    def _moment(self, moment: datetime) -> int:
        if moment.tzinfo is None and self.zone is None:
            hint = "add --assume-zone Z, --assume-zone +02:00 or --assume-zone Europe/Paris"
            raise CommandError(f"the time {moment.isoformat()} has no zone", hint=hint)
        zoned = moment.replace(tzinfo=self.zone) if moment.tzinfo is None else moment
        return (zoned - EPOCH) // MILLISECOND


NO_STAMPS = Stamps()


def _whole_offset(text: str) -> str:
    day, _, clock = text.replace(" ", "T", 1).partition("T")
    match = _SHORT_OFFSET.search(clock)
    if match is None:
        return f"{day}T{clock}"
    return f"{day}T{clock[: match.start()]}{match[1]}{match[2]:0>2}:{match[3] or '00'}"


def zone_of(text: str) -> tzinfo:
    """A zone: `Z`, an offset such as `+02:00`, or a name such as `Europe/Paris`."""
    try:
        return zones.zone_of(text)
    except zones.UnknownZoneError as error:
        raise UsageError(str(error), hint=zones.HINT) from None


def seconds_warning(t: int | None) -> str | None:
    """A warning about a time that is most likely in seconds; None for any other."""
    if t is None or t not in EPOCH_SECONDS:
        return None
    as_seconds = show_time(t * 1_000)
    return f"the time {t} is interpreted as milliseconds, which is {show_time(t)}; in seconds it would be {as_seconds}"


def unit_of(text: str) -> int:
    """The unit of numeric times, in milliseconds."""
    if text not in _UNITS_MS:
        raise UsageError(f"{text!r} is not a unit of time", hint="write s or ms")
    return _UNITS_MS[text]
