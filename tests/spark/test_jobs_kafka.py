"""Kafka: messages of a topic become events.

In everyday tests the topic is on a mock cluster of librdkafka, which Spark's connector cannot read: its Java clients
wait for answers that the mock does not give ("timed out waiting for a node assignment"). So the messages are taken from
the mock by a consumer, put into a frame of the connector's form, and go on from there as they would. The connector
itself, a real broker and the command are tested together in the long campaign.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kafka_broker
import pytest
from server_process import ServerProcess
from spark_environment import require_java, worker_environment
from whorl.spark import WhorlSparkError, plain_errors
from whorl.spark.jobs import JobOptions, kafka
from whorl.spark.jobs.job import timed
from whorl_client import Client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ck = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed: make setup")

MAPPING = """PREFIX : <http://ex/>
CONSTRUCT { ?s :celsius ?celsius ; :from ?key } WHERE { BIND(IRI(CONCAT("http://ex/", ?sensor)) AS ?s) }
"""
SCHEMA = "sensor string, celsius double"


@pytest.fixture(scope="module")
def mock() -> Iterator[Any]:
    """A producer with a cluster inside, which ends with it."""
    producer = ck.Producer({"bootstrap.servers": "mock:1", "test.mock.num.brokers": 1, "log_level": 0})
    yield producer
    producer.flush(10)


def send(producer: Any, topic: str, values: list[str], first: int = 0) -> None:
    for number, value in enumerate(values, first):
        producer.produce(topic, key=f"k{number}", value=value, timestamp=1_000 * (number + 1))
    assert producer.flush(30) == 0


def readings(count: int, first: int = 0) -> list[str]:
    return [json.dumps({"sensor": f"s{n % 3}", "celsius": 20.0 + n}) for n in range(first, first + count)]


def received(spark: SparkSession, mock: Any, topic: str, count: int) -> DataFrame:
    """The messages of a topic in the form in which the connector gives them."""
    brokers = mock.list_topics(timeout=10).brokers.values()
    servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    settings = {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = ck.Consumer(settings)
    consumer.subscribe([topic])
    messages: list[Any] = []
    deadline = time.monotonic() + 60
    while len(messages) < count and time.monotonic() < deadline:
        messages += [one for one in consumer.consume(count, 1.0) if one.error() is None]
    consumer.close()
    rows = [
        (bytearray(one.key()), bytearray(one.value()), one.topic(), one.partition(), one.offset(), one.timestamp()[1])
        for one in messages
    ]
    raw = spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset bigint, at bigint")
    return raw.selectExpr(
        "key", "value", "topic", "partition", "offset", "timestamp_millis(at) AS timestamp", "0 AS timestampType"
    )


def write(rows: DataFrame, server: ServerProcess, iri: str, mapping: str | None) -> None:
    options = {"url": server.url, "token": server.token, "stream": iri, "createStream": "true", "timeColumn": "t"}
    with plain_errors():
        rows.write.format("whorl").mode("append").options(**options, **({"mapping": mapping} if mapping else {})).save()


def test_json_values_are_rows_with_the_columns_of_their_messages(
    spark: SparkSession, mock: Any, server: ServerProcess, client: Client, iri: str
) -> None:
    send(mock, "json", readings(10))
    rows = timed(kafka.values(received(spark, mock, "json", 10), SCHEMA), "timestamp")
    assert rows.columns == ["sensor", "celsius", *kafka.MESSAGE_COLUMNS, "t"]
    first = rows.orderBy("t").first()
    assert first is not None
    assert (first["sensor"], first["celsius"], first["key"], first["topic"], first["t"]) == (
        "s0",
        20.0,
        "k0",
        "json",
        1000,
    )
    write(rows, server, iri, MAPPING)
    info = client.streams.get(iri).document
    assert (info["events"], info["triples"], info["watermark"]) == (10, 20, 10_000)


def test_rdf_as_text_needs_no_mapping(
    spark: SparkSession, mock: Any, server: ServerProcess, client: Client, iri: str
) -> None:
    graph = (
        '<http://ex/g> <http://www.w3.org/ns/prov#generatedAtTime> "7000"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    )
    texts = [
        f"<http://ex/a> <http://ex/p> _:x .\n_:x <http://ex/p> <http://ex/{number}> .\n" for number in range(3)
    ] + [f"{graph}\n<http://ex/a> <http://ex/p> <http://ex/late> <http://ex/g> .\n"]
    send(mock, "rdf", texts)
    write(kafka.triples(received(spark, mock, "rdf", 4), "nquads"), server, iri, None)
    info = client.streams.get(iri).document
    # Two triples of each of three messages, and a graph with a time of its own.
    assert (info["events"], info["triples"], info["watermark"]) == (4, 7, 7_000)


def test_a_value_that_is_not_json_fails_the_job(
    spark: SparkSession, mock: Any, server: ServerProcess, iri: str
) -> None:
    send(mock, "broken", ["nonsense"])
    rows = timed(kafka.values(received(spark, mock, "broken", 1), SCHEMA), "timestamp")
    with pytest.raises(Exception, match=r"MALFORMED_RECORD_IN_PARSING|[Mm]alformed"):
        write(rows, server, iri, MAPPING)


def test_a_text_that_is_not_rdf_is_named_by_its_message(
    spark: SparkSession, mock: Any, server: ServerProcess, iri: str
) -> None:
    send(mock, "not-rdf", ["nonsense"])
    with pytest.raises(WhorlSparkError, match=r"the text of not-rdf/\d/0 is not nquads"):
        write(kafka.triples(received(spark, mock, "not-rdf", 1), "nquads"), server, iri, None)


def test_options_of_the_user_reach_the_source() -> None:
    wanted = JobOptions(
        topic="t", servers="a:1,b:2", starting_from="latest", options={"kafka.security.protocol": "SSL"}
    )
    assert kafka.source_options(wanted) == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "subscribe": "t",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "50000",
        "kafka.security.protocol": "SSL",
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka_broker.Broker]:
    require_java()
    started = kafka_broker.Broker(tmp_path_factory.mktemp("kafka"))
    try:
        started.start()
    except kafka_broker.JarsMissingError as error:
        pytest.skip(str(error))
    yield started
    started.stop()


Produce = Callable[..., str]


def whorl(*words: str) -> str:
    """A command in a process of its own; what it said."""
    done = subprocess.run(
        [sys.executable, "-c", "from whorl.cli import main; main()", *words],
        env={**os.environ, **worker_environment()},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


@pytest.fixture
def produce(broker: kafka_broker.Broker, server: ServerProcess, tmp_path: Path) -> Produce:
    """The command in a process of its own, with the connector; what it said."""
    (tmp_path / "m.rq").write_text(MAPPING)
    jars = [option for jar in kafka_broker.connector_jars() for option in ("--jars", str(jar))]

    def run(topic: str, iri: str, *options: str) -> str:
        command = ["spark", "produce", "kafka", "--topic", topic, "--servers", broker.servers, "--stream", iri]
        place = ["--checkpoint", str(tmp_path / topic), "--url", server.url, "--token", server.token, "--once"]
        return whorl(*command, *place, *jars, *options)

    return run


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_topic_of_a_real_broker_is_written_once_whatever_is_restarted(
    broker: kafka_broker.Broker, produce: Produce, client: Client, tmp_path: Path, iri: str
) -> None:
    client.streams.create(iri)
    window = f"PREFIX : <http://ex/> SELECT ?s (COUNT(*) AS ?n) (MAX(?c) AS ?max) FROM NAMED WINDOW :w ON <{iri}> "
    where = "[RANGE 100s STEP 100s] WHERE { WINDOW :w { ?s :celsius ?c } } GROUP BY ?s"
    client.register(window + where, "kafka-end-to-end")
    producer = ck.Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    mapping = ("--mapping", str(tmp_path / "m.rq"))

    send(producer, "readings", readings(60))
    assert "60 rows" in produce("readings", iri, *mapping)
    # A restart finds what is new, and what is not new stays what it was.
    send(producer, "readings", readings(40, first=60), first=60)
    assert "40 rows" in produce("readings", iri, *mapping, "--schema", SCHEMA)
    assert "nothing new" in produce("readings", iri, *mapping, "--schema", SCHEMA)

    assert client.streams.get(iri).document["events"] == 100
    client.stream(iri).close()
    with client.query("kafka-end-to-end").subscribe("earliest", limit=2, timeout_s=60) as results:
        answers = [
            sorted((str(row["s"]), int(str(row["n"])), float(str(row["max"]))) for row in result) for result in results
        ]
    # The message n has the time n + 1 seconds; the window [0, 100) has all but the last.
    assert answers == [
        [("http://ex/s0", 33, 116.0), ("http://ex/s1", 33, 117.0), ("http://ex/s2", 33, 118.0)],
        [("http://ex/s0", 1, 119.0)],
    ]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_query_inside_spark_reads_one_topic_and_writes_another(broker: kafka_broker.Broker, tmp_path: Path) -> None:
    producer = ck.Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    triple = {"p": "http://ex/celsius", "o": 20}
    send(producer, "triples", [json.dumps({"t": 100 * n, "s": f"http://ex/s{n % 3}", **triple}) for n in range(60)])
    window = "FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 2s] WHERE { WINDOW :w { ?s :celsius ?c } } GROUP BY ?s"
    query = f"PREFIX : <http://ex/> SELECT ?s (COUNT(*) AS ?n) {window}"
    place = f"127.0.0.1:{broker.port}"
    options = ["--schema", "t bigint, s string, p string, o bigint", "--partitions", "2", "--name", "hot", "--close"]
    jars = [option for jar in kafka_broker.connector_jars() for option in ("--jars", str(jar))]
    places = ["--source", f"kafka:{place}/triples", "--sink", f"kafka:{place}/answers"]
    command = ["spark", "run", query, *places, "--checkpoint", str(tmp_path / "checkpoint"), *options, *jars]
    whorl(*command)
    consumer = ck.Consumer({"bootstrap.servers": broker.servers, "group.id": "r", "auto.offset.reset": "earliest"})
    consumer.subscribe(["answers"])
    found: list[Any] = []
    deadline = time.monotonic() + 60
    while len(found) < 9 and time.monotonic() < deadline:
        found += [one for one in consumer.consume(9, 1.0) if one.error() is None]
    consumer.close()
    assert {one.key() for one in found} == {b"hot"}
    assert {name for one in found for name, _ in one.headers()} == {"query", "batch", "seq"}
    rows = [json.loads(one.value()) for one in found]
    # Copies of a triple in a window are one: three sensors, three windows, and each says 20.
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert sorted((row["at"], row["s"], row["n"]) for row in rows if row["sign"]) == [
        (at, f"<http://ex/s{n}>", f'"1"{integer}') for at in (2_000, 4_000, 6_000) for n in range(3)
    ]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_rdf_of_a_real_broker_needs_no_mapping(
    broker: kafka_broker.Broker, produce: Produce, client: Client, iri: str
) -> None:
    producer = ck.Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    texts = [
        json.dumps({"@id": f"http://ex/{n}", "http://ex/p": [{"@value": n}, {"@value": -n - 1}]}) for n in range(20)
    ]
    send(producer, "linked", texts)
    produce("linked", iri, "--input-format", "jsonld")
    info = client.streams.get(iri).document
    assert (info["events"], info["triples"]) == (20, 40)
