"""The description of a producer: the streams it writes, the mapping of rows to triples, and the source of the rows.

Rows come from a generator, from files that are replayed in order of time, or from a live source (`follow`). All three
have the same columns, so that one mapping fits all.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.spark.errors import WhorlSparkError
from whorl.spark.generators import NO_CHANGES, Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from whorl.spark.feeds import Feed
    from whorl.spark.generators import Generator

# The column with the time of a row, in milliseconds.
TIME_COLUMN = "t"


@dataclass(frozen=True)
class JobOptions:
    """The user's options for a producer. Times are in milliseconds."""

    data: str | None = None
    stream: str | None = None
    mapping: str | None = None
    time_column: str | None = None
    input_format: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    topic: str | None = None
    servers: str | None = None
    starting_from: str = "earliest"
    speed: float | None = None
    rows: int | None = None
    seed: int = 0
    start_ms: int | None = None
    once: bool = False
    changes: Changes = NO_CHANGES


@dataclass(frozen=True)
class Output:
    """One stream of a producer.

    `load` returns all rows of a data directory, with the columns of the generator or those of triples; `follow` returns
    a streaming source of Spark. In both, column `t` has the time in milliseconds.
    """

    name: str
    stream: str
    mapping: str | None = None
    generator: Generator | None = None
    load: Callable[[SparkSession, str], DataFrame] | None = None
    follow: Callable[[SparkSession], DataFrame] | None = None

    def generated(self, *, start_ms: int | None, rows: int | None, seed: int, changes: Changes = NO_CHANGES) -> Feed:
        """The generated rows of the stream."""
        if self.generator is None:
            raise WhorlSparkError(f"'{self.name}' has no generator", "give --data")
        return self.generator.feed(start_ms=start_ms, rows=rows, seed=seed, changes=changes)


@dataclass(frozen=True)
class Job:
    """A producer. `outputs` depends on the options only if the data is the user's own."""

    name: str
    description: str
    data: str
    outputs: Callable[[JobOptions], tuple[Output, ...]]
    packages: tuple[str, ...] = ()

    def output(self, name: str) -> Output:
        """The output of that name, of a producer with recorded or generated data."""
        return next(output for output in self.outputs(JobOptions()) if output.name == name)


def always(*outputs: Output) -> Callable[[JobOptions], tuple[Output, ...]]:
    """An `outputs` function for streams that do not depend on the options."""
    return lambda _: outputs


def needed(value: str | None, option: str, meaning: str) -> str:
    """The value of an option that is required for the user's own data."""
    if value is None:
        raise WhorlSparkError(f"option {option} is missing", f"give {meaning}")
    return value


def millis_of(moment: Column) -> Column:
    """A date and time without a zone, read as UTC whatever the zone of the session is."""
    from pyspark.sql import functions as f

    return f.unix_millis(f.to_timestamp(f.concat(moment, f.lit("Z"))))


def timed(rows: DataFrame, column: str) -> DataFrame:
    """Rows of a user, with their time as milliseconds in `t`; the original column stays."""
    from pyspark.sql import functions as f
    from pyspark.sql import types

    if column not in rows.columns:
        columns = ", ".join(rows.columns)
        raise WhorlSparkError(f"the rows have no column '{column}'; they have {columns}", "name one with --time")
    if TIME_COLUMN in rows.columns and column != TIME_COLUMN:
        raise WhorlSparkError("the rows have a column 't' that is not their time", "rename it, or use --time t")
    if isinstance(rows.schema[column].dataType, types.IntegralType):
        return rows.withColumn(TIME_COLUMN, f.col(column).cast("bigint"))
    return rows.withColumn(TIME_COLUMN, f.unix_millis(f.col(column).cast("timestamp")))


def submitted(name: str) -> None:
    """The main function of a producer's script: `spark-submit taxi.py --speed x60` is `whorl spark produce taxi …`."""
    from whorl.cli.app import app

    app(["spark", "produce", name, *sys.argv[1:]], prog_name="whorl")
