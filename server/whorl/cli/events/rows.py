"""Rows (CSV, JSON, NDJSON with a mapping, Arrow) as Arrow streams; a mapping makes triples of them on arrival."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from whorl.cli.events.piece import Cut, Piece
from whorl.cli.faults import CommandError
from whorl.cli.times import date_time_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

ROWS_PER_PIECE = 4096


def read(name: str, form: str, file: BinaryIO, *, time_column: str, cut: Cut) -> Iterator[Piece]:
    """Rows in the order of the file: a piece for each instant, or as many rows as fit."""
    try:
        import pyarrow as pa
    except ImportError:
        raise CommandError(f"reading {form} needs pyarrow", hint="pip install 'whorl[arrow]'") from None
    try:
        for batch in _tables(form, file):
            for part in _cut(batch, time_column, cut):
                yield _piece(part, time_column)
    except pa.ArrowException as error:
        raise CommandError(f"cannot read {name!r} as {form}: {error}") from None


def _tables(form: str, file: BinaryIO) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    if form == "csv":
        from pyarrow import csv

        return csv.open_csv(file)  # type: ignore[no-any-return]
    if form == "arrow":
        return _arrow(file.read())
    return pa.Table.from_pylist(_objects(form, file)).to_batches()  # type: ignore[no-any-return]


def _arrow(data: bytes) -> Iterable[pa.RecordBatch]:
    """Both forms of Arrow: files begin with a magic word, streams do not."""
    import pyarrow as pa

    if data.startswith(b"ARROW1"):
        return pa.ipc.open_file(data).read_all().to_batches()  # type: ignore[no-any-return]
    return pa.ipc.open_stream(data)  # type: ignore[no-any-return]


def _objects(form: str, file: BinaryIO) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in file if line.strip()] if form == "ndjson" else json.load(file)
    except ValueError as error:
        raise CommandError(f"the rows are not JSON: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CommandError("rows in JSON are a list of objects", hint='such as [{"t": 1000, "room": "kitchen"}]')
    return rows


def _cut(batch: pa.RecordBatch, time_column: str, cut: Cut) -> Iterator[pa.RecordBatch]:
    times = batch.column(time_column).to_pylist() if cut != "size" and time_column in batch.schema.names else None
    start = 0
    for end in range(1, batch.num_rows + 1):
        if end == batch.num_rows or end - start == ROWS_PER_PIECE or _parts(times, end, cut):
            yield batch.slice(start, end - start)
            start = end


def _parts(times: list[Any] | None, row: int, cut: Cut) -> bool:
    """Whether a row cannot stay with the one before it. What has no time to compare stays."""
    if times is None or times[row] is None or times[row - 1] is None:
        return False
    return bool(times[row] != times[row - 1] if cut == "instant" else times[row] < times[row - 1])


def _piece(part: pa.RecordBatch, time_column: str) -> Piece:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.schema) as writer:
        writer.write_batch(part)
    first = part.column(time_column)[0].as_py() if time_column in part.schema.names and part.num_rows else None
    return Piece(sink.getvalue().to_pybytes(), "arrow", t=_instant(first), n_events=part.num_rows)


def _instant(value: Any) -> int | None:  # noqa: ANN401 - whatever the column holds
    if isinstance(value, int):
        return value
    return date_time_ms(value if isinstance(value, str) else value.isoformat()) if value is not None else None
