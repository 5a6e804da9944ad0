"""`whorl run`: the engine alone, in this process, over files."""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.events import Batch, Piece, Reading, batches, read_pieces
from whorl.cli.events.files import format_of, opened
from whorl.cli.faults import CommandError, UsageError, fault_of
from whorl.cli.names import Names
from whorl.cli.options import EventTime, InputFormat, Limit, Mapping, OutputFormat, TimeColumn, Until
from whorl.cli.results import Envelope, Format, Writer, writer_of
from whorl.cli.texts import QueryText, needed_text, read_text
from whorl.cli.times import duration_ms, time_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl import Engine, Query

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A file, the text itself, or - for stdin.")]
Inputs = Annotated[
    list[str], typer.Option("--input", "-i", metavar="[STREAM=]FILE", help="Events; may be given several times.")
]
Static = Annotated[
    list[str] | None,
    typer.Option("--static", "-s", metavar="[GRAPH=]FILE", help="Static data: the default graph, or a named one."),
]
Stream = Annotated[str | None, typer.Option("--stream", metavar="IRI", help="The stream of inputs that name none.")]
Lateness = Annotated[str, typer.Option("--lateness", metavar="DURATION", help="How much disorder is waited for.")]


@dataclass(frozen=True, slots=True)
class Input:
    """A file and the stream it is events of."""

    stream: str
    file: str


def command(
    query: QueryArgument,
    inputs: Inputs,
    static: Static = None,
    stream: Stream = None,
    output: OutputFormat = Format.TABLE,
    input_format: InputFormat = None,
    mapping: Mapping = None,
    time_column: TimeColumn = "t",
    t: EventTime = None,
    lateness: Lateness = "0",
    limit: Limit = None,
    until: Until = None,
) -> None:
    """Evaluate a query over files, without a server.

    Several inputs are read together in the order of event time. After the last event the streams are closed, and what
    is still open is reported.

    Examples:
      whorl run hot.rspql --input readings.nq
      whorl run hot.rspql --input readings.nq.gz --format csv > answers.csv
      whorl run join.rspql -i http://ex/a=a.trig -i http://ex/b=b.ndjson --static rooms.ttl
      whorl run hot.rspql --input rows.csv --mapping rows.rq --time measured_at
      zcat readings.nq.gz | whorl run hot.rspql --input - --input-format nquads --limit 10

    """
    from whorl import WhorlError

    text = needed_text(query)
    reading = Reading(input_format, None if t is None else time_ms(t), mapping is not None, time_column)
    stop = _Stop(limit, None if until is None else time_ms(until))
    try:
        engine, registered = _start(text, static or [], {})
        sources = [_input(one, stream, registered) for one in inputs]
        if duration_ms(lateness):
            # A stream takes its options before a query reads it; the first engine has told which streams there are.
            lateness_of = {source.stream: duration_ms(lateness) for source in sources}
            engine, registered = _start(text, static or [], lateness_of)
    except WhorlError as error:
        raise fault_of(error, text.source, text.text) from None
    if mapping is not None:
        _set_mappings(engine, sources, mapping, time_column)
    _evaluate(engine, registered, sources, reading, writer_of(output, Names(text.text)), stop)


def _start(text: QueryText, static: list[str], lateness_of: dict[str, int]) -> tuple[Engine, Query]:
    from whorl import Engine

    engine = Engine()
    for document in static:
        load_static(engine, document)
    for stream, lateness in lateness_of.items():
        engine.declare_stream(stream, lateness=lateness)
    return engine, engine.register(text.text, "run")


def load_static(engine: Engine, document: str) -> None:
    """Static data of `[GRAPH=]FILE`."""
    from whorl import WhorlError

    graph, file = named(document)
    with opened(file) as source:
        body = source.read()
    try:
        engine.load(graph, body, format_of(file, Reading()))  # type: ignore[arg-type]
    except WhorlError as error:
        raise fault_of(error, file, body.decode("utf-8", "replace")) from None


def named(argument: str) -> tuple[str | None, str]:
    """`NAME=FILE`; an `=` may be part of either, so a file that exists is taken as one."""
    name, equals, file = argument.rpartition("=")
    return (None, argument) if not equals or Path(argument).is_file() else (name, file)


