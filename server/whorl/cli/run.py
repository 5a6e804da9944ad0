"""`whorl run`: the engine in this process, over files."""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.counts import counted
from whorl.cli.events import (
    Batch,
    Piece,
    Reading,
    batches,
    event_fault,
    expanded,
    pieces_in_order,
    read_pieces,
    with_pauses,
)
from whorl.cli.events.files import FORMATS, opened
from whorl.cli.faults import CommandError, UsageError, fault_of, show_warnings
from whorl.cli.names import Names
from whorl.cli.options import (
    NO_TIME,
    AssumeZone,
    Base,
    Columns,
    EventTime,
    Every,
    InputFormat,
    Limit,
    Mapping,
    OutputFormat,
    Per,
    Semantics,
    Sort,
    TimeColumn,
    TimestampPredicate,
    TimeUnit,
    Until,
    columns_of,
    stamps_of,
    word_of,
)
from whorl.cli.results import Envelope, Format, Writer, rows, writer_of
from whorl.cli.sample import Sample, reason_of
from whorl.cli.texts import QueryText, needed_text, read_text
from whorl.cli.times import duration_ms, time_ms
from whorl.cli.units import Units
from whorl.cli.waiting import Waiting, reason, tell_reason

_RDF = ("turtle", "ntriples", "nquads", "trig", "jsonld")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl import Engine, Query
    from whorl.cli.options import ContentSemantics

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A file, the text itself, or - for stdin.")]
Inputs = Annotated[
    list[str], typer.Option("--input", "-i", metavar="[STREAM=]FILE", help="Event file; may be given several times.")
]
Static = Annotated[
    list[str] | None,
    typer.Option(
        "--static", "-s", metavar="[GRAPH=]FILE", help="Static data for the default graph, or for a named one."
    ),
]
Stream = Annotated[
    str | None, typer.Option("--stream", metavar="IRI", help="The stream of inputs without a stream name.")
]
Lateness = Annotated[str, typer.Option("--lateness", metavar="DURATION", help="Allowed lateness.")]


@dataclass(frozen=True, slots=True)
class Input:
    """A file and the stream of its events."""

    stream: str
    file: str


def command(  # noqa: PLR0913 - each option is a parameter
    query: QueryArgument,
    inputs: Inputs,
    static: Static = None,
    stream: Stream = None,
    output: OutputFormat = Format.TABLE,
    input_format: InputFormat = None,
    mapping: Mapping = None,
    time_column: TimeColumn = "t",
    time_unit: TimeUnit = None,
    columns: Columns = None,
    t: EventTime = None,
    timestamp_predicate: TimestampPredicate = None,
    assume_zone: AssumeZone = None,
    event_per: Per = None,
    every: Every = None,
    base: Base = None,
    sort: Sort = False,
    lateness: Lateness = "0",
    semantics: Semantics = None,
    limit: Limit = None,
    until: Until = None,
) -> None:
    """Evaluate a query over files, without a server.

    Several inputs are merged by event time. After the last event the streams are closed, so that open windows report.

    Examples:
      whorl run hot.rspql --input readings.nq
      whorl run hot.rspql --input readings.nq.gz --format csv > results.csv
      whorl run join.rspql -i http://ex/a=a.trig -i http://ex/b=b.ndjson --static rooms.ttl
      whorl run average.rspql --input readings.nq --semantics bag
      whorl run hot.rspql --input rows.csv --mapping rows.rq --time measured_at --assume-zone Europe/Paris
      whorl run hot.rspql --input readings.nt --event-per subject --timestamp-predicate http://ex/measuredAt
      whorl run hot.rspql --input streams.tar.gz:*.csv --mapping rows.rq --sort
      zcat readings.nq.gz | whorl run hot.rspql --input - --input-format nquads --limit 10

    """
    from whorl import WhorlError

    text = needed_text(query)
    reading = Reading(
        input_format,
        None if t is None else time_ms(t),
        mapping is not None,
        time_column,
        stamps=stamps_of(timestamp_predicate, assume_zone, event_per, every, time_unit, base),
        columns=columns_of(columns),
        in_order=sort,
    )
    stop = _Stop(limit, None if until is None else time_ms(until))
    try:
        engine, registered = _start(text, static or [], {}, semantics)
        sources = [found for one in inputs for found in _inputs(one, stream, registered)]
        if duration_ms(lateness):
            # A stream gets its options before a query reads it; the first engine has found the streams.
            lateness_of = {source.stream: duration_ms(lateness) for source in sources}
            engine, registered = _start(text, static or [], lateness_of, semantics)
    except WhorlError as error:
        raise fault_of(error, text.source, text.text) from None
    show_warnings(registered.warnings, text.source, text.text)
    rows_as = None if mapping is None else _RowMapping(mapping, read_text(Path(mapping)), time_column)
    if rows_as is not None:
        rows_as.set_on(engine, sources)
    writer, sample = writer_of(output, Names(text.text)), Sample(lambda one: _plain(one, rows_as))
    run = _Files(engine, registered, sources, writer, stop, sample)
    run.evaluate(reading)


