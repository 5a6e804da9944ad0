"""`whorl.spark.run` and its handle, for type checkers; nothing here runs. See `typed_engine.py`.

Data frames are pyspark's own types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from whorl.spark import FilesOutput, ScaledRun


def use_run(spark: SparkSession, frame: DataFrame, output: FilesOutput) -> None:
    import whorl.spark

    running = whorl.spark.run(
        spark,
        "SELECT ?room …",
        {"http://example.org/s": frame},
        checkpoint="checkpoint",
        output=output,
        trigger="available-now",
        semantics="bag",
        report=["close", "nonempty"],
        partial=False,
    )
    assert_type(running, ScaledRun)
    assert_type(running.id, str)
    assert_type(running.is_active, bool)
    assert_type(running.explain(), str)
    assert_type(running.await_termination(10.0), bool)
    running.stop()
