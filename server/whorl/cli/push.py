"""`whorl push`: push event files to a stream of a server."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from whorl.cli.counts import counted
from whorl.cli.events import (
    Batch,
    Cut,
    Piece,
    Reading,
    event_fault,
    expanded,
    paced,
    pieces_in_order,
    read_pieces,
    with_pauses,
)
from whorl.cli.faults import CommandError
from whorl.cli.options import (
    DEFAULT_URL,
    NO_TIME,
    AssumeZone,
    Base,
    Columns,
    EventTime,
    Every,
    InputFormat,
    Mapping,
    Per,
    Sort,
    TimeColumn,
    TimestampPredicate,
    TimeUnit,
    Token,
    Url,
    columns_of,
    stamps_of,
)
from whorl.cli.remote import Sender, connected, ensure_stream
from whorl.cli.texts import QueryText, read_text
from whorl.cli.times import duration_ms, show_time, speed_factor, time_ms
from whorl.cli.units import Units

if TYPE_CHECKING:
    from rich.progress import Progress
    from whorl_client import Ack

Files = Annotated[list[str], typer.Argument(metavar="FILE", help="Event files; - is standard input.")]
Stream = Annotated[
    str, typer.Option("--stream", "-s", metavar="IRI", help="The stream; declared if it does not exist.")
]
Speed = Annotated[
    str,
    typer.Option(
        "--speed", metavar="real|xN|max", help="Replay speed: in real time, N times as fast (xN), or at once (max)."
    ),
]
Lateness = Annotated[
    str | None,
    typer.Option("--lateness", metavar="DURATION", help="Allowed lateness with which to declare the stream."),
]
Close = Annotated[bool, typer.Option("--close", help="Close the stream afterwards, so that open windows report.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]


@dataclass(slots=True)
class Total:
    """Totals of the acknowledgements."""

    accepted: int = 0
    late: int = 0
    duplicates: int = 0
    ahead: int = 0
    watermark: int | None = None

    def add(self, ack: Ack) -> None:
        """Add one acknowledgement."""
        self.watermark = ack.watermark
        self.accepted += ack.accepted
        self.late += ack.late
        self.duplicates += ack.duplicates
        self.ahead += ack.ahead

    def __str__(self) -> str:
        """For people; `ahead` only if it is not zero."""
        ahead = f", {self.ahead} too far ahead of the clock" if self.ahead else ""
        return f"{self.accepted} accepted, {self.late} late, {counted(self.duplicates, 'duplicate')}{ahead}"

    @property
    def hint(self) -> str | None:
        """What to do about late events."""
        if self.late == 0 or self.watermark is None:
            return None
        return (
            f"late events are older than the watermark of the stream, which is {show_time(self.watermark)} now; to "
            "allow for disorder, declare the stream with --lateness; to replay old data, delete the stream first"
        )


def command(  # noqa: PLR0913 - each option is a parameter
    files: Files,
    stream: Stream,
    t: EventTime = None,
    speed: Speed = "max",
    input_format: InputFormat = None,
    mapping: Mapping = None,
    time_column: TimeColumn = "t",
    time_unit: TimeUnit = None,
    columns: Columns = None,
    timestamp_predicate: TimestampPredicate = None,
    assume_zone: AssumeZone = None,
    event_per: Per = None,
    every: Every = None,
    base: Base = None,
    sort: Sort = False,
    lateness: Lateness = None,
    close: Close = False,
    quiet: Quiet = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Push events from files to a stream.

    The file name determines the format: .ttl and .nt hold one event (its time is --t), .nq and .trig one event per
    named graph (its time is prov:generatedAtTime), .ndjson one per line; .jsonld and .arrow work, too. Rows (.csv,
    .json) need a mapping. Any file may be compressed (.gz). A batch that has to be sent again is ingested once.

    Examples:
      whorl push readings.nq.gz --stream http://ex/sensors
      whorl push event.ttl --stream http://ex/sensors --t now
      whorl push january.nq february.nq --stream http://ex/sensors --speed x60
      whorl push rows.csv --stream http://ex/sensors --mapping rows.rq --time measured_at --assume-zone Z
      whorl push readings.nt --stream http://ex/sensors --event-per subject --timestamp-predicate http://ex/at
      tail -f events.ndjson | whorl push - --stream http://ex/sensors --input-format ndjson --speed real

    """
    factor = speed_factor(speed)
    cut: Cut = "size" if math.isinf(factor) else "instant"
    reading = Reading(
        input_format,
        None if t is None else time_ms(t),
        mapping is not None,
        time_column,
        cut,
        stamps_of(timestamp_predicate, assume_zone, event_per, every, time_unit, base),
        columns_of(columns),
        sort,
    )
    construct = None if mapping is None else QueryText(read_text(Path(mapping)), mapping)
    batches = paced(_pieces(files, reading), factor, time.monotonic, time.sleep)
    # A file that cannot be read leaves no stream behind; a pipe may take its time.
    first = None if "-" in files else next(batches, None)
    with connected(url, token, construct) as client:
        ensure_stream(client, stream, None if lateness is None else duration_ms(lateness))
        if construct is not None:
            client.stream(stream).mapping(construct.text, time_column=time_column)
    total = Total()
    try:
        with connected(url, token) as client:
            _push_all(_again(first, batches), Sender(client, stream), total, quiet=quiet)
            if close:
                client.stream(stream).close()
    finally:
        if not quiet:
            _tell(total)


