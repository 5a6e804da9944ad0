"""One Spark session for all tests of this directory, and servers for them to write to.

Spark needs Java 17. Where there is none, the tests are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from server_process import ServerProcess
from whorl_client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).resolve().parents[2]


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
def start_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Start a server of the test's own, which it may stop."""
    started: list[ServerProcess] = []

    def start(**settings: Any) -> ServerProcess:
        server = ServerProcess(tmp_path / "data", settings)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def iri(request: pytest.FixtureRequest) -> str:
    """The IRI of a stream of the test's own."""
    return f"http://example.org/{request.node.name.replace('[', '/').replace(']', '')}"


def require_java() -> None:
    """Skip where Spark cannot start."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        pytest.skip("Spark needs Java 17: there is no `java` on PATH and JAVA_HOME is not set")


def worker_environment() -> dict[str, str]:
    """What Python workers need: this interpreter, and the sources of this checkout."""
    paths = [str(_ROOT / "server"), str(_ROOT / "clients" / "python" / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
