"""Which columns of a data frame go to a stream, and under which names; decided on the driver before sending.

With a mapping: the columns that its text names, and the column of times. Without: the columns of triples. Data that the
server would refuse is refused here, where the names of the columns are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

import whorl
from whorl.spark.errors import WhorlSparkError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_TRIPLE = ("s", "p", "o")
_TRIPLE_FURTHER = ("datatype", "lang", "event")
# A superset of the variables that must be columns: BIND and VALUES create others.
_VARIABLE = re.compile(r"[?$](\w+)")
_PER_MS = {"s": 0.001, "ms": 1, "us": 1000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns to send, as (name in the frame, name in the body), and the column of times by its name in the frame."""

    columns: tuple[tuple[str, str], ...]
    time_column: str | None

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of a batch that are sent."""
        taken = [batch.column(name) for name, _ in self.columns]
        return pa.RecordBatch.from_arrays(taken, names=[name for _, name in self.columns])

    def greatest_ms(self, batch: pa.RecordBatch) -> int | None:
        """The greatest time of a batch."""
        if self.time_column is None:
            return None
        column = batch.column(self.time_column)
        found = pc.max(column.cast(pa.int64())).as_py()
        if found is None or not pa.types.is_timestamp(column.type):
            return None if found is None else int(found)
        return int(found // _PER_MS[column.type.unit])


def layout_of(
    schema: StructType, mapping: str | None, time_column: str | None, *, has_time_in_data: bool, needs_numbers: bool
) -> Layout:
    """The columns to send of rows with this schema.

    `has_time_in_data`: the stream reads times from a predicate, so no column is required for them. `needs_numbers`: the
    greatest time will be needed.
    """
    arrow = to_arrow_schema(schema, timezone="UTC")
    time = _time_column(arrow, time_column or "t", is_named=time_column is not None, optional=has_time_in_data)
    if time is not None:
        _check_times(arrow.field(time), needs_numbers=needs_numbers)
    if mapping is None:
        return Layout(_triple_columns(arrow, time), time)
    _check_mapping(mapping, arrow, time)
    named = set(_VARIABLE.findall(mapping)) | {time}
    return Layout(tuple((name, name) for name in arrow.names if name in named), time)


def _triple_columns(arrow: pa.Schema, time: str | None) -> tuple[tuple[str, str], ...]:
    missing = [name for name in _TRIPLE if name not in arrow.names]
    if missing:
        raise WhorlSparkError(
            f"the rows have the columns {', '.join(arrow.names)}; without a mapping they need s, p and o",
            "set option 'mapping' to a CONSTRUCT over the columns",
        )
    kept = [(name, name) for name in (*_TRIPLE, *_TRIPLE_FURTHER) if name in arrow.names]
    return tuple(kept) if time is None else ((time, "t"), *kept)


def _time_column(arrow: pa.Schema, name: str, *, is_named: bool, optional: bool) -> str | None:
    if name in arrow.names:
        return name
    if optional and not is_named:
        return None
    raise WhorlSparkError(
        f"the rows have no column '{name}' for the times of events; they have {', '.join(arrow.names)}",
        "name it with option 'timeColumn'",
    )


def _check_times(field: pa.Field, *, needs_numbers: bool) -> None:
    kind = field.type
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind):
        return
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if is_text and not needs_numbers:
        return
    raise WhorlSparkError(
        f"column '{field.name}' of type {kind} cannot be the time of events"
        + (" where option 'watermarkDelay' is set" if is_text else ""),
        "use a timestamp, or milliseconds since 1970 as a whole number",
    )


def _check_mapping(mapping: str, arrow: pa.Schema, time: str | None) -> None:
    """Let the engine check the mapping as the server will, on a table without rows."""
    if all(name in arrow.names for name in _TRIPLE):
        raise WhorlSparkError(
            "rows with the columns s, p and o are triples, which need no mapping",
            "rename one of these columns, or leave option 'mapping' out",
        )
    try:
        whorl.map_rows(mapping, pa.RecordBatch.from_pylist([], schema=arrow), time_column=time or "t", t=0)
    except whorl.WhorlError as error:
        raise WhorlSparkError(f"option 'mapping': {error}") from None
