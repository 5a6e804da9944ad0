"""The taxi query of the CQELS paper over three streams that Spark writes, with a restart in between.

The answers of the server are those of an engine that is given the same rows directly, instant by instant.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import whorl
from reference_data import reference_path
from server_process import ServerProcess
from whorl.spark.feeds import Feed, StoredFeed
from whorl.spark.jobs import JobOptions, find
from whorl.spark.produce import Production, Target, produce, stop, watch
from whorl_client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = find("taxi")
QUERY = """PREFIX : <http://example.org/nyctaxi/>
SELECT ?taxi (AVERAGE(?fare/(?tripTime/3600)) AS ?hourlyRate)
FROM NAMED WINDOW :W1 ON :fare [COUNT 1000]
FROM NAMED WINDOW :W2 ON :pickup [RANGE PT2H @:pickupTime]
FROM NAMED WINDOW :W3 ON :dropoff [RANGE PT1H @:dropoffTime]
WHERE {
  WINDOW :W1 { ?trans :fare ?fare . ?trans :pickupTime ?pTime }
  WINDOW :W2 { ?ride :taxi ?taxi . ?ride :pickupTime ?pTime }
  WINDOW :W3 { ?ride :tripTime ?tripTime }
}
GROUP BY ?taxi
"""
# Every n-th taxi of the real data: the history of each is whole.
ONE_TAXI_IN = 12


@pytest.fixture
def trips(tmp_path: Path) -> str | None:
    """A part of the real trips, in a directory of the test; None where they are not on this machine."""
    path = reference_path("data", "debs2015", "trips-2013-01-01-0000-0056.csv.gz")
    if path is None:
        return None
    (tmp_path / "trips").mkdir()
    with gzip.open(path, "rt") as lines, (tmp_path / "trips" / "part.csv").open("w", newline="") as out:
        csv.writer(out).writerows(row for row in csv.reader(lines) if int(row[0][:6], 16) % ONE_TAXI_IN == 0)
    return str(tmp_path / "trips")


def test_three_streams_give_the_answers_of_the_engine_even_after_a_restart(
    spark: SparkSession, start_server: Callable[..., ServerProcess], tmp_path: Path, trips: str | None
) -> None:
    checkpoint, server = str(tmp_path / "checkpoint"), start_server()
    wanted = JobOptions(data=trips, rows=None if trips else 800)
    target = Target(server.url, server.token)
    with Client(server.url, server.token) as client:
        for output in JOB.outputs(wanted):
            client.streams.create(output.stream)
        client.register(QUERY, "rates", report=["change"], tick="time", r2s="CHANGES", dialect="cqels")

        first = produce(spark, JOB, _at_speed(wanted, 30), target, checkpoint)
        watch_until(first, lambda: any(one.batches for one in first))
        assert any(one.rows and (one.position or 0) < (one.last or 0) for one in first), "stopped too late"

        second = produce(spark, JOB, _at_speed(wanted, math.inf), target, checkpoint)
        watch(second)
        third = produce(spark, JOB, _at_speed(wanted, math.inf), target, checkpoint)
        watch(third)
        feeds = {output.name: feed_of_output(output.name, trips, checkpoint) for output in JOB.outputs(wanted)}
        for one, two, three in zip(first, second, third, strict=True):
            assert (one.rows + two.rows, three.rows) == (sum(b.num_rows for b in everything(feeds[one.output.name])), 0)
            client.stream(one.output.stream).close()

        expected = answers_of_the_engine(feeds)
        assert len(expected) > 50
        with client.query("rates").subscribe("earliest", limit=len(expected), timeout_s=60) as results:
            assert [_essence(result.envelope) for result in results] == expected
        assert client.queries.get("rates").document["lastSeq"] == len(expected)


def watch_until(productions: list[Production], reached: Callable[[], bool]) -> None:
    """Watch until something is true; then the job is stopped, as by an operator."""

    class Enough(Exception):  # noqa: N818 - no error
        pass

    def look(_: list[Production]) -> None:
        if reached():
            raise Enough

    with pytest.raises(Enough):
        watch(productions, look)
    stop(productions)


def feed_of_output(name: str, trips: str | None, checkpoint: str) -> Feed:
    if trips is None:
        return JOB.output(name).generated(start_ms=None, rows=800, seed=0)
    return StoredFeed(f"{checkpoint}/rows/{name}")


def everything(feed: Feed) -> list[pa.RecordBatch]:
    return list(feed.read(-1, 1 << 60))


def answers_of_the_engine(feeds: dict[str, Feed]) -> list[Any]:
    with whorl.Engine() as engine:
        for output in JOB.outputs(JobOptions()):
            engine.declare_stream(output.stream)
            engine.set_mapping(output.stream, output.mapping)
        query = engine.register(QUERY, "rates", report="change", tick="time", r2s="CHANGES", dialect="cqels")
        for output in JOB.outputs(JobOptions()):
            for batch in everything(feeds[output.name]):
                engine.push(output.stream, None, batch)
        for output in JOB.outputs(JobOptions()):
            engine.close_stream(output.stream)
        return [_essence(json.loads(result)) for result in query.results()]


def _at_speed(wanted: JobOptions, speed: float) -> JobOptions:
    return JobOptions(data=wanted.data, rows=wanted.rows, speed=speed)


def _essence(envelope: dict[str, Any]) -> dict[str, Any]:
    """What is the same wherever the answer comes from."""
    return {name: envelope.get(name) for name in ("t", "windows", "type", "insert", "delete")}
