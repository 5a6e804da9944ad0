"""What tests of the sink write: rows whose number and sum are known, and a query that counts what arrived."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from server_process import ServerProcess
from whorl_client import Client

EX = "http://example.org/"
SCHEMA = "value long, timestamp timestamp"
MAPPING = f"""
    PREFIX : <{EX}>
    CONSTRUCT {{ ?reading :value ?value ; :at ?timestamp ; :sensor ?sensor }}
    WHERE {{
        BIND(IRI(CONCAT("{EX}r/", STR(?value))) AS ?reading)
        BIND(IRI(CONCAT("{EX}s/", STR(?value - 10 * FLOOR(?value / 10)))) AS ?sensor)
    }}
"""
ROWS_PER_FILE = 50


def write_files(directory: Path, numbers: range) -> Path:
    """One file of rows for each number; a job reads one in each batch, in this order."""
    directory.mkdir(exist_ok=True)
    for number in numbers:
        values = range(number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE)
        lines = (f'{{"value": {value}, "timestamp": "{_clock(value)}"}}\n' for value in values)
        path = directory / f"{number:04}.json"
        path.write_text("".join(lines))
        # Spark takes files by their age.
        os.utime(path, (number, number))
    return directory


def files_as_stream(spark: SparkSession, directory: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(directory))


def readings(spark: SparkSession, rows: int) -> DataFrame:
    """The same rows at once, in two partitions."""
    at = f.timestamp_millis(f.col("id") * 100)
    return spark.range(0, rows, 1, 2).select(f.col("id").alias("value"), at.alias("timestamp"))


def sink_options(server: ServerProcess, iri: str, **further: Any) -> dict[str, str]:
    """Options of a job that maps these rows."""
    options = {"url": server.url, "token": server.token, "stream": iri, "patience": "5s", "timeColumn": "timestamp"}
    return {name: str(value) for name, value in {**options, "mapping": MAPPING, **further}.items()}


def run_to_end(frame: DataFrame, options: dict[str, str], checkpoint: Path) -> Any:
    """Run a streaming query over all that is there."""
    from whorl.spark import await_termination

    writer = frame.writeStream.format("whorl").options(**options).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    await_termination(query)
    return query


def register_count(client: Client, iri: str, name: str) -> None:
    """A query whose answer is how many readings there were, how many different ones, and their sum."""
    text = f"""PREFIX : <{EX}>
        SELECT (COUNT(?v) AS ?n) (COUNT(DISTINCT ?v) AS ?different) (SUM(?v) AS ?sum)
        FROM NAMED WINDOW :w ON <{iri}> [RANGE 10000s STEP 10000s]
        WHERE {{ WINDOW :w {{ ?r :value ?v }} }}"""
    client.register(text, name=name, semantics="bag")


def counted(client: Client, iri: str, name: str) -> tuple[int, int, int]:
    """The answer of that query, when its window closes."""
    client.stream(iri).watermark(10_000_000)
    (row,) = client.query(name).answer().rows
    return _number(row["n"]), _number(row["different"]), _number(row["sum"])


def once(rows: int) -> tuple[int, int, int]:
    """What is counted when each row came once."""
    return rows, rows, rows * (rows - 1) // 2


def events(client: Client, iri: str) -> int:
    return _number(client.streams.get(iri).document["events"])


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _clock(value: int) -> str:
    """A tenth of a second for each value, from 1970 on."""
    seconds, tenths = divmod(value, 10)
    return f"1970-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{tenths}Z"
