"""The sink: rows of a job become events of a stream, each batch exactly once despite retries, replays and crashes.

Spark may run a task twice, and a batch again after a crash. So a batch is written in two steps. Each task stages its
rows as Arrow bodies under secret tokens: stored, but invisible. When all tasks are done, the driver commits the tokens
of the winning attempts under the id of the query and the number of the batch; at that moment the rows become events, in
the order of their times. A batch that Spark runs again is staged again, and its commit is acknowledged as a duplicate.
Staged bodies that are never committed expire.

    task ─► POST stages ─► token ┐
    task ─► POST stages ─► token ┼─► driver: POST commits {producer, batch, tokens}
    task ─► POST stages ─► token ┘

The producer is the id that Spark keeps in the checkpoint of a query: it stays the same after a restart, and differs for
another checkpoint, whose batches count from 0 again.
"""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from whorl_client import UnknownStreamError

from whorl.spark.bodies import bodies_of
from whorl.spark.errors import WhorlSparkError
from whorl.spark.http import connected
from whorl.spark.layout import Layout, layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType
    from whorl_client import Ack, Client, StreamInfo

    from whorl.spark.options import SinkOptions

# The property with which Spark tells every task the id of its streaming query.
_QUERY_ID = "sql.streaming.queryId"
# The server's limit per commit.
_TOKENS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Staged(WriterCommitMessage):
    """The outcome of one task: the tokens of its bodies, or an error."""

    tokens: tuple[str, ...] = ()
    rows: int = 0
    greatest_ms: int | None = None
    query_id: str | None = None
    fault: str | None = None


