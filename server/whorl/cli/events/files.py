"""Event files by name: `readings.nq.gz` is compressed N-Quads; `-` is standard input.

`streams.tar.gz:*.csv` names files inside an archive.
"""

from __future__ import annotations

import gzip
import io
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from whorl.cli.events import ndjson, nquads, rdf, trig
from whorl.cli.events.archives import in_archive, members_of
from whorl.cli.events.piece import Cut, Piece, whole
from whorl.cli.events.stamps import NO_STAMPS, Stamps
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
    ".n3": "turtle",
}
ROWS = ("csv", "json")


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read files."""

    format: str | None = None
    at: int | None = None
    has_mapping: bool = False
    time_column: str = "t"
    rows_cut: Cut = "size"
    stamps: Stamps = NO_STAMPS
    # Column names of CSV files without a header.
    columns: tuple[str, ...] | None = None
    # Whether to sort all events by time first.
    in_order: bool = False


def format_of(name: str, reading: Reading) -> str:
    """The requested format, or the one that the file name implies."""
    if reading.format is not None:
        if reading.format not in FORMATS.values():
            raise UsageError(f"unknown format {reading.format!r}", hint=f"formats: {', '.join(_names())}")
        return reading.format
    if name == "-":
        raise UsageError("the format of standard input is unknown", hint="add --input-format, such as nquads")
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(
            f"cannot tell the format of {name!r} from its name",
            hint=f"add --input-format (one of {', '.join(_names())}), or rename it",
        )
    return FORMATS[suffix]


def _names() -> list[str]:
    return list(dict.fromkeys(FORMATS.values()))


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, or of standard input for `-`."""
    if name == "-":
        yield sys.stdin.buffer
        return
    archive, member = in_archive(name)
    if member is not None:
        yield io.BytesIO(members_of(archive)[member])
        return
    try:
        with gzip.open(name) if name.endswith(".gz") else Path(name).open("rb") as file:
            yield cast("BinaryIO", file)
    except (OSError, EOFError) as error:
        if isinstance(error, BrokenPipeError | ConnectionError):
            raise
        raise CommandError(f"cannot read {name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_pieces(name: str, reading: Reading) -> Iterator[Piece]:
    """The events of one file, in file order."""
    form = format_of(name, reading)
    if form in ROWS and not reading.has_mapping:
        raise UsageError(f"{name!r} contains rows, which need a mapping", hint="add --mapping FILE.rq (a CONSTRUCT)")
    with opened(name) as file:
        yield from _pieces(name, form, file, reading)


def pieces_in_order(names: list[str], reading: Reading) -> Iterator[Piece]:
    """The events of several files in time order; reads all of them into memory."""
    forms = [format_of(name, reading) for name in names]
    if reading.has_mapping:
        from whorl.cli.events import rows

        with ExitStack() as stack:
            files = [(name, form, stack.enter_context(opened(name))) for name, form in zip(names, forms, strict=True)]
            yield from rows.read_in_order(files, reading)
        return
    pieces = [piece for name in names for piece in read_pieces(name, reading)]
    yield from sorted(pieces, key=lambda piece: -(2**63) if piece.t is None else piece.t)


def _pieces(name: str, form: str, file: BinaryIO, reading: Reading) -> Iterator[Piece]:
    if reading.stamps.are_given and form in rdf.READ_HERE:
        return rdf.read(name, form, file, reading.at, reading.stamps)
    if form == "nquads":
        return nquads.read(name, file, reading.at)
    if form == "trig":
        return trig.read(name, file, reading.at)
    if form == "ndjson" and not reading.has_mapping:
        return ndjson.read(name, file)
    if form in ("csv", "json", "arrow", "ndjson"):
        from whorl.cli.events import rows

        return rows.read(name, form, file, reading)
    return iter([whole(file.read(), form, reading.at, name)])