def _start(
    text: QueryText, static: list[str], lateness_of: dict[str, int], semantics: ContentSemantics | None
) -> tuple[Engine, Query]:
    from whorl import Engine

    engine = Engine()
    for document in static:
        load_static(engine, document)
    for stream, lateness in lateness_of.items():
        engine.declare_stream(stream, lateness=lateness)
    return engine, engine.register(text.text, "run", semantics=word_of(semantics))


def load_static(engine: Engine, document: str) -> None:
    """Load static data from `[GRAPH=]FILE`; the file may be a pattern inside an archive."""
    graph, name = named(document)
    for file in expanded(name):
        _load_file(engine, graph, file)


def _load_file(engine: Engine, graph: str | None, file: str) -> None:
    from whorl import WhorlError

    form = FORMATS.get(Path(file.removesuffix(".gz")).suffix.lower())
    if form not in _RDF:
        suffixes = ", ".join(suffix for suffix, known in FORMATS.items() if known in _RDF)
        hint = f"static data is RDF, in a file that ends with {suffixes}"
        raise UsageError(f"{file!r} cannot be loaded as static data", hint=hint)
    with opened(file) as source:
        body = source.read()
    try:
        engine.load(graph, body, form)  # type: ignore[arg-type]  # it is one of _RDF
    except WhorlError as error:
        raise fault_of(error, file, body.decode("utf-8", "replace")) from None


def named(argument: str) -> tuple[str | None, str]:
    """`NAME=FILE`; both may contain `=`, so an existing file name wins."""
    name, equals, file = argument.rpartition("=")
    return (None, argument) if not equals or Path(argument).is_file() else (name, file)


def _inputs(argument: str, stream: str | None, query: Query) -> list[Input]:
    name, file = named(argument)
    chosen = name or stream or _only_stream(query, file)
    return [Input(chosen, one) for one in expanded(file)]


def _only_stream(query: Query, file: str) -> str:
    streams = list(dict.fromkeys(window["stream"] for window in query.explain("json")["windows"]))
    if len(streams) > 1:
        hint = "give --input STREAM=FILE; the streams are " + ", ".join(streams)
        raise UsageError(f"the query reads {len(streams)} streams, so the stream of {file!r} is ambiguous", hint=hint)
    return str(streams[0])


@dataclass(frozen=True, slots=True)
class _RowMapping:
    """The CONSTRUCT that turns rows into triples."""

    source: str
    text: str
    time_column: str

    def set_on(self, engine: Engine, sources: list[Input]) -> None:
        """Set the mapping of all these inputs."""
        from whorl import WhorlError

        try:
            for stream in dict.fromkeys(source.stream for source in sources):
                engine.set_mapping(stream, self.text, time_column=self.time_column)
        except WhorlError as error:
            raise fault_of(error, self.source, self.text) from None


def _plain(stream: str, mapping: _RowMapping | None) -> Engine:
    """An engine with this stream and nothing else."""
    from whorl import Engine

    engine = Engine()
    engine.declare_stream(stream)
    if mapping is not None:
        mapping.set_on(engine, [Input(stream, "")])
    return engine


@dataclass(slots=True)
class _Stop:
    """The limit on results."""

    limit: int | None
    until: int | None
    n_results: int = 0

    def reached_by(self, envelope: Envelope) -> bool:
        """Whether this result is past the limit."""
        return self.until is not None and envelope["t"] > self.until

    def count(self) -> bool:
        """Count one result; returns whether it was the last."""
        self.n_results += 1
        return self.n_results == self.limit


