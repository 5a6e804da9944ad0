"""A Kafka topic: JSON values with a mapping, or values that are RDF text.

The mapping can also use columns of the message itself: `key`, `topic`, `partition`, `offset` and `timestamp`.
An event has the time of its message unless a column or its graph says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.spark.errors import WhorlSparkError
from whorl.spark.jobs.job import Job, JobOptions, Output, needed, submitted, timed
from whorl.spark.rdf_text import FORMATS, TRIPLE_SCHEMA, triples_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MESSAGE_COLUMNS = ("key", "topic", "partition", "offset", "timestamp")
# How many messages are read to find their columns.
_SAMPLE = 1_000
_BATCH_MESSAGES = "50000"
# Spark's own connector, whose version must be compatible with the running Spark.
# There is no connector 4.3; this one works with pyspark 4.3 and is tested with it.
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"


def outputs(wanted: JobOptions) -> tuple[Output, ...]:
    """One stream, read from the given topic."""
    needed(wanted.topic, "--topic", "the topic to read")
    needed(wanted.servers, "--servers", "the brokers, such as localhost:9092")
    form = wanted.input_format or "json"
    if form != "json" and form not in FORMATS:
        raise WhorlSparkError(f"messages cannot be read as {form}", f"one of json, {', '.join(FORMATS)}")
    mapping = None
    if form == "json":
        mapping = needed(wanted.mapping, "--mapping", "a file with the CONSTRUCT that makes triples of the values")

    def follow(spark: SparkSession) -> DataFrame:
        stream = spark.readStream.format("kafka").options(**source_options(wanted)).load()
        if form != "json":
            return triples(stream, form)
        schema = wanted.schema or sampled_schema(spark, wanted)
        return timed(values(stream, schema), wanted.time_column or "timestamp")

    return (
        Output(
            name="messages",
            stream=needed(wanted.stream, "--stream", "the IRI of the stream"),
            mapping=mapping,
            follow=follow,
        ),
    )


def source_options(wanted: JobOptions) -> dict[str, str]:
    """Options of Spark's Kafka source; those of the user take precedence."""
    return {
        "kafka.bootstrap.servers": wanted.servers or "",
        "subscribe": wanted.topic or "",
        "startingOffsets": wanted.starting_from,
        "maxOffsetsPerTrigger": _BATCH_MESSAGES,
        **wanted.options,
    }


def values(messages: DataFrame, schema: str) -> DataFrame:
    """The fields of JSON values as columns, and those of the message, unless a field has the same name.

    A value that is not a JSON object of this form fails the job; skipping it would go unnoticed.
    """
    from pyspark.sql import functions as f

    read = f.from_json(f.col("value").cast("string"), schema, {"mode": "FAILFAST"})
    values = messages.withColumn("key", f.col("key").cast("string")).withColumn("value", read)
    fields = values.select("value.*").columns
    return values.select("value.*", *(name for name in MESSAGE_COLUMNS if name not in fields))


def triples(messages: DataFrame, form: str) -> DataFrame:
    """Values that are RDF text, as triples."""
    from pyspark.sql import functions as f

    source = f.concat_ws("/", "topic", "partition", "offset")
    texts = messages.select(
        f.unix_millis("timestamp").alias("t"), f.col("value").cast("string").alias("text"), source.alias("source")
    )
    return texts.mapInArrow(triples_of(form), TRIPLE_SCHEMA)


def sampled_schema(spark: SparkSession, wanted: JobOptions) -> str:
    """The columns of the first messages, as Spark infers them."""
    options = {**source_options(wanted), "startingOffsets": "earliest"}
    # Options that limit a stream have no meaning for a batch.
    options.pop("maxOffsetsPerTrigger")
    first = spark.read.format("kafka").options(**options).load().selectExpr("cast(value as string)").limit(_SAMPLE)
    texts = [row[0] for row in first.collect() if row[0]]
    if not texts:
        raise WhorlSparkError(
            f"topic '{wanted.topic}' has no messages to infer columns from",
            "give --schema, such as 'sensor string, celsius double'",
        )
    found = spark.read.option("mode", "FAILFAST").json(
        spark.createDataFrame([(text,) for text in texts], "value string")
    )
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in found.schema)


JOB = Job(
    name="kafka",
    description="a topic of Kafka: JSON by a mapping, or RDF as text",
    data="messages of --topic at --servers",
    outputs=outputs,
    packages=(CONNECTOR,),
)

if __name__ == "__main__":
    submitted(JOB.name)
