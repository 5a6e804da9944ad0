"""The engine on Spark against Spark itself: throughput at 1 and 2 partitions, the form of the exchange, latency.

    python benchmarks/spark_scale.py [--triples 32000000] [--batch 4000000] [--master 'local[2]'] [--only NAME …]

All read the same Parquet files (t, s, p, o) as micro-batches of a file source, and all check their results. The engine
is measured in two ways: its tasks read the files (`parquet_files`), or Spark does and passes on rows
(`readStream.parquet`).

- aggregation: readings per sensor in tumbling windows of 10 s: COUNT and SUM; Spark: groupBy(window, s).agg
- join: two streams joined by sensor in tumbling windows of 10 s, counted per window; Spark: its stream-stream join,
  which is why an eighth of the triples is enough
- exchange: one micro-batch through route, shuffle and engines: a row per triple, a row per chunk, and a row per chunk
  whose triples the tasks read themselves
- latency: micro-batches of 1000 triples

Throughput is from the end of the first micro-batch, which warms everything up, to the end of the last one.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import whorl
from whorl.spark.scale import Answers, CallbackOutput, ParquetFiles, parquet_files, run
from whorl.spark.scale.partition import PARTIALS
from whorl.spark.scale.route import ROUTED, RouteStage
from whorl.spark.scale.spec import QuerySpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from whorl.spark.scale.parquet import ParquetRows

EX = "http://example.org/"
TEMPERATURE, HUMIDITY = EX + "temperature", EX + "humidity"
COLUMNS = "t bigint, s string, p string, o bigint"
WINDOW_MS = 10_000
# Readings per second of event time.
RATE = 20_000
SENSORS = 5_000

AGGREGATION = """PREFIX : <http://example.org/>
SELECT ?x (COUNT(*) AS ?n) (SUM(?v) AS ?sum)
FROM NAMED WINDOW :w ON :temperatures [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?x :temperature ?v } } GROUP BY ?x"""

JOIN = """PREFIX : <http://example.org/>
SELECT (COUNT(*) AS ?n)
FROM NAMED WINDOW :w ON :temperatures [RANGE 10s STEP 10s]
FROM NAMED WINDOW :v ON :humidities [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?x :temperature ?a } WINDOW :v { ?x :humidity ?b } }"""


@dataclass
class Clock:
    """The time at which each micro-batch was complete."""

    ends: list[float] = field(default_factory=list)
    total: int = 0

    def tick(self) -> None:
        self.ends.append(time.perf_counter())

    def rate(self, triples_per_batch: int) -> float:
        return triples_per_batch * (len(self.ends) - 1) / (self.ends[-1] - self.ends[0])

    def latencies(self) -> list[float]:
        return [after - before for before, after in zip(self.ends, self.ends[1:], strict=False)]


def write_files(folder: Path, predicate: str, triples: int, per_file: int, seed: int, rate: int = RATE) -> None:
    """Readings in time order; each file is a part of a micro-batch."""
    folder.mkdir(parents=True)
    chance = np.random.default_rng(seed)
    sensors = pa.array([f"{EX}sensor/{number}" for number in range(SENSORS)])
    for number, start in enumerate(range(0, triples, per_file)):
        count = min(per_file, triples - start)
        times = 1_700_000_000_000 + (start + np.arange(count)) * 1000 // rate
        columns = {
            "t": pa.array(times),
            "s": sensors.take(pa.array(chance.integers(0, SENSORS, count))),
            "p": pa.array([predicate] * count),
            # No triple occurs twice, because a window is a set of triples, and Spark counts rows.
            "o": pa.array(start + np.arange(count)),
        }
        path = folder / f"{number:05d}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def stream(spark: SparkSession, folder: Path, files: int) -> DataFrame:
    return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", files).parquet(str(folder))


def files(spark: SparkSession, folder: Path, count: int) -> ParquetFiles:
    return parquet_files(spark, folder, schema=COLUMNS, options={"maxFilesPerTrigger": str(count)})


def total(terms: pa.ChunkedArray) -> int:
    """The sum of integers in N-Triples syntax."""
    numbers = pc.struct_field(pc.extract_regex(terms, r'^"(?P<number>\d+)"'), "number")
    return int(pc.sum(pc.cast(numbers, pa.int64())).as_py() or 0)


# ---- the engine ----


def engine_run(spark: SparkSession, query: str, streams: dict[str, Any], partitions: int) -> Clock:
    """Process everything to the end of the streams; `total` is the sum of ?n."""
    clock = Clock()

    def take(answers: Answers) -> None:
        clock.total += total(answers.rows["n"])
        if not answers.closed:
            clock.tick()

    with tempfile.TemporaryDirectory() as checkpoint:
        run(
            spark,
            query,
            streams,
            checkpoint=checkpoint,
            output=CallbackOutput(take, form="arrow"),
            partitions=partitions,
            trigger="available-now",
            close=True,
        ).await_termination()
    return clock


# ---- Spark itself ----


def spark_run(frame: DataFrame, count: Callable[[DataFrame], int]) -> Clock:
    clock = Clock()

    def take(batch: DataFrame, _: int) -> None:
        clock.total += count(batch)
        clock.tick()

    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.outputMode("append").foreachBatch(take).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
    return clock


def timed(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.withColumn("at", f.timestamp_millis("t")).withWatermark("at", "0 seconds")


def spark_aggregation(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    readings = timed(frame).where(f.col("p") == TEMPERATURE)
    return readings.groupBy(f.window("at", "10 seconds"), "s").agg(f.count("*").alias("n"), f.sum("o").alias("sum"))


def spark_join(left: DataFrame, right: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    a = timed(left).where(f.col("p") == TEMPERATURE).select(f.window("at", "10 seconds").alias("w"), "s", "o")
    b = (
        timed(right)
        .where(f.col("p") == HUMIDITY)
        .select(f.window("at", "10 seconds").alias("v"), "s", f.col("o").alias("b"))
    )
    return a.join(b, (a["s"] == b["s"]) & (a["w"] == b["v"]))


# ---- the form of the exchange ----


def engines(spec: QuerySpec, parts: dict[int, list[bytes]]) -> Iterator[pa.RecordBatch]:
    """Stage 2 with fresh engines and without state files: the cost of the exchange and of the engines."""
    from whorl._engine import PartitionEngine

    for part, chunks in parts.items():
        engine = PartitionEngine(spec.query(), part)
        facts = engine.absorb(chunks)
        row = [part, "", "", facts["triples"], engine.drain(), ""]
        types = [pa.int32(), pa.string(), pa.string(), pa.int64(), pa.binary(), pa.string()]
        names = ["part", "kind", "file", "file_bytes", "answers", "report"]
        yield pa.RecordBatch.from_arrays([pa.array([v], t) for v, t in zip(row, types, strict=True)], names)


def by_chunk(frame: DataFrame, partitions: int, rows: ParquetRows | None = None) -> DataFrame:
    """With `rows`, the frame has the addresses of files."""
    spec = QuerySpec.of(AGGREGATION, partitions, {})
    stage = RouteStage(spec, EX + "temperatures", 0, files=rows)

    def second(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts: dict[int, list[bytes]] = {}
        for batch in batches:
            for part, chunk in zip(batch.column("part").to_pylist(), batch.column("chunk").to_pylist(), strict=True):
                parts.setdefault(part, []).append(chunk)
        yield from engines(spec, parts)

    chunks = frame.mapInArrow(lambda batches: stage(batches), ROUTED)
    return chunks.repartitionById(partitions, "part").mapInArrow(second, PARTIALS)


def by_triple(frame: DataFrame, partitions: int) -> DataFrame:
    """Spark's own exchange moves rows; each task then has all triples of its sensors, and one engine."""
    spec = QuerySpec.of(AGGREGATION, 1, {})
    stage = RouteStage(spec, EX + "temperatures", 0)

    def second(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from engines(spec, {0: [chunk for one in stage(batches) for chunk in one.column("chunk").to_pylist()]})

    return frame.repartition(partitions, "s").mapInArrow(second, PARTIALS)


def exchange(name: str, make: Callable[[], DataFrame], triples: int) -> None:
    rates = []
    for _ in range(4):
        # A new frame each time, because Spark caches the shuffle of a frame.
        frame = make()
        began = time.perf_counter()
        table = frame.toArrow()
        rates.append(triples / (time.perf_counter() - began))
        taken = pc.sum(table["file_bytes"]).as_py()
        if taken != triples:
            raise SystemExit(f"{name}: {taken} of {triples} triples have arrived")
    show(name, statistics.median(rates[1:]))


# ---- the report ----


def show(name: str, rate: float, latencies: list[float] | None = None) -> None:
    seconds = "" if not latencies else f"{statistics.median(latencies):>9.2f} {max(latencies):>7.2f}"
    print(f"{name:<44} {rate:>12,.0f} {seconds}", flush=True)


def check(name: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"{name}: counted {found}, not {wanted}")


def joined(folder_a: Path, folder_b: Path) -> int:
    """The number of pairs, computed by numpy."""
    counts = []
    for folder in (folder_a, folder_b):
        table = pq.read_table(folder)
        sensors = np.array([int(text.rpartition("/")[2]) for text in table["s"].unique().to_pylist()])
        names = {f"{EX}sensor/{number}": number for number in sensors}
        numbers = np.array([names[text] for text in table["s"].to_pylist()])
        counts.append(np.unique(table["t"].to_numpy() // WINDOW_MS * SENSORS + numbers, return_counts=True))
    (keys_a, n_a), (keys_b, n_b) = counts
    _, at_a, at_b = np.intersect1d(keys_a, keys_b, return_indices=True)
    return int((n_a[at_a] * n_b[at_b]).sum())


def session(master: str) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("whorl-benchmark").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.sql.session.timeZone": "UTC",
        # Spark's best state store for joins and aggregates with much state.
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def aggregation(spark: SparkSession, root: Path, triples: int, batch: int) -> None:
    folder = root / "temperatures"
    write_files(folder, TEMPERATURE, triples, batch // 4, 1)
    ways: list[tuple[str, int, Any]] = [
        ("files", 1, files(spark, folder, 4)),
        ("files", 2, files(spark, folder, 4)),
        ("rows", 2, stream(spark, folder, 4)),
    ]
    for way, partitions, readings in ways:
        clock = engine_run(spark, AGGREGATION, {EX + "temperatures": readings}, partitions)
        check("aggregation", clock.total, triples)
        show(f"aggregation, engine, {way}, partitions: {partitions}", clock.rate(batch), clock.latencies())
    frame = spark_aggregation(stream(spark, folder, 4))
    clock = spark_run(frame, lambda rows: rows.agg({"n": "sum"}).first()[0] or 0)  # type: ignore[index]  # an aggregate has a row
    show("aggregation, Spark SQL", clock.rate(batch), clock.latencies())


def join(spark: SparkSession, root: Path, triples: int, batch: int) -> None:
    triples, batch = triples // 8, batch // 8
    folders = {EX + "temperatures": root / "join-a", EX + "humidities": root / "join-b"}
    write_files(root / "join-a", TEMPERATURE, triples // 2, batch // 2, 2, RATE // 2)
    write_files(root / "join-b", HUMIDITY, triples // 2, batch // 2, 3, RATE // 2)
    wanted = joined(*folders.values())
    for partitions in (1, 2):
        streams = {iri: files(spark, folder, 1) for iri, folder in folders.items()}
        clock = engine_run(spark, JOIN, streams, partitions)
        check("join", clock.total, wanted)
        show(f"join, engine, files, partitions: {partitions}", clock.rate(batch), clock.latencies())
    left, right = (stream(spark, folder, 1) for folder in folders.values())
    clock = spark_run(spark_join(left, right), lambda rows: rows.count())
    check("join, Spark", clock.total, wanted)
    show("join, Spark's stream-stream join", clock.rate(batch), clock.latencies())


def exchanges(spark: SparkSession, root: Path, triples: int, batch: int) -> None:
    folder = root / "exchange"
    write_files(folder, TEMPERATURE, min(triples, 2 * batch), batch // 2, 4)
    rows = files(spark, folder, 1).rows
    n_triples = spark.read.parquet(str(folder)).count()

    def read() -> DataFrame:
        return spark.read.schema(COLUMNS).parquet(str(folder))

    def listed() -> DataFrame:
        return spark.read.format("binaryFile").load(str(folder)).select("path")

    exchange("exchange, a row per triple, 2 partitions", lambda: by_triple(read(), 2), n_triples)
    exchange("exchange, a row per chunk, 2 partitions", lambda: by_chunk(read(), 2), n_triples)
    exchange("exchange, files, a row per chunk, 2 partitions", lambda: by_chunk(listed(), 2, rows), n_triples)


def latency(spark: SparkSession, root: Path, triples: int, batch: int) -> None:  # noqa: ARG001 - small on purpose
    folder = root / "small"
    write_files(folder, TEMPERATURE, 30_000, 1_000, 5, 500)
    clock = engine_run(spark, AGGREGATION, {EX + "temperatures": files(spark, folder, 1)}, 2)
    show("latency, 1000 triples, 2 partitions", clock.rate(1_000), clock.latencies())
    clock = spark_run(spark_aggregation(stream(spark, folder, 1)), lambda rows: rows.count())
    show("latency, 1000 triples, Spark SQL aggregation", clock.rate(1_000), clock.latencies())


PARTS: dict[str, Callable[[Any, Path, int, int], None]] = {
    "aggregation": aggregation,
    "join": join,
    "exchange": exchanges,
    "latency": latency,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=32_000_000)
    parser.add_argument("--batch", type=int, default=4_000_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    if importlib.util.find_spec("pyspark") is None:
        raise SystemExit("this needs Spark: pip install 'whorl[spark]', and Java 17")
    spark = session(arguments.master)
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, {arguments.master}")
    print(f"whorl {whorl.__version__}, Spark {spark.version}")
    print(f"{arguments.triples:,} triples in micro-batches of {arguments.batch:,}\n")
    print(f"{'':<44} {'triples/s':>12} {'p50 s':>9} {'max s':>7}")
    with tempfile.TemporaryDirectory() as root:
        for name in arguments.only:
            PARTS[name](spark, Path(root), arguments.triples, arguments.batch)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
