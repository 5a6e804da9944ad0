"""How producers start: one stream after the other, and again if Spark did not wait long enough for a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from campaign_size import sized
from spark_environment import require_java, worker_environment
from start_campaign import PRODUCERS, campaign

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException, StreamingQueryException
from whorl.spark import produce
from whorl.spark.jobs.kafka import CONNECTOR
from whorl.spark.produce import Production, watch
from whorl.spark.session import versioned

SLOW = "org.apache.spark.SparkException: Python worker failed to connect back."


class Started:
    """A query of Spark, as far as a producer looks at it: it fails with a message, or runs to its end."""

    def __init__(self, fault: str | None) -> None:
        self._fault = fault
        self.isActive = False
        self.recentProgress: list[dict[str, Any]] = []

    def exception(self) -> StreamingQueryException | None:
        return None if self._fault is None else StreamingQueryException(self._fault)

    def stop(self) -> None:
        self.isActive = False


def production(*faults: str | None) -> Production:
    """One whose starts end like this, in this order."""
    starts = iter(faults)

    def begin() -> Any:
        return Started(next(starts))

    return Production(None, begin(), begin)  # type: ignore[arg-type]  # no session is needed


def test_a_stream_is_started_again_after_a_worker_that_was_too_slow() -> None:
    slow = production(SLOW, SLOW, None)
    slow.await_first_progress(pause_s=0)
    assert slow.starts == 3
    watch([slow], pause_s=0)


def test_a_worker_that_is_slow_later_starts_the_stream_again() -> None:
    both = [production(None), production(SLOW, None)]
    watch(both, pause_s=0)
    assert [one.starts for one in both] == [1, 2]


class Session:
    """A session of Spark, as far as a producer looks at it: it has one active query of a name at most."""

    def __init__(self) -> None:
        self.active: list[Named] = []
        self.starts = 0

    @property
    def streams(self) -> Session:
        return self

    def start(self) -> Named:
        """The first start fails when its query is there already, as under load."""
        if self.active:
            raise PySparkException("Cannot start query with name posts as a query with that name is already active")
        self.starts += 1
        self.active.append(Named(self))
        if self.starts == 1:
            raise PySparkException(SLOW)
        return self.active[0]


class Named:
    name = "posts"

    def __init__(self, session: Session) -> None:
        self._session = session

    def stop(self) -> None:
        self._session.active.remove(self)


def test_what_a_start_that_failed_has_left_is_not_in_the_way_of_the_next() -> None:
    session = Session()

    def again() -> Named:
        produce._end_query(session, "posts")  # type: ignore[arg-type]  # no session is needed
        return session.start()

    assert produce._patiently(session.start, again) is session.active[0]
    assert session.starts == 2


def test_other_faults_are_told_at_once() -> None:
    with pytest.raises(StreamingQueryException, match="the disk is full"):
        watch([production("the disk is full", None)], pause_s=0)


def test_starting_again_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce, "_STARTS_MAX", 3)
    with pytest.raises(StreamingQueryException, match="failed to connect back"):
        watch([production(SLOW, SLOW, SLOW)], pause_s=0)


# What a script does: nothing is activated, and no variable names an interpreter.
SCRIPT = """
import sys, whorl.spark
from whorl.spark.session import opened_session
with opened_session("test", "local[1]") as spark:
    found = spark.range(1).rdd.map(lambda _: __import__("sys").executable).collect()
print(found[0])
"""


def test_workers_run_the_python_of_the_program() -> None:
    require_java()
    named = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "VIRTUAL_ENV", "PATH"}
    environment = {name: value for name, value in os.environ.items() if name not in named}
    java = (
        Path(os.environ["JAVA_HOME"], "bin") if "JAVA_HOME" in os.environ else Path(shutil.which("java") or "").parent
    )
    environment |= {"PATH": f"{java}:/usr/bin:/bin", "PYTHONPATH": worker_environment()["PYTHONPATH"]}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout.strip() == sys.executable, done.stderr


def test_the_connector_for_kafka_has_a_version_of_its_own() -> None:
    assert versioned(CONNECTOR) == CONNECTOR
    assert CONNECTOR.endswith(":4.2.0")


@pytest.mark.long
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_five_streams_start_while_two_processes_keep_the_cores_busy(producer: str) -> None:
    require_java()
    starts = campaign(producer, sized(20))
    assert [one.fault for one in starts if not one.is_complete] == []