def _input(argument: str, stream: str | None, query: Query) -> Input:
    name, file = named(argument)
    chosen = name or stream
    if chosen is not None:
        return Input(chosen, file)
    streams = list(dict.fromkeys(window["stream"] for window in query.explain("json")["windows"]))
    if len(streams) > 1:
        hint = "give --input STREAM=FILE; the streams are " + ", ".join(streams)
        raise UsageError(f"the query reads {len(streams)} streams, and {file!r} could be any of them", hint=hint)
    return Input(streams[0], file)


def _set_mappings(engine: Engine, sources: list[Input], mapping: str, time_column: str) -> None:
    from whorl import WhorlError

    text = read_text(Path(mapping))
    try:
        for stream in dict.fromkeys(source.stream for source in sources):
            engine.set_mapping(stream, text, time_column=time_column)
    except WhorlError as error:
        raise fault_of(error, mapping, text) from None


@dataclass(slots=True)
class _Stop:
    """When enough answers have been given."""

    limit: int | None
    until: int | None
    n_answers: int = 0

    def reached_by(self, envelope: Envelope) -> bool:
        """Whether this answer is already too late to be shown."""
        return self.until is not None and envelope["t"] > self.until

    def count(self) -> bool:
        """One more was given; whether it was the last."""
        self.n_answers += 1
        return self.n_answers == self.limit


def _evaluate(
    engine: Engine, query: Query, sources: list[Input], reading: Reading, writer: Writer, stop: _Stop
) -> None:
    accepted = late = 0
    try:
        for source, batch in _together(sources, reading):
            report = _push(engine, source, batch)
            accepted, late = accepted + report[0], late + report[1]
            if _write(query, writer, stop):
                return
        engine.close()
        _write(query, writer, stop)
    finally:
        writer.close()
        typer.echo(f"{accepted} events, {late} late, {stop.n_answers} answers", err=True)


def _write(query: Query, writer: Writer, stop: _Stop) -> bool:
    """Hand out what waits; whether that was enough."""
    from whorl import WhorlError

    try:
        waiting = query.results()
    except WhorlError as error:
        raise fault_of(error) from None
    for answer in waiting:
        envelope = json.loads(answer)
        if stop.reached_by(envelope):
            return True
        writer.write(envelope)
        if stop.count():
            return True
    return False


def _together(sources: list[Input], reading: Reading) -> Iterator[tuple[Input, Batch]]:
    """All inputs in the order of time. One input is read as it stands, in larger batches."""
    if len(sources) == 1:
        pieces = read_pieces(sources[0].file, replace(reading, rows_cut="order"))
        yield from ((sources[0], batch) for batch in batches(pieces, in_order=True))
        return
    merged = heapq.merge(*(_timed(source, reading) for source in sources), key=lambda item: item[0])
    for _, source, piece in merged:
        yield from ((source, batch) for batch in batches([piece]))


def _timed(source: Input, reading: Reading) -> Iterator[tuple[int, Input, Piece]]:
    """Pieces with a time that never goes back, so that a late event keeps its place in its own file."""
    reached = -(2**63)
    for piece in read_pieces(source.file, replace(reading, rows_cut="instant")):
        reached = reached if piece.t is None else max(reached, piece.t)
        yield reached, source, piece


def _push(engine: Engine, source: Input, batch: Batch) -> tuple[int, int]:
    from whorl import WhorlError

    try:
        report = engine.push(source.stream, batch.at, batch.body, batch.format)  # type: ignore[arg-type]
    except WhorlError as error:
        raise _event_fault(error, source, batch) from None
    return report.accepted, report.late


def _event_fault(error: Any, source: Input, batch: Batch) -> CommandError:  # noqa: ANN401 - any error of the engine
    """Lines of a batch are not lines of the file: the line is shown, without a number that would mislead."""
    fault = fault_of(error, f"in {source.file}", batch.body.decode("utf-8", "replace"))
    if fault.hint is None and getattr(error, "code", "") == "timestamp.missing":
        fault.hint = "add --t TIME, or give each graph its prov:generatedAtTime"
    return fault
