"""Terms of results → values of Spark columns, by the type of the column.

A text column accepts any term: the IRI, the label of a blank node, the lexical form of a literal. A column of another
type accepts literals whose datatype matches (an integer is also a decimal and a double); anything else is null there,
and can be read in `…_lexical` and `…_type`.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from whorl.spark.errors import WhorlSparkError

if TYPE_CHECKING:
    from collections.abc import Callable

# A term as in SPARQL 1.1 Results JSON.
Member = dict[str, Any]

XSD = "http://www.w3.org/2001/XMLSchema#"
_WHOLE = frozenset(
    XSD + name
    for name in (
        "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
_EXACT = _WHOLE | {XSD + "decimal"}
_NUMERIC = _EXACT | {XSD + "double", XSD + "float"}
_INSTANTS = frozenset({XSD + "dateTime", XSD + "dateTimeStamp"})
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]{1,40}")
_EXACT_TEXT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DATE_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BITS = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}


def lexical(member: Member) -> str:
    """The text of a term: an IRI, a label, a lexical form; for a triple term, its JSON."""
    value = member["value"]
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def kind(member: Member) -> str:
    """The type of a term: `iri`, `bnode`, `triple`, the IRI of a datatype, or `@` and a language."""
    match member["type"]:
        case "uri":
            return "iri"
        case "bnode" | "triple" as named:
            return str(named)
    language = member.get("xml:lang")
    return f"@{language}" if language else str(member.get("datatype", XSD + "string"))


def reader_of(name: str, kind_: t.DataType) -> Callable[[Member], Any]:
    """The function that reads values of a column; a type that cannot hold terms is refused."""
    match kind_:
        case t.StringType():
            return lexical
        case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
            return _whole_reader(_BITS[type(kind_)])
        case t.DecimalType():
            return _decimal_reader(kind_.precision, kind_.scale)
        case t.FloatType() | t.DoubleType():
            return _double
        case t.BooleanType():
            return _boolean
        case t.TimestampType():
            return _instant
        case t.TimestampNTZType():
            return _local_time
        case t.DateType():
            return _date
    raise WhorlSparkError(
        f"column '{name}' of type {kind_.simpleString()} cannot hold an RDF term",
        "use string, boolean, a whole number, decimal, float, double, timestamp, timestamp_ntz or date",
    )


def _whole_reader(bits: int) -> Callable[[Member], int | None]:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def read(member: Member) -> int | None:
        text = member["value"]
        if member.get("datatype") not in _WHOLE or _WHOLE_TEXT.fullmatch(text) is None:
            return None
        value = int(text)
        return value if least <= value <= most else None

    return read


def _decimal_reader(precision: int, scale: int) -> Callable[[Member], Decimal | None]:
    step = Decimal(1).scaleb(-scale)

    def read(member: Member) -> Decimal | None:
        text = member["value"]
        if member.get("datatype") not in _EXACT or _EXACT_TEXT.fullmatch(text) is None:
            return None
        with localcontext() as context:
            context.prec = max(len(text), precision) + scale + 2
            value = Decimal(text).quantize(step, ROUND_HALF_EVEN)
        return value if value.is_zero() or value.adjusted() < precision - scale else None

    return read


def _double(member: Member) -> float | None:
    if member.get("datatype") not in _NUMERIC:
        return None
    try:
        # XSD writes infinity as INF, which Python reads; it never writes underscores, which Python reads as well.
        return None if "_" in member["value"] else float(member["value"])
    except ValueError:
        return None


def _boolean(member: Member) -> bool | None:
    if member.get("datatype") != XSD + "boolean":
        return None
    return {"true": True, "1": True, "false": False, "0": False}.get(member["value"])


def _date_time(member: Member) -> datetime | None:
    if member.get("datatype") not in _INSTANTS:
        return None
    try:
        return datetime.fromisoformat(member["value"])
    except ValueError:  # year 12000, hour 24
        return None


def _instant(member: Member) -> datetime | None:
    """The instant of a dateTime with a zone; None without one."""
    found = _date_time(member)
    return None if found is None or found.tzinfo is None else found.astimezone(UTC)


def _local_time(member: Member) -> datetime | None:
    found = _date_time(member)
    return None if found is None or found.tzinfo is not None else found


def _date(member: Member) -> date | None:
    if member.get("datatype") != XSD + "date" or _DATE_TEXT.fullmatch(member["value"]) is None:
        return None
    try:
        return date.fromisoformat(member["value"])
    except ValueError:
        return None
