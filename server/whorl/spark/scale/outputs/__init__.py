"""Where the answers of a query on Spark go: files, Kafka, a Whorl stream, a function.

A batch may be handed to an output twice: when the driver ended between the manifest and Spark's commit. It is then the
same batch to the byte, under the same query id and batch number, and each output says what it makes of that.
"""

from whorl.spark.scale.outputs.answers import Answers, Output
from whorl.spark.scale.outputs.callback import CallbackOutput
from whorl.spark.scale.outputs.directory import FilesOutput
from whorl.spark.scale.outputs.kafka import KafkaOutput
from whorl.spark.scale.outputs.server import WhorlStreamOutput

__all__ = ["Answers", "CallbackOutput", "FilesOutput", "KafkaOutput", "Output", "WhorlStreamOutput"]
