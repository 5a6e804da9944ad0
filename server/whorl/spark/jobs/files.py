"""Files of the user's own: CSV, JSON lines or Parquet, with a mapping and a column of times.

A directory is followed: new files are read as they appear. With a speed, the files that exist now are replayed in order
of time instead.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from whorl.spark.errors import WhorlSparkError
from whorl.spark.jobs.job import Job, JobOptions, Output, needed, submitted, timed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

FORMATS = ("csv", "json", "parquet")
_ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_DEFAULTS: Mapping[str, Mapping[str, str]] = {"csv": {"header": "true"}, "json": {}, "parquet": {}}


def outputs(wanted: JobOptions) -> tuple[Output, ...]:
    """One stream, read from the given directory."""
    data = needed(wanted.data, "--data", "the directory, file or pattern to read")
    form = format_of(data, wanted.input_format)
    time_column = needed(wanted.time_column, "--time", "the column with the times")

    def load(spark: SparkSession, data: str) -> DataFrame:
        return timed(_reader(spark, form, wanted).load(data), time_column)

    def follow(spark: SparkSession) -> DataFrame:
        schema = _reader(spark, form, wanted).load(data).schema
        options = {**_DEFAULTS[form], **wanted.options}
        return timed(spark.readStream.format(form).options(**options).schema(schema).load(data), time_column)

    return (
        Output(
            name="rows",
            stream=needed(wanted.stream, "--stream", "the IRI of the stream"),
            mapping=needed(wanted.mapping, "--mapping", "a file with the CONSTRUCT that makes triples of rows"),
            load=load,
            follow=follow,
        ),
    )


def format_of(data: str, given: str | None) -> str:
    """The format of the files: the given one, or the one that their names imply."""
    name = PurePosixPath(data.removesuffix(".gz").rstrip("*"))
    form = given or _ENDINGS.get(name.suffix)
    if form not in FORMATS:
        said = "does not have a name that shows its format" if given is None else f"cannot be read as {given}"
        raise WhorlSparkError(f"'{data}' {said}", f"give --input-format, one of {', '.join(FORMATS)}")
    return form


def _reader(spark: SparkSession, form: str, wanted: JobOptions) -> DataFrameReader:
    reader = spark.read.format(form).options(**{**_DEFAULTS[form], **wanted.options})
    if wanted.schema is not None:
        return reader.schema(wanted.schema)
    return reader.option("inferSchema", "true") if form == "csv" else reader


JOB = Job(
    name="files",
    description="your own CSV, JSON or Parquet files, by a mapping",
    data="a directory, file or pattern",
    outputs=outputs,
)

if __name__ == "__main__":
    submitted(JOB.name)
