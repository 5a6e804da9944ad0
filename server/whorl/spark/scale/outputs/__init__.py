"""Outputs for the results of a query on Spark: files, Kafka, a Whorl stream, a function.

An output may receive a batch twice, if the driver ended between the manifest and Spark's commit. The second one is byte
for byte the same, under the same query id and batch number; each output documents how it handles it.
"""

from whorl.spark.scale.outputs.answers import Answers, Output
from whorl.spark.scale.outputs.callback import CallbackOutput
from whorl.spark.scale.outputs.directory import FilesOutput
from whorl.spark.scale.outputs.kafka import KafkaOutput
from whorl.spark.scale.outputs.server import WhorlStreamOutput

__all__ = ["Answers", "CallbackOutput", "FilesOutput", "KafkaOutput", "Output", "WhorlStreamOutput"]
