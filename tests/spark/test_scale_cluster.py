"""Queries on clusters, and drivers that are killed: each job is a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from embedded_twin import EmbeddedTwin, Report, reports_of
from scaled_cases import CASES, Batch, Case, batches

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCHEMA = pa.schema([("t", pa.int64()), ("s", pa.string()), ("p", pa.string()), ("o", pa.string())])
LATENESS_MS = 2_000

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def environment() -> dict[str, str]:
    paths = [ROOT / "server", ROOT / "clients/python/src", ROOT / "tests/common", os.environ.get("PYTHONPATH", "")]
    added = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(str(path) for path in paths if path),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return os.environ | added


def start(master: str, root: Path, name: str, partitions: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, str(HERE / "scale_job.py"), master, str(root), name, str(partitions)]
    with (root / "log").open("ab") as log:
        # A session of its own: driver and JVM are one process group, and end together.
        return subprocess.Popen(arguments, env=environment(), stdout=log, stderr=log, start_new_session=True)


def run_to_end(master: str, root: Path, name: str, partitions: int) -> None:
    process = start(master, root, name, partitions)
    try:
        assert process.wait(600) == 0, (root / "log").read_text()[-3000:]
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def write(root: Path, data: list[Batch]) -> None:
    for number, batch in enumerate(data):
        for stream, rows in batch.items():
            folder = root / stream.rpartition("/")[2]
            folder.mkdir(exist_ok=True)
            path = folder / f"{number:04d}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def twin(case: Case) -> EmbeddedTwin:
    lateness = dict.fromkeys(case.streams, LATENESS_MS)
    return EmbeddedTwin(case.query, case.streams, lateness, case.static, case.options)


def found(root: Path, case: Case) -> list[Report]:
    tables = (pq.read_table(path) for path in sorted((root / "out").iterdir()))
    return reports_of(tables, twin(case).variables)


def wanted(case: Case, data: list[Batch]) -> list[Report]:
    embedded = twin(case)
    return [report for batch in data for report in embedded.take(batch)] + embedded.close()


def wait_for_batch(root: Path, batch: int, process: subprocess.Popen[bytes]) -> None:
    """Until the manifest of the batch, or of a later one, is there."""
    deadline = time.monotonic() + 300
    folder = root / "checkpoint" / "manifest"
    while not folder.is_dir() or max((int(path.stem) for path in folder.glob("0*.json")), default=-1) < batch:
        assert process.poll() is None, (root / "log").read_text()[-3000:]
        assert time.monotonic() < deadline, "the batch does not come"
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["star join", "group by another key", "static data", "two streams"])
def test_two_executors_of_their_own(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    data = batches(case, 4)
    write(tmp_path, data)
    run_to_end("local-cluster[2,1,1024]", tmp_path, name, 8)
    assert found(tmp_path, case) == wanted(case, data)


def test_a_driver_killed_three_times_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    name = "group by another key, changes"
    case = CASES[name]
    data = batches(case, 55)
    write(tmp_path, data)
    for batch in (8, 23, 41):
        process = start("local[2]", tmp_path, name, 2)
        try:
            wait_for_batch(tmp_path, batch, process)
            # Somewhere in the next batch, another place each time.
            time.sleep(batch % 7 * 0.05)
        finally:
            kill(process)
    run_to_end("local[2]", tmp_path, name, 2)
    assert found(tmp_path, case) == wanted(case, data)


def test_a_standalone_master_with_two_workers(tmp_path: Path) -> None:
    name = "group by another key"
    case = CASES[name]
    data = batches(case, 5)
    write(tmp_path, data)
    with standalone(tmp_path) as master:
        run_to_end(master, tmp_path, name, 8)
    assert found(tmp_path, case) == wanted(case, data)


@contextmanager
def standalone(root: Path) -> Iterator[str]:
    """A master and two workers of one core each, on loopback."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(daemon(root, "master.Master", "--port", str(port)))
        wait_for_text(root / "master.Master", "New state: ALIVE")
        for number in (1, 2):
            options = ("--cores", "1", "--memory", "800m", "--work-dir", str(root / f"work{number}"), address)
            stack.enter_context(daemon(root, "worker.Worker", *options, log=f"worker{number}"))
            wait_for_text(root / f"worker{number}", "Successfully registered")
        yield address


@contextmanager
def daemon(root: Path, kind: str, *options: str, log: str = "") -> Iterator[None]:
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
    shared = ["--host", "127.0.0.1", "--webui-port", "0"]
    # The daemons tell what they do at this level, and are silent without it.
    level = root / "log4j2.properties"
    level.write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.stderr.ref = console\nappender.console.type = Console\n"
        "appender.console.name = console\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %m%n\n"
    )
    options_of_java = {"SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile=file:{level}"}
    with (root / (log or kind)).open("wb") as out:
        process = subprocess.Popen(
            [*command, *shared, *options],
            env=environment() | options_of_java,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield
    finally:
        kill(process)


def wait_for_text(path: Path, text: str) -> None:
    deadline = time.monotonic() + 60
    while text not in path.read_text(errors="replace"):
        assert time.monotonic() < deadline, path.read_text(errors="replace")
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