@dataclass(slots=True)
class _Files:
    """Pushes files through the engine."""

    engine: Engine
    query: Query
    sources: list[Input]
    writer: Writer
    stop: _Stop
    sample: Sample
    accepted: int = 0
    late: int = 0
    has_rows: bool = False

    def evaluate(self, reading: Reading) -> None:
        """Push everything and write the results; if there is no row at all, explain why."""
        try:
            with Waiting(lambda: self._reason(has_ended=False), tell_reason) as waiting:
                has_enough = self._push_all(reading, waiting)
            if not has_enough and not self.has_rows:
                found = self._reason(has_ended=True)
                tell_reason(reason(found), found["advice"], "no result")
        finally:
            self.writer.close()
            events, results = counted(self.accepted, "event"), counted(self.stop.n_results, "result")
            typer.echo(f"{events}, {self.late} late, {results}", err=True)

    def _push_all(self, reading: Reading, waiting: Waiting) -> bool:
        """Push all inputs; returns whether the limit on results was reached before the end."""
        for source, batch in Units().seen(_together(self.sources, reading), lambda item: item[1].t):
            self.sample.keep(source.stream, batch)
            accepted, late = _push(self.engine, source, batch)
            self.accepted, self.late = self.accepted + accepted, self.late + late
            if self._write(waiting):
                return True
        self.engine.close()
        return self._write(waiting)

    def _write(self, waiting: Waiting) -> bool:
        """Write the waiting results; returns whether the limit was reached."""
        for answer in self._results():
            envelope = json.loads(answer)
            if self.stop.reached_by(envelope):
                return True
            self.writer.write(envelope)
            if not self.has_rows and next(rows(envelope), None) is not None:
                self.has_rows = True
                waiting.end()
            if self.stop.count():
                return True
        return False

    def _results(self) -> list[bytes]:
        from whorl import WhorlError

        try:
            return self.query.results()
        except WhorlError as error:
            raise fault_of(error) from None

    def _reason(self, *, has_ended: bool) -> dict[str, Any]:
        return reason_of(self.engine, self.query, self.sample, has_ended=has_ended)


def _together(sources: list[Input], reading: Reading) -> Iterator[tuple[Input, Batch]]:
    """All inputs merged by time. A single input is read as it is, in larger batches."""
    if reading.in_order:
        yield from _sorted(sources, reading)
        return
    if len(sources) == 1:
        pieces = read_pieces(sources[0].file, replace(reading, rows_cut="order"))
        # Events from a pipe are evaluated before the next one arrives.
        flowing = with_pauses(pieces) if sources[0].file == "-" else pieces
        yield from ((sources[0], batch) for batch in batches(flowing, in_order=True))
        return
    merged = heapq.merge(*(_timed(source, reading) for source in sources), key=lambda item: item[0])
    for _, source, piece in merged:
        yield from ((source, batch) for batch in batches([piece]))


def _sorted(sources: list[Input], reading: Reading) -> Iterator[tuple[Input, Batch]]:
    """All inputs of one stream sorted as one file; several streams are merged at each instant."""
    by_stream: dict[str, list[str]] = {}
    for source in sources:
        by_stream.setdefault(source.stream, []).append(source.file)
    if len(by_stream) == 1:
        pieces = pieces_in_order([source.file for source in sources], reading)
        yield from ((sources[0], batch) for batch in batches(pieces, in_order=True))
        return
    instants = replace(reading, rows_cut="instant")
    streams = (
        [(Input(stream, files[0]), piece) for piece in pieces_in_order(files, instants)]
        for stream, files in by_stream.items()
    )
    for source, piece in heapq.merge(*streams, key=lambda item: -(2**63) if item[1].t is None else item[1].t):
        yield from ((source, batch) for batch in batches([piece]))


def _timed(source: Input, reading: Reading) -> Iterator[tuple[int, Input, Piece]]:
    """Pieces with a time that never goes back, so that a late event keeps its position in its file."""
    reached = -(2**63)
    for piece in read_pieces(source.file, replace(reading, rows_cut="instant")):
        reached = reached if piece.t is None else max(reached, piece.t)
        yield reached, source, piece


def _push(engine: Engine, source: Input, batch: Batch) -> tuple[int, int]:
    from whorl import WhorlError

    try:
        report = engine.push(source.stream, batch.at, batch.body, batch.format)  # type: ignore[arg-type]  # the reader chose the format
    except WhorlError as error:
        raise _event_fault(error, batch) from None
    return report.accepted, report.late


def _event_fault(error: Any, batch: Batch) -> CommandError:  # noqa: ANN401 - any error of the engine
    """The engine's error for a batch, with the line of the file that it is about."""
    fault = event_fault(error, batch)
    if fault.hint is None and getattr(error, "code", "") == "timestamp.missing":
        fault.hint = NO_TIME
    return fault
