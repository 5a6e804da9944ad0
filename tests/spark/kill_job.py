"""A job that is killed: writes batches of numbered rows until there are enough, from wherever its checkpoint stands.

    python kill_job.py URL STREAM CHECKPOINT BATCHES ROWS

The token of the server is in WHORL_TOKEN.
"""

from __future__ import annotations

import sys

import whorl.spark
from pyspark.sql import SparkSession
from sink_job import MAPPING


def main(url: str, stream: str, checkpoint: str, batches: int, rows: int) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    whorl.spark.register(spark)
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 2)
    frame = source.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()
    sink = frame.writeStream.format("whorl").option("url", url).option("stream", stream).option("mapping", MAPPING)
    query = sink.option("timeColumn", "timestamp").option("checkpointLocation", checkpoint).start()
    while query.isActive and not (query.lastProgress and query.lastProgress["batchId"] >= batches - 1):
        whorl.spark.await_termination(query, 0.1)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    _, server_url, stream_iri, directory, n_batches, rows_per_batch = sys.argv
    main(server_url, stream_iri, directory, int(n_batches), int(rows_per_batch))
