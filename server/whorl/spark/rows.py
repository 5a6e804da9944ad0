"""Results of a query → record batches with the columns of the source.

Columns about the origin of a row begin with an underscore, as in the tables of the client. The others are variables of
the query: `v` is the value, `v_lexical` its text, `v_type` its type.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from whorl.spark.errors import WhorlSparkError
from whorl.spark.terms import XSD, Member, kind, lexical, reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl_client import Answer

_WINDOW = t.StructType(
    [
        t.StructField("name", t.StringType()),
        t.StructField("open", t.TimestampType()),
        t.StructField("close", t.TimestampType()),
    ]
)
PLACE_COLUMNS: dict[str, t.DataType] = {
    "_seq": t.LongType(),
    "_at": t.TimestampType(),
    "_sign": t.ByteType(),
    "_open": t.TimestampType(),
    "_close": t.TimestampType(),
    "_windows": t.ArrayType(_WINDOW),
}
# The parts of a triple, or the boolean of an ASK, take the place of the variables of a SELECT.
STATEMENT = ("subject", "predicate", "object", "graph")
TRUTH = ("boolean",)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# A row: its sign, and its terms by name.
Row = tuple[int, dict[str, Member]]


def default_schema(variables: Sequence[str]) -> t.StructType:
    """The default columns: every value as text, with its type."""
    schema = t.StructType()
    for name, type_ in PLACE_COLUMNS.items():
        schema.add(name, type_)
    for name in variables:
        schema.add(name, t.BooleanType() if name in TRUTH else t.StringType())
        if name not in TRUTH:
            schema.add(f"{name}_type", t.StringType())
    return schema


class RowWriter:
    """Writes results as batches with the columns of a schema."""

    def __init__(self, schema: t.StructType, variables: Sequence[str]) -> None:
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        self._columns = [_column(field, variables) for field in schema.fields]

    def batches(self, answers: Iterable[Answer]) -> Iterator[pa.RecordBatch]:
        """One batch for each result that has rows."""
        for answer in answers:
            rows = _rows(answer)
            if rows:
                place = _place(answer)
                values = [[read(place, row) for row in rows] for read in self._columns]
                arrays = [pa.array(column, field.type) for column, field in zip(values, self._arrow, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=self._arrow)


def _column(field: t.StructField, variables: Sequence[str]) -> Callable[[dict[str, Any], Row], object]:
    name, type_ = field.name, field.dataType
    if name in PLACE_COLUMNS:
        if type_ != PLACE_COLUMNS[name]:
            raise WhorlSparkError(f"column '{name}' has the type {PLACE_COLUMNS[name].simpleString()}")
        return (lambda _, row: row[0]) if name == "_sign" else (lambda place, _: place[name])
    if name in variables:
        return _term_column(name, reader_of(name, type_))
    for suffix, read in (("_lexical", lexical), ("_type", kind)):
        variable = name.removesuffix(suffix)
        if name.endswith(suffix) and variable in variables:
            if not isinstance(type_, t.StringType):
                raise WhorlSparkError(f"column '{name}' is text", "give it the type string")
            return _term_column(variable, read)
    known = ", ".join((*variables, *PLACE_COLUMNS))
    raise WhorlSparkError(
        f"column '{name}' is not a variable of the query, which has {known}",
        "a variable v also has the columns v_lexical and v_type",
    )


def _term_column(name: str, read: Callable[[Member], object]) -> Callable[[dict[str, Any], Row], object]:
    def value(_: dict[str, Any], row: Row) -> object:
        member = row[1].get(name)
        return None if member is None else read(member)

    return value


def _place(answer: Answer) -> dict[str, Any]:
    """The position of a result; the current result has none."""
    envelope: dict[str, Any] = getattr(answer, "envelope", {})
    windows = [
        {"name": window["name"], "open": _instant(window.get("open")), "close": _instant(window.get("close"))}
        for window in envelope.get("windows", ())
    ]
    return {
        "_seq": envelope.get("seq"),
        "_at": _instant(envelope.get("t")),
        "_open": windows[0]["open"] if windows else None,
        "_close": windows[0]["close"] if windows else None,
        "_windows": windows,
    }


def _instant(ms: int | None) -> datetime | None:
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)


def _rows(answer: Answer) -> list[Row]:
    if answer.boolean is not None:
        truth = {"type": "literal", "value": str(answer.boolean).lower(), "datatype": XSD + "boolean"}
        return [(1, {TRUTH[0]: truth})]
    return [*((1, row) for row in answer.bindings()), *((-1, row) for row in answer.bindings(gone=True))]
