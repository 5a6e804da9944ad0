"""Files of events by their names: `readings.nq.gz` is N-Quads, compressed; `-` is standard input."""

from __future__ import annotations

import gzip
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from whorl.cli.events import ndjson, nquads, trig
from whorl.cli.events.piece import Cut, Piece
from whorl.cli.faults import CommandError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = {
    ".ttl": "turtle",
    ".turtle": "turtle",
    ".nt": "ntriples",
    ".nq": "nquads",
    ".trig": "trig",
    ".jsonld": "jsonld",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".csv": "csv",
    ".json": "json",
}
ROWS = ("csv", "json")


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are to be read."""

    format: str | None = None
    at: int | None = None
    has_mapping: bool = False
    time_column: str = "t"
    rows_cut: Cut = "size"


def format_of(name: str, reading: Reading) -> str:
    """The format: the one that was asked for, or the one its name says."""
    if reading.format is not None:
        if reading.format not in FORMATS.values():
            raise UsageError(f"unknown format {reading.format!r}", hint=f"formats: {', '.join(_names())}")
        return reading.format
    if name == "-":
        raise UsageError("standard input has no name to tell its format by", hint="add --input-format, such as nquads")
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(
            f"cannot tell the format of {name!r} by its name",
            hint=f"add --input-format (one of {', '.join(_names())}), or rename it",
        )
    return FORMATS[suffix]


def _names() -> list[str]:
    return list(dict.fromkeys(FORMATS.values()))


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked; of standard input for `-`."""
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with gzip.open(name) if name.endswith(".gz") else Path(name).open("rb") as file:
            yield cast("BinaryIO", file)
    except (OSError, EOFError) as error:
        if isinstance(error, BrokenPipeError | ConnectionError):
            raise
        raise CommandError(f"cannot read {name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_pieces(name: str, reading: Reading) -> Iterator[Piece]:
    """The events of one file, in its order."""
    form = format_of(name, reading)
    if form in ROWS and not reading.has_mapping:
        raise UsageError(f"{name!r} holds rows, and rows need a mapping", hint="add --mapping FILE.rq (a CONSTRUCT)")
    with opened(name) as file:
        yield from _pieces(name, form, file, reading)


def _pieces(name: str, form: str, file: BinaryIO, reading: Reading) -> Iterator[Piece]:
    if form == "nquads":
        return nquads.read(name, file, reading.at)
    if form == "trig":
        return trig.read(name, file, reading.at)
    if form == "ndjson" and not reading.has_mapping:
        return ndjson.read(name, file)
    if form in ("csv", "json", "arrow", "ndjson"):
        from whorl.cli.events import rows

        return rows.read(name, form, file, time_column=reading.time_column, cut=reading.rows_cut)
    return iter([Piece(file.read(), form, t=reading.at, at=reading.at)])
