"""Record batches → bodies for the server: Arrow IPC streams of a bounded size, compressed.

What comes in: the batches of one task, of any size. What goes out: bodies, each made of at most `bytes_max` bytes of
data before compression, so that a task holds no more than that. A body is one record batch; columns of text that
repeat themselves are dictionary-encoded, for then each value is sent, and read by the server, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.spark.options import Compression

# A text is worth a dictionary when it comes this often on average.
_REPEATED = 2


def bodies_of(batches: Iterable[pa.RecordBatch], compression: Compression, bytes_max: int) -> Iterator[bytes]:
    """The batches as bodies, in their order; none where there are no rows."""
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
    """A batch in parts that fit; a row that is too large alone is for the server to refuse."""
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