class Stager:
    """Writes the rows of tasks; created on the driver, which prepares the server, and sent to the workers."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self.options = options
        with connected(options.connection, f"stream <{options.stream}>") as client:
            self.layout = _prepared(client, options, schema)

    def stage(self, batches: Iterator[pa.RecordBatch]) -> Staged:
        """Stage all rows of a task.

        An error that every attempt would meet is returned to the driver, which reports it once; Spark does not retry.
        """
        try:
            return self._stage(batches)
        except WhorlSparkError as error:
            if not error.is_final:
                raise
            return Staged(fault=str(error))

    def _stage(self, batches: Iterator[pa.RecordBatch]) -> Staged:
        options, tally = self.options, _Tally(self.layout, counts_time=self.options.watermark_delay_ms is not None)
        bodies = bodies_of(tally.counted(batches), options.compression, options.body_bytes_max)
        with connected(options.connection, f"stream <{options.stream}>") as client:
            stream = client.stream(options.stream)
            tokens = tuple(stream.stage(body, format="arrow") for body in bodies)
        return Staged(tokens, tally.rows, tally.greatest_ms, _query_id())


class StreamSink(DataSourceStreamArrowWriter):
    """Writes the micro-batches of a streaming query."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        if options.batch is not None:
            raise WhorlSparkError("option 'batch' is for df.write; a streaming query numbers its batches itself")
        self._stager = Stager(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On a worker: stage the rows of one task."""
        return self._stager.stage(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """On the driver: the rows of all tasks become events."""
        staged = _staged(messages)
        if not any(one.tokens for one in staged):
            return
        options = self._stager.options
        ack = _commit(options, staged, options.producer or _producer(staged), batchId)
        if options.producer is not None and ack.duplicates and ack.batch is not None and ack.batch > batchId:
            raise WhorlSparkError(
                f"batch {batchId} was left out: producer '{options.producer}' has committed batches up to {ack.batch}; "
                "the checkpoint of this query is a new one, or older than what the server has",
                "leave option 'producer' out, or use a new name for a new checkpoint",
            )


class BatchSink(DataSourceArrowWriter):
    """Writes a data frame once: all of its rows, or none."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        if (options.producer is None) != (options.batch is None):
            raise WhorlSparkError(
                "one of the options 'producer' and 'batch' is missing",
                "with both, a repeated write changes nothing; with neither, each write is a new one",
            )
        self._stager = Stager(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On a worker: stage the rows of one task."""
        return self._stager.stage(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver: the rows of all tasks become events."""
        staged = _staged(messages)
        if any(one.tokens for one in staged):
            options = self._stager.options
            _commit(options, staged, options.producer or f"spark-write-{uuid.uuid4()}", options.batch or 0)


class _Tally:
    """Counts the rows that pass through."""

    def __init__(self, layout: Layout, *, counts_time: bool) -> None:
        self.rows = 0
        self.greatest_ms: int | None = None
        self._layout = layout
        self._counts_time = counts_time

    def counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += batch.num_rows
            if self._counts_time:
                found = self._layout.greatest_ms(batch)
                known = [at for at in (found, self.greatest_ms) if at is not None]
                self.greatest_ms = max(known, default=None)
            yield self._layout.of(batch)


# ---- on the driver, before ----


def _prepared(client: Client, options: SinkOptions, schema: StructType) -> Layout:
    """Prepare the stream and its mapping; returns the columns to send."""
    info = _stream(client, options)
    mapping, time_column = _known_mapping(options, info)
    has_time_in_data = bool(info.settings.get("timestampPredicate"))
    layout = layout_of(
        schema,
        mapping,
        time_column,
        has_time_in_data=has_time_in_data,
        needs_numbers=options.watermark_delay_ms is not None,
    )
    if mapping is not None and (mapping, layout.time_column or "t") != _there(info):
        client.stream(options.stream).mapping(mapping, time_column=layout.time_column or "t")
    return layout


def _stream(client: Client, options: SinkOptions) -> StreamInfo:
    try:
        info = client.streams.get(options.stream)
    except UnknownStreamError as error:
        if options.create_stream:
            client.streams.create(options.stream, lateness=options.lateness_ms)
            return client.streams.get(options.stream)
        hint = "declare it on the server, or set option 'createStream' to true"
        raise WhorlSparkError(f"unknown stream: {error.message}", hint) from None
    has_ms = info.settings.get("lateness", 0)
    if options.lateness_ms not in {None, has_ms}:
        raise WhorlSparkError(
            f"stream <{options.stream}> has a lateness of {has_ms} ms, option 'lateness' says {options.lateness_ms} ms",
            "leave the option out to use the stream as it is",
        )
    return info


def _there(info: StreamInfo) -> tuple[str | None, str]:
    return info.mapping, info.time_column


def _known_mapping(options: SinkOptions, info: StreamInfo) -> tuple[str | None, str | None]:
    """The mapping and the column of times for this job; a stream has one mapping for all of its writers."""
    there, there_time = _there(info)
    wanted = options.mapping
    if there is None or options.replace_mapping:
        return wanted or there, options.time_column or (None if wanted or there is None else there_time)
    if wanted is not None and wanted.strip() != there.strip():
        raise WhorlSparkError(
            f"stream <{options.stream}> has another mapping, which other jobs may be using",
            "set option 'replaceMapping' to true to replace it, or leave option 'mapping' out",
        )
    if options.time_column not in {None, there_time}:
        raise WhorlSparkError(
            f"the mapping of stream <{options.stream}> has its times in column '{there_time}', "
            f"option 'timeColumn' says '{options.time_column}'",
            "rename the column, or set option 'replaceMapping' to true",
        )
    return there, there_time


# ---- on the driver, after ----


def _staged(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    staged = [message for message in messages if isinstance(message, Staged)]
    fault = next((message.fault for message in staged if message.fault is not None), None)
    if fault is not None:
        raise WhorlSparkError.of_paragraph(fault)
    return staged


def _commit(options: SinkOptions, staged: list[Staged], producer: str, batch: int) -> Ack:
    tokens = [token for one in staged for token in one.tokens]
    if len(tokens) > _TOKENS_MAX:
        hint = "read less per batch, or set option 'maxBodyBytes' higher, up to the server's WHORL_BODY_BYTES_MAX"
        raise WhorlSparkError(
            f"batch {batch} has {len(tokens)} bodies, more than the {_TOKENS_MAX} of one commit", hint
        )
    with connected(options.connection, f"stream <{options.stream}>, batch {batch}") as client:
        ack = client.stream(options.stream).commit(producer, batch, tokens, watermark=_watermark(options, staged))
    _tell_losses(options, batch, ack)
    return ack


def _watermark(options: SinkOptions, staged: list[Staged]) -> int | None:
    if options.watermark_delay_ms is None:
        return None
    greatest = max((one.greatest_ms for one in staged if one.greatest_ms is not None), default=None)
    return None if greatest is None else greatest - options.watermark_delay_ms


def _tell_losses(options: SinkOptions, batch: int, ack: Ack) -> None:
    """Report events that no window shows: they are not an error of the job, but should not go unnoticed."""
    if ack.late or ack.ahead:
        said = f"{ack.late} events too late for every window, {ack.ahead} too far ahead of the clock and set aside"
        print(f"whorl: stream <{options.stream}>, batch {batch}: {said}", file=sys.stderr)  # noqa: T201 - Spark collects a worker's standard error


def _query_id() -> str | None:
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(_QUERY_ID)


def _producer(staged: list[Staged]) -> str:
    query_id = next((one.query_id for one in staged if one.query_id is not None), None)
    if query_id is None:
        raise WhorlSparkError(
            "Spark does not provide the id of the query, which identifies its batches after a restart",
            "set option 'producer' to a name that belongs to this checkpoint alone",
        )
    return f"spark-{query_id}"
