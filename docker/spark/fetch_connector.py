"""Fetch Spark's connector for Kafka and what it needs: `python fetch_connector.py DIRECTORY`.

The connector itself is put into the directory as `connector.jar`, for `--jars`; the rest among the jars of Spark.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

CONNECTOR = "spark-sql-kafka-0-10_2.13"


def main() -> None:
    """Let Spark resolve its own package, and keep what came."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as ivy:
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.jars.ivy", ivy)
        builder = builder.config("spark.jars.packages", f"org.apache.spark:{CONNECTOR}:{pyspark.__version__}")
        builder.getOrCreate().stop()
        fetched = sorted(Path(ivy, "jars").glob("*.jar"))
        (connector,) = [jar for jar in fetched if CONNECTOR in jar.name]
        shutil.copyfile(connector, directory / "connector.jar")
        for jar in fetched:
            if jar != connector:
                shutil.copyfile(jar, Path(pyspark.__file__).parent / "jars" / jar.name)


if __name__ == "__main__":
    main()
