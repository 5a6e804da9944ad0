"""Parquet files as the tasks of a query on Spark read them; no Spark is needed for that."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from whorl.spark.scale import ScaleError
from whorl.spark.scale.parquet import ParquetRows

TRIPLES = pa.schema([("t", pa.int64()), ("s", pa.string()), ("o", pa.int64())])


def read(rows: ParquetRows, *paths: Path) -> pa.Table:
    # Spark's way to write the address of a local file.
    addresses = pa.RecordBatch.from_pydict({"path": [f"file:{path}" for path in paths]})
    batches = list(rows(iter([addresses])))
    return pa.Table.from_batches(batches)


def test_rows_come_in_the_order_of_files_and_rows(tmp_path: Path) -> None:
    paths = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    for number, path in enumerate(paths):
        pq.write_table(pa.table({"t": [number, number], "s": ["x", "y"], "o": [1, 2]}, TRIPLES), path)
    table = read(ParquetRows(TRIPLES), *paths)
    assert table["t"].to_pylist() == [0, 0, 1, 1]
    assert table["s"].to_pylist() == ["x", "y", "x", "y"]
    assert pa.types.is_dictionary(table["s"].type), "a text that repeats is read once"


def test_columns_are_those_of_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(pa.table({"more": [1.5], "o": pa.array([7], pa.int32()), "t": [3]}), path)
    table = read(ParquetRows(TRIPLES), path)
    assert table.to_pylist() == [{"t": 3, "s": None, "o": 7}]


def test_old_timestamps_are_instants(tmp_path: Path) -> None:
    """Spark writes timestamps without a zone, and means UTC."""
    path = tmp_path / "0.parquet"
    times = pa.array([datetime(2024, 5, 1, 12)], pa.timestamp("ns"))  # noqa: DTZ001 - as it is in the file
    pq.write_table(pa.table({"at": times}), path, use_deprecated_int96_timestamps=True)
    schema = pa.schema([("at", pa.timestamp("us", "UTC"))])
    assert read(ParquetRows(schema), path)["at"].to_pylist() == [datetime(2024, 5, 1, 12, tzinfo=UTC)]


def test_directories_name_columns(tmp_path: Path) -> None:
    schema = pa.schema([("o", pa.int64()), ("floor", pa.int32()), ("room", pa.string())])
    folder = tmp_path / "floor=3" / "room=a%3Ab"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"o": [1, 2]}), folder / "0.parquet")
    assert read(ParquetRows(schema), folder / "0.parquet").to_pylist() == [
        {"o": 1, "floor": 3, "room": "a:b"},
        {"o": 2, "floor": 3, "room": "a:b"},
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1 and then something else"])
def test_a_file_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.parquet"
    path.write_bytes(content)
    with pytest.raises(ScaleError, match=r"cannot read .*broken.parquet as Parquet"):
        read(ParquetRows(TRIPLES), path)


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScaleError, match=r"cannot read .*gone.parquet as Parquet"):
        read(ParquetRows(TRIPLES), tmp_path / "gone.parquet")
