"""The CQELS conference scenario: people seen at places of a building by RFID readers.

Recorded detections have no times; they are replayed at five per second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.spark.generators import conference as generated
from whorl.spark.jobs.job import Job, Output, always, submitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DETECTIONS = "http://deri.org/streams/rfid"
MAPPING = """PREFIX lv: <http://deri.org/floorplan/>
CONSTRUCT { ?who lv:detectedAt ?where }
WHERE {
  BIND(IRI(?person) AS ?who)
  BIND(IRI(?place) AS ?where)
}
"""


def detections(spark: SparkSession, data: str) -> DataFrame:
    """Lines `person detectedAt place`, in the order of the file."""
    from pyspark.sql import functions as f

    # One partition, so that line numbers are consecutive.
    lines = spark.read.text(data).coalesce(1).select(f.monotonically_increasing_id().alias("line"), "value")
    words = f.split("value", " ")
    time = generated.START_MS + f.col("line") * generated.PACE_MS
    return lines.select(time.alias("t"), words[0].alias("person"), words[2].alias("place"))


JOB = Job(
    name="conference",
    description="people at a conference, seen by RFID readers (CQELS)",
    data="text files with lines 'person predicate place', IRIs separated by blanks",
    outputs=always(Output("rfid", DETECTIONS, MAPPING, generated.GENERATOR, detections)),
)

if __name__ == "__main__":
    submitted(JOB.name)
