"""Record batches → bodies for the server: Arrow IPC streams of a bounded size, compressed.

Input: the batches of one task, of any size. Output: bodies with at most `bytes_max` bytes of data each before
compression, so that a task holds no more than that. A body is one record batch; text columns with repeated values are
dictionary-encoded, so that each value is sent, and parsed by the server, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.spark.options import Compression

# A column is dictionary-encoded if each text occurs this often on average.
_REPEATED = 2


def bodies_of(batches: Iterable[pa.RecordBatch], compression: Compression, bytes_max: int) -> Iterator[bytes]:
    """The batches as bodies, in order; none if there are no rows."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for piece in _pieces(batch, bytes_max):
            if waiting and size + piece.nbytes > bytes_max:
                yield _encoded(waiting, compression)
                waiting, size = [], 0
            waiting.append(piece)
            size += piece.nbytes
    if waiting:
        yield _encoded(waiting, compression)


def _pieces(batch: pa.RecordBatch, bytes_max: int) -> Iterator[pa.RecordBatch]:
    """A batch in parts that fit; the server refuses a single row that is too large."""
    if batch.num_rows == 0:
        return
    if batch.nbytes <= bytes_max or batch.num_rows == 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _pieces(batch.slice(0, half), bytes_max)
    yield from _pieces(batch.slice(half), bytes_max)


def _encoded(batches: list[pa.RecordBatch], compression: Compression) -> bytes:
    table = pa.Table.from_batches(batches).combine_chunks()
    table = pa.table([_dictionary(column) for column in table.columns], names=table.column_names)
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    return encoded if len(encoded.dictionary) * _REPEATED <= len(column) else column
