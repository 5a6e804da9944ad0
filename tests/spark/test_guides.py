"""The guides to sink and source are true: what they write is run, and gives what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from server_process import ServerProcess
from whorl_client import Client

GUIDES = Path(__file__).parents[2] / "docs/how-to"
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ADDRESS = '"http://127.0.0.1:8080")'


@pytest.mark.usefixtures("spark")
def test_the_guide_to_the_sink_runs(
    server: ServerProcess, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A job of the guide goes on for a while; one batch is enough.
    awaited = "whorl.spark.await_termination(job, timeout_s=20)"
    one_batch = "while not job.recentProgress: whorl.spark.await_termination(job, timeout_s=0.1)"
    run_guide("spark-sink.md", server, {awaited: one_batch, "checkpoints/": f"{tmp_path}/"})
    document = client.streams.get("http://example.org/sensors").document
    assert isinstance(document["events"], int)
    assert document["events"] % 100 == 2
    assert document["timeColumn"] == "measured"


def test_the_guide_to_the_source_runs(
    spark: SparkSession, server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    del spark
    client.streams.create("http://example.org/rooms")
    client.register(
        """PREFIX : <http://example.org/> SELECT ?room ?celsius FROM NAMED WINDOW :w ON :rooms [RANGE 10s STEP 10s]
           WHERE { WINDOW :w { ?room :temperature ?celsius FILTER(?celsius > 25) } }""",
        name="hot",
    )
    for at, celsius in ((1000, "31"), (11_000, "30.0")):
        client.stream("http://example.org/rooms").send(
            f"@prefix : <http://example.org/> . :lab :temperature {celsius} .", t=at
        )
    client.stream("http://example.org/rooms").watermark(20_001)
    run_guide("spark-source.md", server, {'"hot-rooms"': f'"{tmp_path}/rooms"', "checkpoints/": f"{tmp_path}/"})


def run_guide(guide: str, server: ServerProcess, changes: dict[str, str]) -> None:
    names: dict[str, Any] = {}
    said = ""
    token = f'"{server.url}").option("token", "{server.token}")'
    for language, text in _FENCED.findall((GUIDES / guide).read_text()):
        if language == "python":
            code = text.replace(_ADDRESS, token)
            for there, here in changes.items():
                code = code.replace(there, here)
            said = output_of(code, names)
        elif language == "text":
            assert said == text


def output_of(code: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "guide", "exec"), names)  # noqa: S102 - our own documentation
    return output.getvalue()
