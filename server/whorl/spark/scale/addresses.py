"""Sources and sinks as a command line writes them: `parquet:readings/`, `kafka:localhost:9092/answers`, `whorl:http://ex/s`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from whorl.spark.scale.faults import ScaleError
from whorl.spark.scale.outputs import FilesOutput, KafkaOutput, WhorlStreamOutput
from whorl.spark.scale.outputs.directory import ndjson
from whorl.spark.scale.parquet import ParquetFiles, parquet_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whorl.spark.scale.outputs import Answers, Output

_FILE_FORMATS = ("parquet", "csv", "json", "orc")
_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".ndjson": "json", ".jsonl": "json", ".orc": "orc"}


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a stream's rows: a format of Spark, and a location."""

    format: str
    place: str
    schema: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, address: str, schema: str | None = None, options: dict[str, str] | None = None) -> Source:
        """`FORMAT:PLACE`, or a path whose name implies its format."""
        form, colon, place = address.partition(":")
        if colon and form in (*_FILE_FORMATS, "kafka"):
            return cls(form, place, schema, options or {})
        form = _ENDINGS.get(PurePosixPath(address.rstrip("*")).suffix, "")
        if not form:
            raise ScaleError(
                f"cannot tell the format of {address!r}",
                code="spark.source",
                hint=f"write FORMAT:PATH, FORMAT being one of {', '.join(_FILE_FORMATS)}, or kafka:HOST:PORT/TOPIC",
            )
        return cls(form, address, schema, options or {})

    def rows(self, spark: SparkSession) -> DataFrame | ParquetFiles:
        """The rows, as a streaming frame or as files."""
        if self.format == "kafka":
            return self._topic(spark)
        if self.format == "parquet":
            return parquet_files(spark, self.place, schema=self.schema, options=self.options)
        return self._files(spark)

    def _files(self, spark: SparkSession) -> DataFrame:
        options = {"header": "true", **self.options} if self.format == "csv" else self.options
        # Without a schema, it is inferred from the existing files; inferSchema is for CSV.
        schema: Any = self.schema or (
            spark.read.format(self.format).options(inferSchema="true", **options).load(self.place).schema
        )
        return spark.readStream.format(self.format).schema(schema).options(**options).load(self.place)

    def _topic(self, spark: SparkSession) -> DataFrame:
        from pyspark.sql import functions as f

        servers, topic = _topic_of(self.place)
        if self.schema is None:
            hint = "add --schema, such as 't BIGINT, s STRING, p STRING, o STRING'"
            raise ScaleError("the values of a topic are JSON objects of columns that must be named", hint=hint)
        reader = spark.readStream.format("kafka").options(startingOffsets="earliest", **self.options)
        records = reader.option("kafka.bootstrap.servers", servers).option("subscribe", topic).load()
        return records.select(f.from_json(f.col("value").cast("string"), self.schema).alias("row")).select("row.*")


class ConsoleOutput:
    """Rows as lines of JSON on standard output. A repeated batch is printed again."""

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ANN401, ARG002 - the contract of outputs
        """One batch."""
        sys.stdout.write(ndjson(answers).decode())
        sys.stdout.flush()


def output_of(address: str, url: str, token: str | None, mapping: str | None = None) -> Output:
    """The output of an address; `url` and `token` are those of the server, for streams."""
    if address == "-":
        return ConsoleOutput()
    kind, colon, place = address.partition(":")
    if not colon or not place or kind not in {"parquet", "ndjson", "kafka", "whorl"}:
        raise ScaleError(
            f"{address!r} is not a sink",
            code="spark.sink",
            hint="write parquet:DIR, ndjson:DIR, kafka:HOST:PORT/TOPIC, whorl:STREAM, or - for lines of JSON",
        )
    if kind == "whorl":
        return WhorlStreamOutput(url, place, token, mapping)
    if kind == "kafka":
        return KafkaOutput(*_topic_of(place))
    return FilesOutput(place, "parquet" if kind == "parquet" else "ndjson")


def _topic_of(place: str) -> tuple[str, str]:
    servers, slash, topic = place.rpartition("/")
    if not slash or not topic or ":" not in servers:
        raise ScaleError(f"{place!r} is not a topic", code="spark.source", hint="write kafka:HOST:PORT/TOPIC")
    return servers, topic
