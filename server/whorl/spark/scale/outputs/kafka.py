"""Results to a Kafka topic, by Spark's own writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whorl.spark.scale.outputs.answers import Answers


@dataclass(frozen=True, slots=True)
class KafkaOutput:
    """One record per row: the key is the query, the value a JSON object; the headers are `query`, `batch` and `seq`.

    Spark's writer delivers at least once. A repeated batch has the same headers and values, so a reader that remembers
    the last batch can skip it. `options` are those of the writer (`kafka.security.protocol` …).
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
        """The records in the form of Spark's writer."""
        from pyspark.sql import functions as f

        # One task, so that records of one key keep the order of the results.
        frame = answers.frame(spark).coalesce(1)
        headers = f.array(
            *(
                f.struct(f.lit(name).alias("key"), f.col(name).cast("string").cast("binary").alias("value"))
                for name in ("query", "batch", "seq")
            )
        )
        value = f.to_json(f.struct(*(f.col(f"`{name}`") for name in frame.columns)))
        return frame.select(f.col("query").alias("key"), value.alias("value"), headers.alias("headers"))
