"""The files of LSBench's generator as rows: Turtle, one triple per line, in stream order.

Posts, comments, albums, photos and fixes are events at the times in their data, with unchanged triples. Likes have no
times: the n-th like of an item comes n minutes after it. The generator writes each like several times; duplicates are
dropped.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from whorl.spark.errors import WhorlSparkError
from whorl.spark.rdf_text import TEXT_COLUMNS, TRIPLE_SCHEMA, triples_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

LIKE_PACE_MS = 60_000
# The first line of an item or of a fix, and the line with its time.
_BEGINNING = re.compile(
    r"(\S+) (?:(?:a|rdf:type) (?:sib:Post|sib:Comment|sib:Photo|sioct:ImageGallery)|sib:trackedAt \S+) \."
)
_TIME = re.compile(r'\S+ (?:dc:created|sib:trackedTime) "([^"]+)"')
_LIKE = r"^\w+:(\S+) sib:like (\w+:(\S+)) \."
_TEXTS = pa.schema([("t", pa.int64()), ("text", pa.string()), ("source", pa.string())])


def things(name: str) -> Callable[[SparkSession, str], DataFrame]:
    """Posts, photos or positions: the triples of each, at its time."""

    def load(spark: SparkSession, data: str) -> DataFrame:
        return _texts(spark, data, name).mapInArrow(triples_of("turtle"), TRIPLE_SCHEMA)

    return load


def likes(name: str, liked: str) -> Callable[[SparkSession, str], DataFrame]:
    """Likes with the times of the liked items."""

    def load(spark: SparkSession, data: str) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        lines = _lines(spark, data, name).select(f.monotonically_increasing_id().alias("line"), "value")
        once = lines.groupBy("value").agg(f.min("line").alias("line"))
        likes = once.select("line", *(f.regexp_extract("value", _LIKE, part).alias(str(part)) for part in (1, 2, 3)))
        made = _texts(spark, data, liked).select(f.col("source").alias("2"), f.col("t").alias("made"))
        rank = f.row_number().over(Window.partitionBy("2").orderBy("line"))
        known = likes.join(made, "2").withColumn("t", f.col("made") + rank * LIKE_PACE_MS)
        return known.select("t", f.col("1").alias("user"), f.col("3").alias("liked"))

    return load


def _lines(spark: SparkSession, data: str, name: str) -> DataFrame:
    # One partition, because an item has several lines.
    return spark.read.text(f"{data}/{name}*.ttl*").coalesce(1)


def _texts(spark: SparkSession, data: str, name: str) -> DataFrame:
    return _lines(spark, data, name).mapInArrow(_events, TEXT_COLUMNS)


def _events(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines → one text for each event, with the prefixes of the file. Its source is its subject."""
    prefixes: list[str] = []
    event: list[str] = []
    for batch in batches:
        rows = []
        for line in batch.column(0).to_pylist():
            if line.startswith("@prefix"):
                prefixes.append(line)
                continue
            if event and _BEGINNING.match(line):
                rows.append(_event(prefixes, event))
                event = []
            event.append(line)
        yield pa.RecordBatch.from_pylist(rows, _TEXTS)
    if event:
        yield pa.RecordBatch.from_pylist([_event(prefixes, event)], _TEXTS)


def _event(prefixes: list[str], lines: list[str]) -> dict[str, object]:
    subject = lines[0].split(" ", 1)[0]
    moment = next((found[1] for line in lines if (found := _TIME.match(line)) is not None), None)
    if moment is None:
        raise WhorlSparkError(
            f"{subject} has no time", "it needs a dc:created or a sib:trackedTime; is its file cut off?"
        )
    t = round(datetime.fromisoformat(moment).timestamp() * 1000)
    return {"t": t, "text": "\n".join([*prefixes, *lines]), "source": subject}
