"""Parquet files as a stream, read by Arrow in the tasks of stage 1.

Spark lists the files and records which of them have been read: a row of its frame is a file. Spark's own reader would
turn every triple into a row, and rows into columns again, which costs almost as much as the rest of a micro-batch.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow as pa

from whorl.spark.scale.faults import ScaleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_LISTING = "path string, modificationTime timestamp, length bigint, content binary"
_BATCH_ROWS = 131_072
# Spark's directory name for a null.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """How the rows of files are read; sent to the executors."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From addresses of files to their rows, in the order of the files."""
        for batch in batches:
            for address in batch.column("path").to_pylist():
                yield from self.rows(address)

    def rows(self, address: str) -> Iterator[pa.RecordBatch]:
        """The rows of one file, with the types of the schema."""
        import pyarrow.parquet as pq

        try:
            with _opened(address) as source:
                facts = pq.read_metadata(source)
                there = set(facts.schema.to_arrow_schema().names)
                fields = [field for field in self.schema if field.name in there]
                # Repeated texts are read once.
                texts = [field.name for field in fields if pa.types.is_string(field.type)]
                file = pq.ParquetFile(source, metadata=facts, read_dictionary=texts)
                columns = [field.name for field in fields]
                for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                    yield self._shaped(batch, address)
        except (pa.ArrowException, OSError) as error:
            raise ScaleError(
                f"cannot read {address} as Parquet: {error}",
                code="spark.parquet",
                hint="a file must be whole when it appears in the directory, and stay until it has been read",
            ) from None

    def _shaped(self, batch: pa.RecordBatch, address: str) -> pa.RecordBatch:
        columns = []
        for field in self.schema:
            if field.name in batch.schema.names:
                columns.append(_as_type(batch.column(field.name), field.type))
            else:
                columns.append(_constant(_named_in(address, field.name), field.type, batch.num_rows))
        return pa.RecordBatch.from_arrays(columns, names=self.schema.names)


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """A streaming frame of the files of a directory, and how their rows are read."""

    frame: DataFrame
    rows: ParquetRows


def parquet_files(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    schema: str | None = None,
    options: dict[str, str] | None = None,
) -> ParquetFiles:
    """The Parquet files of a directory as a stream.

    `schema` has the columns as Spark writes them (`"t bigint, s string"`); without one, it is inferred from existing
    files. `options` are those of Spark's file source (`maxFilesPerTrigger`, `pathGlobFilter` …). One task reads one
    file: if there are more cores than files in a micro-batch, smaller files are faster.
    """
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    place, given = os.fspath(path), options or {}
    columns = spark.read.options(**given).parquet(place).schema if schema is None else StructType.fromDDL(schema)
    listing = spark.readStream.format("binaryFile").schema(_LISTING).options(**given).load(place)
    # Only the address is selected, so that Spark does not open the files.
    arrow = to_arrow_schema(columns, timezone="UTC")  # type: ignore[arg-type]  # Spark's stubs do not cover DDL
    return ParquetFiles(listing.select("path"), ParquetRows(arrow))


def _as_type(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type) and column.type.value_type == wanted:
        return column
    return column if column.type == wanted else column.cast(wanted)


def _named_in(address: str, name: str) -> str | None:
    """The value in the name of a directory, as in `day=2024-05-01`."""
    for part in address.split("/")[:-1]:
        key, equals, value = part.partition("=")
        if equals and unquote(key) == name and value != _NULL:
            return unquote(value)
    return None


def _constant(value: str | None, wanted: pa.DataType, n_rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(n_rows, wanted)
    return pa.repeat(pa.scalar(value).cast(wanted), n_rows)


def _opened(address: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """An address as Spark writes it: with a scheme, and with nothing escaped."""
    from pyarrow.fs import FileSystem

    scheme, _, place = address.partition(":")
    if scheme == "file":
        return pa.memory_map("/" + place.lstrip("/"))
    file_system, path = FileSystem.from_uri(f"{scheme.replace('s3a', 's3')}:{quote(place)}")
    return file_system.open_input_file(path)
