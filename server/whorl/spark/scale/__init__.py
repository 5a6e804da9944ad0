"""The engine inside Spark: continuous queries over more data than one machine can process.

`run` starts a query; `StreamInput` describes how rows of a DataFrame become events; outputs receive the results.
"""

from whorl.spark.scale.driver import BatchReport
from whorl.spark.scale.faults import CheckpointError, ScaleError
from whorl.spark.scale.inputs import StreamInput
from whorl.spark.scale.outputs import Answers, CallbackOutput, FilesOutput, KafkaOutput, Output, WhorlStreamOutput
from whorl.spark.scale.parquet import ParquetFiles, parquet_files
from whorl.spark.scale.run import ScaledRun, run

__all__ = [
    "Answers",
    "BatchReport",
    "CallbackOutput",
    "CheckpointError",
    "FilesOutput",
    "KafkaOutput",
    "Output",
    "ParquetFiles",
    "ScaleError",
    "ScaledRun",
    "StreamInput",
    "WhorlStreamOutput",
    "parquet_files",
    "run",
]
