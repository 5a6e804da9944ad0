"""`whorl push`: files of events into a stream of a server."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from whorl.cli.events import Batch, Cut, Piece, Reading, paced, read_pieces, with_pauses
from whorl.cli.faults import CommandError, Place
from whorl.cli.options import DEFAULT_URL, EventTime, InputFormat, Mapping, TimeColumn, Token, Url
from whorl.cli.remote import Sender, connected, ensure_stream
from whorl.cli.texts import QueryText, read_text
from whorl.cli.times import duration_ms, show_time, speed_factor, time_ms

if TYPE_CHECKING:
    from rich.progress import Progress
    from whorl_client import Ack

Files = Annotated[list[str], typer.Argument(metavar="FILE", help="Files of events; - is standard input.")]
Stream = Annotated[str, typer.Option("--stream", "-s", metavar="IRI", help="The stream; it is declared if need be.")]
Speed = Annotated[
    str, typer.Option("--speed", metavar="real|xN|max", help="Replay by event time, N times as fast, or at once.")
]
Lateness = Annotated[
    str | None, typer.Option("--lateness", metavar="DURATION", help="Declare the stream with this much disorder.")
]
End = Annotated[bool, typer.Option("--end", help="Close the stream afterwards: open windows are reported.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]


@dataclass(slots=True)
class Total:
    """What became of the events."""

    accepted: int = 0
    late: int = 0
    duplicates: int = 0
    ahead: int = 0

    def add(self, ack: Ack) -> None:
        """One more acknowledgement."""
        self.accepted += ack.accepted
        self.late += ack.late
        self.duplicates += ack.duplicates
        self.ahead += ack.ahead

    def __str__(self) -> str:
        """For people; `ahead` only where it happened."""
        ahead = f", {self.ahead} too far ahead of the clock" if self.ahead else ""
        return f"{self.accepted} accepted, {self.late} late, {self.duplicates} duplicates{ahead}"


def command(
    files: Files,
    stream: Stream,
    t: EventTime = None,
    speed: Speed = "max",
    input_format: InputFormat = None,
    mapping: Mapping = None,
    time_column: TimeColumn = "t",
    lateness: Lateness = None,
    end: End = False,
    quiet: Quiet = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Push events from files to a stream.

    RDF by the name of the file: .ttl and .nt hold one event (its time is --t), .nq and .trig one event for each named
    graph (its time is prov:generatedAtTime), .ndjson one for each line, .jsonld, .arrow. Rows (.csv, .json) need a
    mapping. Any of them may be compressed (.gz). A batch that had to be sent twice is taken once.

    Examples:
      whorl push readings.nq.gz --stream http://ex/sensors
      whorl push event.ttl --stream http://ex/sensors --t now
      whorl push january.nq february.nq --stream http://ex/sensors --speed x60
      whorl push rows.csv --stream http://ex/sensors --mapping rows.rq --time measured_at
      tail -f events.ndjson | whorl push - --stream http://ex/sensors --input-format ndjson --speed real

    """
    factor = speed_factor(speed)
    cut: Cut = "size" if math.isinf(factor) else "instant"
    reading = Reading(input_format, None if t is None else time_ms(t), mapping is not None, time_column, cut)
    construct = None if mapping is None else QueryText(read_text(Path(mapping)), mapping)
    with connected(url, token, construct) as client:
        ensure_stream(client, stream, None if lateness is None else duration_ms(lateness))
        if construct is not None:
            client.stream(stream).mapping(construct.text, time_column=time_column)
    total = Total()
    try:
        with connected(url, token) as client:
            _push_all(files, reading, factor, Sender(client, stream), total, quiet=quiet)
            if end:
                client.stream(stream).close()
    finally:
        if not quiet:
            typer.echo(str(total), err=True)


def _push_all(files: list[str], reading: Reading, factor: float, sender: Sender, total: Total, *, quiet: bool) -> None:
    from whorl_client import ProblemError

    with _progress(quiet=quiet) as progress:
        for batch in paced(_pieces(files, reading), factor, time.monotonic, time.sleep):
            try:
                total.add(sender.send(batch))
            except ProblemError as error:
                raise _refusal(error, batch) from None
            progress.show(batch, total)


def _pieces(files: list[str], reading: Reading) -> Iterator[Piece | None]:
    """All events; a pipe may pause, and what has come by then is not to wait for what comes next."""
    for file in files:
        pieces = read_pieces(file, reading)
        yield from with_pauses(pieces) if file == "-" else pieces


def _refusal(error: object, batch: Batch) -> CommandError:
    """What the server says of a batch, with the line itself: its number is that of the batch, not of the file."""
    message, hint = getattr(error, "message", str(error)), getattr(error, "hint", None)
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    place = None
    if line is not None and batch.format != "arrow":
        place = Place("in the batch that was refused", batch.body.decode("utf-8", "replace"), line, column)
    if getattr(error, "slug", "") == "timestamp-missing":
        hint = "add --t TIME, or give each graph its prov:generatedAtTime"
    return CommandError(message, hint=hint, place=place)


class _Progress(Protocol):
    def show(self, batch: Batch, total: Total) -> None:
        """A batch was taken."""


class _Silent:
    def show(self, batch: Batch, total: Total) -> None:
        """Nobody looks."""


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
    """How far the replay is, in events and in event time; the end of a stream is not known, so the bar only moves."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("…", total=None)
        self._began = time.monotonic()

    def show(self, batch: Batch, total: Total) -> None:
        """Counts, rate, and the time of the last event."""
        rate = total.accepted / max(1e-3, time.monotonic() - self._began)
        at = "" if batch.t is None else f" · {show_time(batch.t)}"
        text = f"{total.accepted:,} events · {rate:,.0f}/s · {total.late} late{at}"
        self._progress.update(self._task, description=text)
