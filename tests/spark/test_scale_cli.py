"""`whorl spark run` and `whorl spark state` as a user types them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scaled_cases import CASES, EX, SENSORS, batches
from typer.testing import CliRunner, Result
from whorl.cli.app import app
from whorl.spark.scale.addresses import Source, output_of
from whorl.spark.scale.checkpoint import open_checkpoint
from whorl.spark.scale.faults import ScaleError, cause_of
from whorl.spark.scale.manifest import Manifest
from whorl.spark.scale.outputs import FilesOutput, KafkaOutput, WhorlStreamOutput
from whorl.spark.scale.spec import QuerySpec
from whorl.spark.scale.state import PartState, StateFile

Whorl = Callable[..., Result]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def whorl() -> Whorl:
    runner = CliRunner()

    def run(*arguments: str) -> Result:
        return runner.invoke(app, ["spark", *arguments], prog_name="whorl", catch_exceptions=False)

    return run


class TestExplain:
    def test_the_partitioning_is_told_without_spark(self, whorl: Whorl) -> None:
        query = CASES["group by another key"].query
        said = whorl("run", query, "--source", "parquet:none/", "--partitions", "4", "--explain")
        assert said.exit_code == 0, said.stderr
        assert said.stdout.startswith("partitions  4 by ?x\n")
        assert "groups" in said.stdout

    def test_programs_get_json(self, whorl: Whorl) -> None:
        query = CASES["top-k"].query
        said = whorl("run", query, "--source", "parquet:none/", "--explain", "--json")
        assert json.loads(said.stdout)["merge"] == "top-k"

    def test_a_query_that_stays_on_one_partition_says_why(self, whorl: Whorl) -> None:
        query = CASES["star join"].query.replace("?x :temp ?t ; :humidity ?h", "?x :temp ?t . ?y :humidity ?h")
        said = whorl("run", query, "--source", "parquet:none/", "--explain")
        assert said.stdout.startswith("partitions  1\nwhy  ")


class TestWrongUse:
    def test_a_wrong_query_is_shown_with_its_place(self, whorl: Whorl) -> None:
        said = whorl("run", "SELECT ?x WHERE { ?x ", "--source", "parquet:a", "--explain")
        assert said.exit_code == 1
        assert "--> <query>:1" in said.stderr

    def test_two_streams_need_two_names(self, whorl: Whorl) -> None:
        said = whorl("run", CASES["two streams"].query, "--source", "parquet:a", "--explain")
        assert said.exit_code == 2
        assert EX + "doors" in said.stderr

    def test_a_run_needs_a_checkpoint(self, whorl: Whorl) -> None:
        said = whorl("run", CASES["top-k"].query, "--source", "parquet:a")
        assert said.exit_code == 2
        assert "--checkpoint" in said.stderr

    def test_a_source_without_a_format(self, whorl: Whorl) -> None:
        said = whorl("run", CASES["top-k"].query, "--source", "readings", "--explain")
        assert said.exit_code == 1
        assert "cannot tell the format" in said.stderr


class TestAddresses:
    def test_sources(self) -> None:
        assert Source.of("parquet:a/b").place == "a/b"
        assert Source.of("a/*.csv").format == "csv"
        assert Source.of("kafka:h:1/t").format == "kafka"

    def test_sinks(self) -> None:
        assert output_of("parquet:d", "u", None) == FilesOutput("d")
        assert output_of("ndjson:d", "u", None) == FilesOutput("d", "ndjson")
        assert output_of("kafka:h:1,i:2/t", "u", None) == KafkaOutput("h:1,i:2", "t")
        assert output_of("whorl:http://ex/s", "u", "k") == WhorlStreamOutput("u", "http://ex/s", "k")
        with pytest.raises(ScaleError, match="not a sink"):
            output_of("paper:d", "u", None)


class TestState:
    def test_a_checkpoint_is_described(self, whorl: Whorl, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        checkpoint.take(QuerySpec.of("SELECT …", 1, {SENSORS: {}}), "f1", name="hot")
        part = PartState(StateFile("state/000000000000-a.full", 1234), (StateFile("state/000000000000-b.log", 56),))
        checkpoint.publish(Manifest(0, (part,), watermarks={SENSORS: 5_000}, stats={"triples": 7}))
        said = whorl("state", str(tmp_path))
        assert said.exit_code == 0, said.stderr
        for text in ("hot", "f1", "1970-01-01T00:00:05Z", "triples 7", "1234", "56", "SELECT …"):
            assert text in said.stdout
        assert "missing      state/000000000000-a.full" in said.stdout
        assert json.loads(whorl("state", str(tmp_path), "--json").stdout)["batches"] == [0]

    def test_a_directory_that_is_none(self, whorl: Whorl, tmp_path: Path) -> None:
        said = whorl("state", str(tmp_path))
        assert said.exit_code == 1
        assert "not the checkpoint of a query" in said.stderr


class TestFaults:
    def test_the_cause_is_found_in_what_spark_says(self) -> None:
        told = """[STREAM_FAILED] Query terminated with exception: Job aborted
            Traceback (most recent call last):
              File "worker.py", line 1, in main
            whorl.errors.RdfSyntaxError: column 's' has no IRI
            hint: write one
        \tat org.apache.spark.Foo(Foo.scala)"""
        fault = cause_of(RuntimeError(told))
        assert (fault.message, fault.hint) == ("column 's' has no IRI", "write one")

    def test_workers_with_another_python_are_told_apart(self) -> None:
        fault = cause_of(RuntimeError("[STREAM_FAILED]\nModuleNotFoundError: No module named 'pyarrow'\n\tat org.x"))
        assert fault.message == "No module named 'pyarrow'"
        assert "PYSPARK_PYTHON" in (fault.hint or "")

    def test_what_is_not_ours_is_one_line(self) -> None:
        assert cause_of(RuntimeError("out of memory\nat …")).message == "Spark stopped the query: out of memory"


@pytest.mark.usefixtures("spark")
def test_the_commands_of_the_guide_run_on_the_files_of_the_examples(
    whorl: Whorl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples/first", tmp_path / "first")
    monkeypatch.chdir(tmp_path / "first")
    page = (ROOT / "docs/how-to/spark-scale-out.md").read_text()
    explain, run = re.findall(r"^whorl spark (run (?:.*\\\n)*.*)$", page, re.MULTILINE)
    assert "partitions  8 by" in whorl(*shlex.split(explain)).stdout
    # The JVM of the session was started elsewhere.
    run = run.replace("\\\n", " ").replace("csv:readings", f"csv:{tmp_path}/first/readings")
    said = whorl(*shlex.split(run.replace("state/", f"{tmp_path}/state")), "--once", "--close")
    assert said.exit_code == 0, said.stderr
    written = "".join(path.read_text() for path in sorted(Path("results").iterdir()))
    rooms = [json.loads(line)["row"]["room"] for line in written.splitlines() if json.loads(line)["row"]]
    assert sorted(rooms) == [f"<{EX}attic>", f"<{EX}attic>", f"<{EX}kitchen>"]
    (readme,) = re.findall(r"^whorl spark (run (?:.*\\\n)*.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    monkeypatch.chdir(ROOT)
    assert "partitions  8 by" in whorl(*shlex.split(readme.replace("\\\n", " "))).stdout


@pytest.mark.usefixtures("spark")
def test_a_run_from_the_command_line(whorl: Whorl, tmp_path: Path) -> None:
    case = CASES["star join"]
    (tmp_path / "rows").mkdir()
    rows = [row for batch in batches(case, 3) for row in batch[SENSORS]]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows" / "0.parquet")
    (tmp_path / "q.rspql").write_text(case.query)
    words = (
        f"{tmp_path}/q.rspql --source parquet:{tmp_path}/rows --checkpoint {tmp_path}/c --sink ndjson:{tmp_path}/out"
    )
    said = whorl("run", *words.split(), "--close")
    assert said.exit_code == 0, said.stderr
    written = "".join(path.read_text() for path in sorted((tmp_path / "out").iterdir()))
    assert any(json.loads(line)["row"] for line in written.splitlines())
    assert "batch 0: " in said.stderr
    assert "closed " in whorl("state", f"{tmp_path}/c").stdout
