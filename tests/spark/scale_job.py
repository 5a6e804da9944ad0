"""A query on Spark as a process of its own, which may be killed: `scale_job.py MASTER ROOT CASE PARTITIONS`.

Reads ROOT/<stream>/*.parquet, one file of each stream per micro-batch; writes ROOT/out, ends with the data.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from scaled_cases import CASES
from whorl.spark.scale import FilesOutput, StreamInput, run

LATENESS_MS = 2_000


def main(master: str, root: Path, name: str, partitions: int) -> None:
    case = CASES[name]
    spark = (
        SparkSession.builder.master(master)
        .appName("whorl-scale-job")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "700m")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.warehouse.dir", str(root / "warehouse"))
        .getOrCreate()
    )
    reader = spark.readStream.schema("t bigint, s string, p string, o string").option("maxFilesPerTrigger", 1)
    streams = {
        stream: StreamInput(reader.parquet(str(root / stream.rpartition("/")[2])), lateness=LATENESS_MS)
        for stream in case.streams
    }
    started = run(
        spark,
        case.query,
        streams,
        checkpoint=root / "checkpoint",
        output=FilesOutput(root / "out"),
        partitions=partitions,
        static=case.static,
        trigger="available-now",
        close=True,
        **case.options,
    )
    started.await_termination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
