"""One Spark session for all tests of this directory, and servers for them to write to.

Spark needs Java 17. Where there is none, the tests are skipped and say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from server_process import ServerProcess
from spark_environment import require_java, worker_environment
from whorl_client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session: two cores, and each task may fail once."""
    require_java()
    os.environ |= worker_environment()
    import whorl.spark
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2,2]")
        .appName("whorl-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    whorl.spark.register(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all tests that do not stop it."""
    started = ServerProcess(tmp_path_factory.mktemp("data"), {"registrations_per_minute": 100_000}).start()
    yield started
    assert started.stop() == 0
    assert "Traceback" not in started.log


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.token) as client:
        yield client


@pytest.fixture
def iri(request: pytest.FixtureRequest) -> str:
    """The IRI of a stream of the test's own."""
    return f"http://example.org/{request.node.name.replace('[', '/').replace(']', '')}"
