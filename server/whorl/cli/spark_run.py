"""`whorl spark run` and `whorl spark state`: a query inside Spark, and the content of its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.events.files import Reading, format_of, opened
from whorl.cli.faults import CommandError, UsageError, fault_of
from whorl.cli.listing import instant, show_json, show_table
from whorl.cli.options import DEFAULT_URL, TimeColumn, Token, Url, named_values
from whorl.cli.remote import local_token
from whorl.cli.run import QueryArgument, Static, named
from whorl.cli.texts import QueryText, needed_text, read_text
from whorl.cli.times import duration_ms
from whorl.documents import shown_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whorl.spark.scale import BatchReport, StreamInput
    from whorl.spark.scale.addresses import Source

Sources = Annotated[
    list[str],
    typer.Option(
        "--source", metavar="[STREAM=]ADDRESS", help="parquet:, csv:, json:, orc:PATH or kafka:HOST:PORT/TOPIC."
    ),
]
Sink = Annotated[
    str,
    typer.Option(
        "--sink", metavar="ADDRESS", help="parquet:DIR, ndjson:DIR, kafka:HOST:PORT/TOPIC, whorl:STREAM or -."
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint", metavar="DIR", help="Directory for state and progress, from which a restart continues."
    ),
]
Partitions = Annotated[
    int, typer.Option("--partitions", "-p", min=1, max=4096, metavar="N", help="Virtual partitions.")
]
Tasks = Annotated[
    int | None, typer.Option("--tasks", min=1, metavar="N", help="Spark tasks at a time; default: Spark's cores.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Explain the partitioning, without running the query.")]
AsJson = Annotated[bool, typer.Option("--json", help="With --explain: print JSON.")]
Mappings = Annotated[
    list[str] | None,
    typer.Option(
        "--mapping", metavar="[STREAM=]FILE.rq", help="CONSTRUCT query that maps the rows of a source to triples."
    ),
]
SinkMapping = Annotated[
    str | None,
    typer.Option("--sink-mapping", metavar="FILE.rq", help="whorl: CONSTRUCT query that maps results to triples."),
]
Lateness = Annotated[str, typer.Option("--lateness", metavar="DURATION", help="Allowed lateness.")]
IdleTimeout = Annotated[
    str | None,
    typer.Option("--idle-timeout", metavar="DURATION", help="How long to wait for a stream that falls behind."),
]
Schema = Annotated[
    str | None, typer.Option("--schema", metavar="DDL", help="Columns and types of the sources; default: inferred.")
]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of Spark's sources.")
]
Every = Annotated[
    str | None, typer.Option("--every", metavar="DURATION", help="Start a micro-batch this often; default: at once.")
]
Once = Annotated[bool, typer.Option("--once", help="Stop when all data available now has been read.")]
Close = Annotated[
    bool, typer.Option("--close", help="Like --once, and close the streams, so that open windows report.")
]
Name = Annotated[str, typer.Option("--name", metavar="ID", help="The query id for the sink.")]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.  [default: local[2]]")]
Packages = Annotated[list[str] | None, typer.Option("--packages", metavar="G:A:V", help="Maven packages for Spark.")]
Jars = Annotated[list[str] | None, typer.Option("--jars", metavar="FILE", help="Jars for Spark, instead of packages.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]
StateJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Directory = Annotated[str, typer.Argument(metavar="DIR", help="The directory given to --checkpoint.")]


def run(  # noqa: PLR0913 - each option is a parameter
    query: QueryArgument,
    source: Sources,
    sink: Sink = "-",
    checkpoint: Checkpoint = None,
    partitions: Partitions = 8,
    tasks: Tasks = None,
    static: Static = None,
    mapping: Mappings = None,
    time_column: TimeColumn = "t",
    lateness: Lateness = "0",
    idle_timeout: IdleTimeout = None,
    schema: Schema = None,
    option: Options = None,
    every: Every = None,
    once: Once = False,
    close: Close = False,
    name: Name = "",
    sink_mapping: SinkMapping = None,
    explain: Explain = False,
    as_json: AsJson = False,
    master: Master = None,
    packages: Packages = None,
    jars: Jars = None,
    url: Url = DEFAULT_URL,
    token: Token = None,
    quiet: Quiet = False,
) -> None:
    """Run a continuous query inside Spark, spread over partitions.

    Rows of the sources are triples (columns t, s, p, o), or become triples by a mapping. Each batch of results has a
    number; a batch repeated after a failure has the same number and the same results.

    Examples:
      whorl spark run hot.rspql --source parquet:readings/ --explain
      whorl spark run hot.rspql --source parquet:readings/ --checkpoint state/ --sink parquet:results/
      whorl spark run join.rspql --source http://ex/a=csv:a/ --source http://ex/b=csv:b/ --mapping m.rq --checkpoint c
      whorl spark run hot.rspql --source kafka:broker:9092/rows --schema 't BIGINT, s STRING, …' --checkpoint c
      whorl spark run hot.rspql --source parquet:readings/ --sink whorl:http://ex/hot --checkpoint c --close

    """
    text = needed_text(query)
    with _faults(text):
        from whorl.spark.scale.addresses import Source, output_of
        from whorl.spark.scale.run import AVAILABLE_NOW, plan, run

        streams = _streams_of(text)
        readers = named_values(option)
        places = {stream: Source.of(place, schema, readers) for stream, place in _assigned(source, streams)}
        mappings = dict(_assigned(mapping or [], streams, several=True))
        idle = None if idle_timeout is None else duration_ms(idle_timeout)
        settings = {
            stream: _Settings(mappings.get(stream), time_column, duration_ms(lateness), idle) for stream in streams
        }
        if explain:
            _, partitioning = plan(text.text, {iri: one.input(None) for iri, one in settings.items()}, partitions, {})
            show_json(partitioning.document) if as_json else typer.echo(partitioning.text())
            return
        if checkpoint is None:
            raise UsageError(
                "--checkpoint is required", hint="name a directory that the driver and all executors can access"
            )
        shape = None if sink_mapping is None else read_text(Path(sink_mapping))
        output = output_of(sink, url, token or local_token(url), shape)
        wanted = [] if jars else packages or _packages_for(places, sink)
        with _session(name or "whorl-run", master, wanted, jars or []) as spark:
            started = run(
                spark,
                text.text,
                {iri: one.input(places[iri].rows(spark)) for iri, one in settings.items() if iri in places},
                checkpoint=_absolute(checkpoint),
                output=output,
                partitions=partitions,
                tasks=tasks,
                trigger=AVAILABLE_NOW if once or close else _trigger(every),
                static=[_document(one) for one in static or []],
                name=name,
                close=close,
                progress=None if quiet else _show_batch,
            )
            _wait(started, quiet=quiet)


def state(directory: Directory, as_json: StateJson = False) -> None:
    """Show the content of a checkpoint of `whorl spark run`.

    This is the query, the batches whose state is kept, and for the newest one watermarks, counters, and the size
    of each partition: its last snapshot, and the log since.

    Examples:
      whorl spark state /var/lib/whorl/hot
      whorl spark state /var/lib/whorl/hot --json

    """
    with _faults():
        from whorl.spark.scale.inspect import inspect

        facts = inspect(directory)
    if as_json:
        show_json(facts)
        return
    typer.echo(_summary(facts), nl=False)
    if facts["latest"] is not None:
        parts = facts["latest"]["parts"]
        rows = [(part["part"], part["snapshotBytes"], part["logBytes"], part["logFiles"]) for part in parts]
        show_table(("partition", "snapshot bytes", "log bytes", "log files"), rows)
        typer.echo(f"query\n{facts['text'].strip()}")


class _Settings:
    """The settings of a stream before Spark starts."""

    def __init__(self, mapping: str | None, time_column: str, lateness: int, idle_timeout: int | None) -> None:
        self._mapping = None if mapping is None else read_text(Path(mapping))
        self._time_column = time_column
        self._lateness = lateness
        self._idle_timeout = idle_timeout

    def input(self, rows: Any) -> StreamInput:  # noqa: ANN401 - a DataFrame or files, or nothing for a plan
        from whorl.spark.scale import StreamInput

        return StreamInput(rows, self._mapping, self._time_column, self._lateness, idle_timeout=self._idle_timeout)


def _streams_of(text: QueryText) -> list[str]:
    from whorl import Engine

    streams: list[str] = Engine().register(text.text).describe()["streams"]
    return streams


def _assigned(arguments: list[str], streams: list[str], *, several: bool = False) -> Iterator[tuple[str, str]]:
    """`[STREAM=]PLACE` by stream; a place without a stream belongs to the only one, or with `several` to all."""
    for argument in arguments:
        stream = next((one for one in streams if argument.startswith(one + "=")), None)
        if stream is not None:
            yield stream, argument[len(stream) + 1 :]
        elif several or len(streams) == 1:
            yield from ((one, argument) for one in streams)
        else:
            hint = "write STREAM=…; the streams of the query are " + ", ".join(streams)
            raise UsageError(
                f"the query reads {len(streams)} streams, so the stream of {argument!r} is ambiguous", hint=hint
            )


def _document(argument: str) -> tuple[str | None, bytes, str]:
    graph, file = named(argument)
    with opened(file) as source:
        return graph, source.read(), format_of(file, Reading())


def _absolute(checkpoint: str) -> str:
    return checkpoint if "://" in checkpoint else str(Path(checkpoint).absolute())


def _trigger(every: str | None) -> str | None:
    return None if every is None else f"{duration_ms(every)} milliseconds"


def _packages_for(places: dict[str, Source], sink: str) -> list[str]:
    from whorl.spark.jobs.kafka import CONNECTOR

    return [CONNECTOR] if sink.startswith("kafka:") or any(one.format == "kafka" for one in places.values()) else []


@contextmanager
def _session(name: str, master: str | None, packages: list[str], jars: list[str]) -> Iterator[SparkSession]:
    from whorl.spark.session import opened_session

    typer.echo("starting Spark …", err=True)
    with opened_session(name, master, packages, jars) as spark:
        yield spark


def _wait(started: Any, *, quiet: bool) -> None:  # noqa: ANN401 - ScaledRun
    if not quiet:
        typer.echo(f"{started.id}: {started.explain().splitlines()[0]}", err=True)
    try:
        started.await_termination()
    except KeyboardInterrupt:
        started.stop()
        raise


def _show_batch(report: BatchReport) -> None:
    shown = map(shown_instant, report.watermarks.values())
    reached = max((at for at in shown if at is not None), default=None)
    typer.echo(
        f"batch {report.batch}: {report.rows} rows in {report.reports} reports, {report.seconds:.2f} s, "
        f"watermark {instant(reached) or '–'}{', again' if report.replayed else ''}",
        err=True,
    )


def _summary(facts: dict[str, Any]) -> str:
    batches, latest = facts["batches"], facts["latest"]
    lines = [
        f"id           {facts['query']}",
        f"engine       {facts['engine']}",
        f"fingerprint  {facts['fingerprint']}",
        f"partitions   {facts['partitions']}",
        f"streams      {', '.join(facts['streams'])}",
        f"batches      {'none yet' if not batches else f'{batches[0]} to {batches[-1]} kept'}",
    ]
    if latest is not None:
        lines += [f"watermark    {instant(at) or '–'} of {stream}" for stream, at in latest["watermarks"].items()]
        lines.append("counts       " + ", ".join(f"{name} {value}" for name, value in latest["stats"].items()))
        lines += ["closed       the streams have ended"] if latest["closed"] else []
        lines += [f"missing      {name}" for name in latest["missing"]]
    return "\n".join(lines) + "\n"


@contextmanager
def _faults(text: QueryText | None = None) -> Iterator[None]:
    """Turn failures inside the block into one-line errors, with the position in the query if there is one."""
    from whorl import WhorlError

    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from whorl.spark.errors import WhorlSparkError, spark_message
    except ImportError as error:
        raise CommandError(
            f"this needs Spark: {error}", hint="pip install 'whorl[spark]', and install Java 17"
        ) from None
    try:
        yield
    except WhorlError as error:
        raise fault_of(error, *((None, None) if text is None else (text.source, text.text))) from None
    except WhorlSparkError as error:
        raise CommandError(error.message, hint=error.hint) from None
    except (PySparkException, Py4JError) as error:
        message, advice = spark_message(error)
        raise CommandError(message, hint=advice) from None
