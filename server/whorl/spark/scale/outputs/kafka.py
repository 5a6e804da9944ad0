"""Answers in a Kafka topic, by Spark's own writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whorl.spark.scale.outputs.answers import Answers


@dataclass(frozen=True, slots=True)
class KafkaOutput:
    """One record per row: the key is the query, the value a JSON object; headers say `query`, `batch` and `seq`.

    Spark's writer delivers at least once. A batch that comes again has the same headers and values, so that a reader
    who remembers the last batch sees each once. `options` go to the writer (`kafka.security.protocol` …).
    """

    servers: str
    topic: str
    options: dict[str, str] = field(default_factory=dict)

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ANN401 - a SparkSession, classic or Connect
        """One batch."""
        if answers.table.num_rows == 0:
            return
        writer = self.records(answers, spark).write.format("kafka").options(**self.options)
        writer.option("kafka.bootstrap.servers", self.servers).option("topic", self.topic).option(
            "includeHeaders", "true"
        ).save()

    def records(self, answers: Answers, spark: Any) -> DataFrame:  # noqa: ANN401 - as above
        """The records as Spark's writer takes them."""
        from pyspark.sql import functions as f

        # One task, so that records of one key are in the order of the reports.
        frame = answers.frame(spark).coalesce(1)
        headers = f.array(
            *(
                f.struct(f.lit(name).alias("key"), f.col(name).cast("string").cast("binary").alias("value"))
                for name in ("query", "batch", "seq")
            )
        )
        value = f.to_json(f.struct(*(f.col(f"`{name}`") for name in frame.columns)))
        return frame.select(f.col("query").alias("key"), value.alias("value"), headers.alias("headers"))
