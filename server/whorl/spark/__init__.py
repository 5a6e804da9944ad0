"""Whorl on Spark: a sink and a source for Structured Streaming, by the name `whorl`.

    import whorl.spark

    whorl.spark.register(spark)
    df.writeStream.format("whorl").option("url", …).option("stream", …).start()
    spark.readStream.format("whorl").option("url", …).option("query", …).load()

Every name is imported on first use.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.spark.datasource import WhorlDataSource, register
    from whorl.spark.errors import WhorlSparkError, await_termination, plain_errors
    from whorl.spark.scale import (
        CallbackOutput,
        FilesOutput,
        KafkaOutput,
        ScaledRun,
        StreamInput,
        WhorlStreamOutput,
        parquet_files,
        run,
    )

if importlib.util.find_spec("pyspark") is None:
    raise ImportError("whorl.spark needs pyspark 4.3 or newer and Java 17; pip install 'whorl[spark]'")

# Spark reads it when a session starts. Without it, workers are whatever `python3` is on their PATH, which need not have
# this package: a script would run only in an activated environment.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

__all__ = [
    "CallbackOutput",
    "FilesOutput",
    "KafkaOutput",
    "ScaledRun",
    "StreamInput",
    "WhorlDataSource",
    "WhorlSparkError",
    "WhorlStreamOutput",
    "await_termination",
    "parquet_files",
    "plain_errors",
    "register",
    "run",
]

# Name → the module that has it.
_HOMES = {
    "WhorlDataSource": "datasource",
    "WhorlSparkError": "errors",
    "await_termination": "errors",
    "plain_errors": "errors",
    "register": "datasource",
    "run": "scale",
    "CallbackOutput": "scale",
    "FilesOutput": "scale",
    "KafkaOutput": "scale",
    "ScaledRun": "scale",
    "StreamInput": "scale",
    "parquet_files": "scale",
    "WhorlStreamOutput": "scale",
}


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'whorl.spark' has no attribute '{name}'")
    return getattr(importlib.import_module(f"whorl.spark.{_HOMES[name]}"), name)
