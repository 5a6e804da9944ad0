"""Triples per second from a Spark job into a server, and where the time goes.

    python benchmarks/spark_sink.py [--rows 400000] [--batches 8] [--cores 2]

A streaming query generates readings (IRIs as text, numbers, instants) and writes them by the sink; a mapping on the
server turns each row into three triples. The server is a separate process; acknowledgements are synced to the disk.
There are runs with no query and with a join of three patterns. The first two batches warm up and do not count. A batch
is staged by Spark and then applied by the server: "apply" is the engine's part, "sync" that of the log. The CPU columns
are processor seconds per batch, of the server and of Spark with its workers; on a busy machine, only these are
meaningful.

A run counts only if the server has accepted one event per row, and the join has reported one row per reading above its
threshold.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readings import STREAM, TRIPLES_PER_EVENT, query

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
from server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from whorl_client import Client

ROOT = Path(__file__).resolve().parents[1]
WARM_UP = 2
EX = "http://example.org/"
MAPPING = f"""
    PREFIX : <{EX}>
    CONSTRUCT {{ ?o :madeBy ?s ; :value ?value . ?s :in ?r }}
    WHERE {{ BIND(IRI(?reading) AS ?o) BIND(IRI(?sensor) AS ?s) BIND(IRI(?room) AS ?r) }}
"""
# One row in ten is a result, so that ingestion is measured and not JSON.
JOIN = query("?o ?r ?v", "1s", "1s", "FILTER(?v > 90000)")


@dataclass
class Sample:
    """One run: seconds of each measured batch, and the average cost per batch."""

    batch_s: list[float]
    apply_s: float
    sync_s: float
    server_cpu_s: float
    spark_cpu_s: float

    def per_second(self, rows: int) -> list[float]:
        return [rows * TRIPLES_PER_EVENT / seconds for seconds in self.batch_s]


def readings(spark: SparkSession, rows: int) -> DataFrame:
    """Batches of readings; a batch is ten seconds long."""
    from pyspark.sql import functions as f

    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 2)
    made = source.option("startTimestamp", 0).option("advanceMillisPerBatch", 10_000).load()
    number = f.col("value")
    step_us = 10_000_000 // rows or 1
    return made.select(
        f.timestamp_micros(number * step_us).alias("t"),
        f.concat(f.lit(f"{EX}o/"), number).alias("reading"),
        f.concat(f.lit(f"{EX}s/"), number % 997).alias("sensor"),
        (number * 7919 % 100_003).alias("value"),
        f.concat(f.lit(f"{EX}r/"), number % 997 % 31).alias("room"),
    )


def measure(spark: SparkSession, arguments: argparse.Namespace, *, joins: bool) -> Sample:
    from whorl_client import Client

    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory) / "data", {"ring_bytes_max": 512 << 20}).start()
        try:
            with Client(server.url, server.token) as client:
                client.streams.create(STREAM)
                if joins:
                    client.register(JOIN, name="join", keep_answer=False, keep_windows=False)
                before = cpu_seconds(server)
                progress = run(spark, server, arguments, Path(directory) / "checkpoint")
                spent = [after - begun for after, begun in zip(cpu_seconds(server), before, strict=True)]
                check(client, arguments, joins=joins)
                numbers = counters(server)
        finally:
            server.kill()
    counted = progress[WARM_UP:]
    batch_s = [batch["durationMs"]["triggerExecution"] / 1000 for batch in counted]
    return Sample(batch_s, *(total / len(progress) for total in (numbers["apply"], numbers["commit"], *spent)))


def run(
    spark: SparkSession, server: ServerProcess, arguments: argparse.Namespace, checkpoint: Path
) -> list[dict[str, Any]]:
    writer = readings(spark, arguments.rows).writeStream.format("whorl").option("url", server.url)
    writer = writer.option("token", server.token).option("stream", STREAM).option("mapping", MAPPING)
    writer = writer.option("compression", arguments.compression).option("maxBodyBytes", arguments.body_bytes)
    job = writer.option("checkpointLocation", str(checkpoint)).start()
    wanted = arguments.batches + WARM_UP
    while len(job.recentProgress) < wanted:
        job.awaitTermination(1)
    job.stop()
    arguments.done = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal()) + 1
    return list(job.recentProgress)


def check(client: Client, arguments: argparse.Namespace, *, joins: bool) -> None:
    """Check the results: a fast wrong answer is a failed run."""
    document = client.streams.get(STREAM).document
    # A batch may have been committed that Spark had no time to record.
    expected = {arguments.rows * n for n in (arguments.done, arguments.done + 1)}
    if document["events"] not in expected:
        raise SystemExit(f"{document['events']} events arrived, {min(expected)} were sent")
    if joins:
        results, token = client.query("join").poll()
        rows = last = 0
        while results:
            rows += sum(len(result.rows) for result in results)
            last = results[-1].t
            results, token = client.query("join").poll(token)
        step_us = 10_000_000 // arguments.rows or 1
        made = -(-last * 1000 // step_us)
        wanted = sum(1 for number in range(made) if number * 7919 % 100_003 > 90_000)
        if rows != wanted:
            raise SystemExit(f"the join gave {rows} rows, {wanted} were to come")


def counters(server: ServerProcess) -> dict[str, float]:
    """Processor seconds of the server's threads."""
    with server.client() as http:
        lines = http.get("/metrics").text.splitlines()
    found = {line.split()[0]: float(line.split()[1]) for line in lines if line and not line.startswith("#")}
    return {
        "apply": next(value for name, value in found.items() if "apply_seconds" in name),
        "commit": next(value for name, value in found.items() if "commit_seconds" in name),
    }


def cpu_seconds(server: ServerProcess) -> tuple[float, float]:
    """Processor time so far of the server, and of this process with its descendants (Linux)."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number] = int(fields[1])
            used[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while below := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= below
    servers = server.process.pid if server.process is not None else 0
    return used.get(servers, 0.0), sum(used.get(number, 0.0) for number in ours - {servers})


def session(cores: int) -> SparkSession:
    paths = [str(ROOT / "server"), str(ROOT / "clients" / "python" / "src"), os.environ.get("PYTHONPATH", "")]
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    import whorl.spark
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50000")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    whorl.spark.register(spark)
    return spark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000, help="rows of a batch")
    parser.add_argument("--batches", type=int, default=8, help="batches that count")
    parser.add_argument("--cores", type=int, default=2, help="cores of Spark")
    parser.add_argument("--compression", default="zstd")
    parser.add_argument("--body-bytes", type=int, default=4 << 20)
    arguments = parser.parse_args()
    spark = session(arguments.cores)
    print(f"{platform.platform()}, {os.cpu_count()} cores, {arguments.rows} rows a batch, {arguments.batches} batches")
    titles = ("triples/s", "min", "max", "batch s", "apply s", "sync s", "server CPU s", "Spark CPU s")
    print(f"{'':18}" + "".join(f"{title:>14}" for title in titles))
    for joins in (False, True):
        sample = measure(spark, arguments, joins=joins)
        speeds = sample.per_second(arguments.rows)
        shown = [f"{value:14,.0f}" for value in (statistics.median(speeds), min(speeds), max(speeds))]
        shown += [f"{value:14.2f}" for value in (statistics.median(sample.batch_s), sample.apply_s, sample.sync_s)]
        shown += [f"{value:14.2f}" for value in (sample.server_cpu_s, sample.spark_cpu_s)]
        print(f"{'a join of three' if joins else 'no query':18}" + "".join(shown), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
