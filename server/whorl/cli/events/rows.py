"""Rows (CSV, JSON, NDJSON with a mapping, Arrow) as Arrow streams; the receiver maps them to triples."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from whorl.cli.events.archives import stem_in_archive
from whorl.cli.events.piece import Cut, Piece
from whorl.cli.faults import CommandError
from whorl.cli.times import date_time_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from whorl.cli.events.files import Reading

ROWS_PER_PIECE = 4096


def read(name: str, form: str, file: BinaryIO, reading: Reading) -> Iterator[Piece]:
    """Rows in file order: a piece for each instant, or as many rows as fit."""
    with _arrow_faults(name, form):
        yield from _pieces(_stamped(name, form, file, reading), reading)


def read_in_order(files: Iterable[tuple[str, str, BinaryIO]], reading: Reading) -> Iterator[Piece]:
    """Rows of several files, each with its format, in time order; reads all of them into memory."""
    import pyarrow as pa

    tables: list[pa.RecordBatch] = []
    for name, form, file in files:
        with _arrow_faults(name, form):
            tables += _stamped(name, form, file, reading)
    whole = pa.concat_tables([pa.Table.from_batches([batch]) for batch in tables], promote_options="permissive")
    # Rows of one instant keep their order.
    whole = whole.append_column("_whorl_row", pa.array(range(whole.num_rows)))
    whole = whole.sort_by([(reading.time_column, "ascending"), ("_whorl_row", "ascending")])
    yield from _pieces(whole.drop_columns(["_whorl_row"]).combine_chunks().to_batches(), reading)


@contextmanager
def _arrow_faults(name: str, form: str) -> Iterator[None]:
    try:
        import pyarrow as pa
    except ImportError:
        raise CommandError(f"reading {form} needs pyarrow", hint="pip install 'whorl[arrow]'") from None
    try:
        yield
    except pa.ArrowException as error:
        raise CommandError(f"cannot read {name!r} as {form}: {error}") from None


def _pieces(batches: Iterable[pa.RecordBatch], reading: Reading) -> Iterator[Piece]:
    for batch in batches:
        for part in _cut(batch, reading.time_column, reading.rows_cut):
            yield _piece(part, reading.time_column)


def _stamped(name: str, form: str, file: BinaryIO, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The rows, with times converted to milliseconds as the options say."""
    n_rows = 0
    archived = stem_in_archive(name)
    for found in _tables(form, file, reading):
        batch = found
        if archived is not None:
            batch = _with(batch, "file", [archived] * batch.num_rows)
        if reading.stamps.are_given:
            batch = _with(batch, reading.time_column, _times(name, batch, n_rows, reading))
        n_rows += batch.num_rows
        yield batch


def _times(name: str, batch: pa.RecordBatch, first: int, reading: Reading) -> list[int | None]:
    column, stamps = reading.time_column, reading.stamps
    if column in batch.schema.names:
        return [_time(name, first + row, value, reading) for row, value in enumerate(batch.column(column).to_pylist())]
    if stamps.every_ms is None:
        hint = f"the columns are {', '.join(batch.schema.names)}; or add --every 1s to space rows evenly"
        raise CommandError(f"{name} has no time column {column!r}", hint=hint)
    return [(reading.at or 0) + (first + row) * stamps.every_ms for row in range(batch.num_rows)]


def _time(name: str, row: int, value: object, reading: Reading) -> int | None:
    t = reading.stamps.instant(value)
    if t is None and value is not None:
        raise CommandError(f"{value!r}, the time of row {row + 1} in {name}, is not a time")
    return t


def _with(batch: pa.RecordBatch, column: str, values: list[Any]) -> pa.RecordBatch:
    import pyarrow as pa

    if column in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(column), column, pa.array(values))
    return batch.append_column(column, pa.array(values))


def _tables(form: str, file: BinaryIO, reading: Reading) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    if form == "csv":
        from pyarrow import csv

        return csv.open_csv(file, csv.ReadOptions(column_names=reading.columns))  # type: ignore[no-any-return]  # pyarrow has no types
    if form == "arrow":
        return _arrow(file.read())
    return pa.Table.from_pylist(_objects(form, file)).to_batches()  # type: ignore[no-any-return]  # pyarrow has no types


def _arrow(data: bytes) -> Iterable[pa.RecordBatch]:
    """Both forms of Arrow: files begin with a magic number, streams do not."""
    import pyarrow as pa

    if data.startswith(b"ARROW1"):
        return pa.ipc.open_file(data).read_all().to_batches()  # type: ignore[no-any-return]  # pyarrow has no types
    return pa.ipc.open_stream(data)  # type: ignore[no-any-return]  # pyarrow has no types


def _objects(form: str, file: BinaryIO) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in file if line.strip()] if form == "ndjson" else json.load(file)
    except ValueError as error:
        raise CommandError(f"the rows are not JSON: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CommandError("rows in JSON must be a list of objects", hint='such as [{"t": 1000, "room": "kitchen"}]')
    return rows


def _cut(batch: pa.RecordBatch, time_column: str, cut: Cut) -> Iterator[pa.RecordBatch]:
    times = batch.column(time_column).to_pylist() if cut != "size" and time_column in batch.schema.names else None
    start = 0
    for end in range(1, batch.num_rows + 1):
        if end == batch.num_rows or end - start == ROWS_PER_PIECE or _parts(times, end, cut):
            yield batch.slice(start, end - start)
            start = end


def _parts(times: list[Any] | None, row: int, cut: Cut) -> bool:
    """Whether to cut before a row. Rows without comparable times stay together."""
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


def _instant(value: Any) -> int | None:  # noqa: ANN401 - the value of any column
    if isinstance(value, int):
        return value
    return date_time_ms(value if isinstance(value, str) else value.isoformat()) if value is not None else None
