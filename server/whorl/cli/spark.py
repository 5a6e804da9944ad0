"""`whorl spark`: Spark jobs that write streams.

A group of commands (`COMMANDS`, with the help of `group`), implemented in `whorl.spark`, which is imported when one of
them runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whorl.cli.faults import CommandError
from whorl.cli.listing import show_table
from whorl.cli.options import DEFAULT_URL, Mapping, Token, Url, named_values
from whorl.cli.remote import connected, ensure_stream, local_token
from whorl.cli.spark_progress import Display
from whorl.cli.spark_run import run, state
from whorl.cli.texts import QueryText, read_text
from whorl.cli.times import duration_ms, speed_factor, time_ms

if TYPE_CHECKING:
    from whorl.spark.jobs import Job, JobOptions, Output
    from whorl.spark.produce import Target

Name = Annotated[str, typer.Argument(metavar="NAME", help="The producer; `whorl spark list` shows the names.")]
Data = Annotated[
    str | None,
    typer.Option("--data", metavar="PATH", help="Directory, file or pattern to read; default: generated data."),
]
Speed = Annotated[
    str | None,
    typer.Option(
        "--speed",
        metavar="real|xN|max",
        help="Replay speed: real, xN or max. Default: x60; files and topics are followed.",
    ),
]
Rows = Annotated[int | None, typer.Option("--rows", min=1, metavar="N", help="Stop after N rows; default: no limit.")]
Start = Annotated[
    str | None, typer.Option("--start", metavar="TIME", help="Start time of generated data: a time, or now.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of generated data.")]
Rate = Annotated[
    float | None,
    typer.Option("--rate", min=0.001, metavar="N", help="Generated rows per second of event time."),
]
Skew = Annotated[float, typer.Option("--skew", min=0.0, metavar="N", help="Skew of generated keys; 0: uniform.")]
Disorder = Annotated[str, typer.Option("--disorder", metavar="DURATION", help="Generated rows are up to this late.")]
BadRows = Annotated[
    float,
    typer.Option("--bad-rows", min=0.0, max=1.0, metavar="SHARE", help="Share of generated rows without a value."),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Checkpoint directory, from which a restart continues; without it, each run starts over.",
    ),
]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.  [default: local[2]]")]
Packages = Annotated[
    list[str] | None,
    typer.Option("--packages", metavar="G:A:V", help="Maven packages for Spark, instead of the default ones."),
]
Jars = Annotated[list[str] | None, typer.Option("--jars", metavar="FILE", help="Jars for Spark, instead of packages.")]
Stream = Annotated[str | None, typer.Option("--stream", "-s", metavar="IRI", help="files, kafka: the stream to write.")]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time", metavar="COLUMN", help="files, kafka: the time column; default for messages: their own time."
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="files: csv, json or parquet; kafka: json, nquads, trig, turtle, ntriples or jsonld.",
    ),
]
Schema = Annotated[
    str | None, typer.Option("--schema", metavar="DDL", help="files, kafka: columns and types; default: inferred.")
]
Topic = Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="kafka: the topic.")]
Servers = Annotated[str | None, typer.Option("--servers", metavar="HOST:PORT,…", help="kafka: the brokers.")]
From = Annotated[str, typer.Option("--from", metavar="earliest|latest", help="kafka: where to start.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="files, kafka: an option of Spark's source.")
]
Once = Annotated[bool, typer.Option("--once", help="files, kafka: stop when all data available now is written.")]
Lateness = Annotated[
    str | None,
    typer.Option("--lateness", metavar="DURATION", help="Allowed lateness with which to declare the streams."),
]
Close = Annotated[bool, typer.Option("--close", help="Close the streams afterwards, so that open windows report.")]
ReplaceMapping = Annotated[bool, typer.Option("--replace-mapping", help="Replace another mapping of the stream.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]


def group() -> None:
    """Write streams with Spark, and run queries inside it.

    Needs pyspark and Java 17: pip install 'whorl[spark]'.

    Examples:
      whorl spark list
      whorl spark produce taxi --speed x60
      whorl spark run hot.rspql --source parquet:readings/ --checkpoint state/

    """


def list_producers() -> None:
    """List the producers.

    Examples:
      whorl spark list

    """
    with _spark_there():
        from whorl.spark.jobs import NAMES, JobOptions, find

        rows: list[tuple[str, str, str]] = []
        for name in NAMES:
            job = find(name)
            streams = (
                "--stream" if name in ("files", "kafka") else "\n".join(o.stream for o in job.outputs(JobOptions()))
            )
            rows.append((name, f"{job.description}\nreads: {job.data}", streams))
    show_table(("producer", "what", "streams"), rows)


def produce(  # noqa: PLR0913 - each option is a parameter
    name: Name,
    data: Data = None,
    speed: Speed = None,
    rows: Rows = None,
    start: Start = None,
    seed: Seed = 0,
    rate: Rate = None,
    skew: Skew = 0.0,
    disorder: Disorder = "0",
    bad_rows: BadRows = 0.0,
    checkpoint: Checkpoint = None,
    close: Close = False,
    lateness: Lateness = None,
    stream: Stream = None,
    mapping: Mapping = None,
    replace_mapping: ReplaceMapping = False,
    time_column: TimeColumn = None,
    input_format: InputFormat = None,
    schema: Schema = None,
    topic: Topic = None,
    servers: Servers = None,
    starting_from: From = "earliest",
    option: Options = None,
    once: Once = False,
    master: Master = None,
    packages: Packages = None,
    jars: Jars = None,
    quiet: Quiet = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Write streams with a Spark job: generated or recorded benchmark data, or your own files and topics.

    The server turns rows into triples, by a mapping registered with the stream. Each row arrives exactly once, even if
    Spark repeats it after a failure or a restart from --checkpoint.

    Examples:
      whorl spark produce taxi --speed x60
      whorl spark produce taxi --data 'trips-*.csv.gz' --speed max --close
      whorl spark produce taxi --rate 5000 --skew 2 --disorder 10s --bad-rows 0.01 --lateness 10s
      whorl spark produce weather --start now --speed real --checkpoint /var/lib/whorl-weather
      whorl spark produce files --data readings/ --input-format csv --time at --stream http://ex/s --mapping m.rq
      whorl spark produce kafka --topic t --servers localhost:9092 --stream http://ex/s --mapping m.rq

    """
    construct = None if mapping is None else QueryText(read_text(Path(mapping)), mapping)
    with _spark_there():
        from whorl.spark.generators import Changes
        from whorl.spark.jobs import JobOptions, find

        job = find(name)
        wanted = JobOptions(
            data=data,
            stream=stream,
            mapping=None if construct is None else construct.text,
            time_column=time_column,
            input_format=input_format,
            schema=schema,
            options=named_values(option),
            topic=topic,
            servers=servers,
            starting_from=starting_from,
            speed=None if speed is None else speed_factor(speed),
            rows=rows,
            seed=seed,
            start_ms=None if start is None else time_ms(start),
            once=once,
            changes=Changes(rate, skew, duration_ms(disorder), bad_rows),
        )
        outputs = job.outputs(wanted)
    token = token or local_token(url)
    _meet_server(outputs, construct, url, token, lateness)
    with _spark_there(), _directory(checkpoint) as place:
        from whorl.spark.produce import Target

        target = Target(url, token, replace_mapping=replace_mapping)
        _run(job, wanted, _Producing(target, place, master, packages, jars, quiet))
    if close:
        with connected(url, token) as client:
            for output in outputs:
                client.stream(output.stream).close()


