"""`whorl spark` as a user meets it: what it says, what it writes, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from server_process import ServerProcess
from typer.testing import CliRunner, Result
from whorl.cli.app import app
from whorl.spark import WhorlSparkError
from whorl.spark.jobs import NAMES, JobOptions, find
from whorl.spark.produce import Target, produce
from whorl_client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
MAPPING = """PREFIX : <http://ex/>
CONSTRUCT { ?s :celsius ?celsius } WHERE { BIND(IRI(CONCAT("http://ex/", ?sensor)) AS ?s) }
"""
Whorl = Callable[..., Result]


@pytest.fixture
def whorl(monkeypatch: pytest.MonkeyPatch) -> Whorl:
    for name in ("WHORL_URL", "WHORL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    runner = CliRunner()

    def run(*arguments: str) -> Result:
        return runner.invoke(app, ["spark", *arguments], prog_name="whorl", catch_exceptions=False)

    return run


def test_the_list_names_every_producer_and_its_streams(whorl: Whorl) -> None:
    shown = whorl("list").stdout
    for name in (*NAMES, "http://example.org/nyctaxi/pickup", "http://deri.org/streams/rfid"):
        assert name in shown


def test_a_producer_writes_its_rows_says_so_and_ends(
    whorl: Whorl, spark: SparkSession, server: ServerProcess, client: Client
) -> None:
    done = whorl(
        *("produce", "conference", "--rows", "300", "--speed", "max", "--close"),
        *("--url", server.url, "--token", server.token),
    )
    assert (done.exit_code, done.stdout) == (0, "")
    assert "conference: rfid: 300 rows · 1 batches" in done.stderr
    assert "up to 2012-10-01T00:00:59.800Z" in done.stderr
    info = client.streams.get("http://deri.org/streams/rfid").document
    assert (info["events"], info["triples"], info["status"]) == (300, 300, "closed")
    # The session was not its own.
    assert spark.range(3).count() == 3


@pytest.mark.parametrize("replayed", [False, True])
def test_files_are_written_by_their_mapping(
    whorl: Whorl, spark: SparkSession, server: ServerProcess, client: Client, tmp_path: Path, iri: str, replayed: bool
) -> None:
    del spark
    (tmp_path / "m.rq").write_text(MAPPING)
    data = tmp_path / "readings"
    data.mkdir()
    for file in range(2):
        rows = [f"s{n % 3},{20 + n},2026-01-01T00:00:{10 * file + n:02d}Z" for n in range(10)]
        (data / f"{file}.csv").write_text("\n".join(["sensor,celsius,at", *rows]))
    done = whorl(
        *("produce", "files", "--data", str(data), "--input-format", "csv", "--time", "at", "--stream", iri),
        *("--mapping", str(tmp_path / "m.rq"), "--url", server.url, "--token", server.token),
        *(("--speed", "max") if replayed else ("--once", "--checkpoint", str(tmp_path / "checkpoint"))),
    )
    assert done.exit_code == 0, done.stderr
    info = client.streams.get(iri).document
    assert (info["events"], info["watermark"]) == (20, 1_767_225_619_000)


def test_a_row_that_the_server_refuses_is_told_in_a_paragraph(
    whorl: Whorl, spark: SparkSession, server: ServerProcess, tmp_path: Path, iri: str
) -> None:
    del spark
    (tmp_path / "m.rq").write_text("CONSTRUCT { ?s <http://ex/p> ?nowhere } WHERE { BIND(IRI(?sensor) AS ?s) }")
    (tmp_path / "rows.json").write_text(json.dumps({"sensor": "http://ex/a", "at": 1000}) + "\n")
    done = whorl(
        *("produce", "files", "--data", str(tmp_path / "rows.json"), "--time", "at", "--stream", iri, "--speed", "max"),
        *("--mapping", str(tmp_path / "m.rq"), "--url", server.url, "--token", server.token),
    )
    assert done.exit_code == 1
    assert "error: " in done.stderr
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) < 8


def test_what_spark_cannot_read_is_told_in_a_line(
    whorl: Whorl, spark: SparkSession, server: ServerProcess, tmp_path: Path, iri: str
) -> None:
    del spark
    (tmp_path / "m.rq").write_text(MAPPING)
    done = whorl(
        *("produce", "files", "--data", str(tmp_path / "no.csv"), "--time", "at", "--stream", iri, "--speed", "max"),
        *("--mapping", str(tmp_path / "m.rq"), "--url", server.url, "--token", server.token),
    )
    assert done.exit_code == 1
    assert "error: Spark failed: [PATH_NOT_FOUND]" in done.stderr
    assert "hint: name a directory, a file or a pattern that is there" in done.stderr
    assert len(done.stderr.splitlines()) < 4


def test_a_checkpoint_of_another_job_is_refused(
    whorl: Whorl, spark: SparkSession, server: ServerProcess, tmp_path: Path
) -> None:
    del spark
    (tmp_path / "job.json").write_text(json.dumps({"job": "taxi", "rows": 10, "seed": 0, "replayed": True}))
    done = whorl(
        *("produce", "conference", "--rows", "20", "--speed", "max", "--checkpoint", str(tmp_path)),
        *("--url", server.url, "--token", server.token),
    )
    assert done.exit_code == 1
    assert "is of another job: job 'taxi', not 'conference', rows 10, not 20" in done.stderr
    assert "hint: use a new directory" in done.stderr


def test_a_topic_cannot_be_replayed(spark: SparkSession, tmp_path: Path) -> None:
    wanted = JobOptions(topic="t", servers="s:1", stream="http://ex/s", mapping=MAPPING, speed=60)
    with pytest.raises(WhorlSparkError, match="cannot be replayed"):
        produce(spark, find("kafka"), wanted, Target("http://127.0.0.1:9"), str(tmp_path))


def test_without_a_server_nothing_is_started(whorl: Whorl) -> None:
    # Port 9 is discard: nothing listens there.
    done = whorl("produce", "taxi", "--url", "http://127.0.0.1:9")
    assert done.exit_code == 3
    assert "whorl serve" in done.stderr
    assert "Spark" not in done.stderr


def test_a_missing_token_is_told_before_spark_starts(whorl: Whorl, server: ServerProcess) -> None:
    done = whorl("produce", "taxi", "--url", server.url)
    assert done.exit_code == 1
    assert "hint: give --token or WHORL_TOKEN" in done.stderr
    assert "starting Spark" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "there is no producer 'nonsense'"),
        (["files"], "option --data is missing"),
        (["files", "--data", "x", "--time", "t"], "'x' does not have a name that shows its format"),
        (["files", "--data", "x.csv", "--time", "t"], "option --stream is missing"),
        (["kafka", "--topic", "t"], "option --servers is missing"),
        (["kafka", "--topic", "t", "--servers", "s:1", "--input-format", "avro"], "messages cannot be read as avro"),
    ],
)
def test_what_is_missing_is_named(whorl: Whorl, arguments: list[str], said: str) -> None:
    done = whorl("produce", *arguments)
    assert done.exit_code == 1
    assert f"error: {said}" in done.stderr
    assert "hint: " in done.stderr


def test_without_java_the_command_says_what_to_install(
    whorl: Whorl, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = whorl("produce", "taxi", "--url", server.url, "--token", server.token)
    assert done.exit_code == 1
    assert "hint: install Java 17" in done.stderr


def test_without_pyspark_the_command_says_what_to_install(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "whorl.spark.errors", None)
    done = whorl("produce", "taxi")
    assert done.exit_code == 1
    assert "pip install 'whorl[spark]'" in done.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_producer_is_a_script_for_spark_submit(server: ServerProcess, client: Client) -> None:
    submit = Path(sys.executable).with_name("spark-submit")
    script = ROOT / "server" / "whorl" / "spark" / "jobs" / "taxi_trips.py"
    options = ["--rows", "200", "--speed", "max", "--url", server.url]
    environment = {
        **os.environ,
        "WHORL_TOKEN": server.token,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT / "clients/python/src")]),
    }
    done = subprocess.run(
        [submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false", script, *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # spark-submit makes one stream of the two.
    assert "taxi-trips: trips: 200 rows" in done.stdout
    assert client.streams.get("http://example.org/debs2015/trips").document["events"] == 200