def _again(first: Batch | None, batches: Iterator[Batch]) -> Iterator[Batch]:
    """All batches, with the one that was read ahead."""
    return batches if first is None else itertools.chain([first], batches)


def _tell(total: Total) -> None:
    typer.echo(str(total), err=True)
    if total.hint is not None:
        typer.echo(f"hint: {total.hint}", err=True)


def _push_all(batches: Iterator[Batch], sender: Sender, total: Total, *, quiet: bool) -> None:
    from whorl_client import ProblemError

    with _progress(quiet=quiet) as progress:
        units = Units()
        for batch in units.seen(batches, lambda batch: batch.t):
            try:
                ack = sender.send(batch)
            except ProblemError as error:
                raise _refusal(error, batch) from None
            total.add(ack)
            units.warn(ack.warning)
            progress.show(batch, total)


def _pieces(files: list[str], reading: Reading) -> Iterator[Piece | None]:
    """All events. A pipe may pause; events that have arrived do not wait for later ones."""
    files = [one for file in files for one in expanded(file)]
    if reading.in_order:
        yield from pieces_in_order(files, reading)
        return
    for file in files:
        pieces = read_pieces(file, reading)
        yield from with_pauses(pieces) if file == "-" else pieces


def _refusal(error: object, batch: Batch) -> CommandError:
    """The server's error for a batch, with the line of the file that it is about."""
    fault = event_fault(error, batch)
    if getattr(error, "slug", "") == "timestamp-missing":
        fault.hint = NO_TIME
    return fault


class _Progress(Protocol):
    def show(self, batch: Batch, total: Total) -> None:
        """A batch was acknowledged."""


class _Silent:
    def show(self, batch: Batch, total: Total) -> None:
        """Show nothing."""


@contextmanager
def _progress(*, quiet: bool) -> Iterator[_Progress]:
    from whorl.cli.terminal import console, is_terminal

    if quiet or not is_terminal(sys.stderr):
        yield _Silent()
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        yield _Bar(bar)


class _Bar:
    """Progress of the replay, in events and in event time; the end of a stream is unknown, so the bar only pulses."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("…", total=None)
        self._began = time.monotonic()

    def show(self, batch: Batch, total: Total) -> None:
        """Show counts, the rate, and the time of the last event."""
        rate = total.accepted / max(1e-3, time.monotonic() - self._began)
        at = "" if batch.t is None else f" · {show_time(batch.t)}"
        text = f"{total.accepted:,} events · {rate:,.0f}/s · {total.late} late{at}"
        self._progress.update(self._task, description=text)