@dataclass(frozen=True)
class _Producing:
    """The settings of a producer's run."""

    target: Target
    checkpoint: str
    master: str | None
    packages: list[str] | None
    jars: list[str] | None
    quiet: bool


def _run(job: Job, wanted: JobOptions, run: _Producing) -> None:
    from whorl.spark.produce import produce, watch
    from whorl.spark.session import opened_session

    display = Display(job.name, quiet=run.quiet)
    display.say("starting Spark …")
    packages = () if run.jars else tuple(run.packages or job.packages)
    with opened_session(f"whorl-{job.name}", run.master, packages, run.jars or ()) as spark:
        productions = produce(spark, job, wanted, run.target, run.checkpoint)
        with display:
            watch(productions, display.show)
        display.sum_up(productions)


def _meet_server(
    outputs: tuple[Output, ...], construct: QueryText | None, url: str, token: str | None, lateness: str | None
) -> None:
    """Declare the streams first, so that a missing server is noticed before Spark starts."""
    with connected(url, token, construct) as client:
        for output in outputs:
            ensure_stream(client, output.stream, None if lateness is None else duration_ms(lateness))


@contextmanager
def _directory(checkpoint: str | None) -> Iterator[str]:
    """The checkpoint directory, or a temporary one."""
    kept = nullcontext(checkpoint) if checkpoint else tempfile.TemporaryDirectory(prefix="whorl-spark-")
    with kept as place:
        yield place if "://" in str(place) else str(Path(str(place)).absolute())


@contextmanager
def _spark_there() -> Iterator[None]:
    """Turn missing dependencies and failures inside the block into one-line errors."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from whorl.spark.errors import WhorlSparkError, spark_message
    except ImportError as error:
        hint = "pip install 'whorl[spark]', and install Java 17"
        raise CommandError(f"this needs Spark: {error}", hint=hint) from None
    try:
        yield
    except WhorlSparkError as error:
        raise CommandError(error.message, hint=error.hint) from None
    except (PySparkException, Py4JError) as error:
        message, advice = spark_message(error)
        raise CommandError(message, hint=advice) from None


# In the order of `whorl spark --help`.
COMMANDS = {"produce": produce, "list": list_producers, "run": run, "state": state}
