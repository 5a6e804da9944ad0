"""When two bags of solutions are the same: exactly, but doubles and decimals by value."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl_oracle.run import Row

XSD = "http://www.w3.org/2001/XMLSchema#"
TYPED = re.compile(r'"(?P<lexical>[^"]*)"\^\^<' + re.escape(XSD) + r"(?P<type>\w+)>")
TOLERANCE = 1e-9
# Between the values of GROUP_CONCAT; no other string has it.
SEPARATOR = "|"


def orderly(row: Row) -> Row:
    """The row with the values of each GROUP_CONCAT in order: SPARQL gives them none."""
    return tuple(value if value is None or SEPARATOR not in value else sorted_parts(value) for value in row)


def sorted_parts(value: str) -> str:
    text, quote, rest = value[1:].rpartition('"')
    return '"' + SEPARATOR.join(sorted(text.split(SEPARATOR))) + quote + rest


def key(value: str | None, *, loose: bool) -> tuple[str, object]:
    """What has to be equal, and for numbers the value that has to be near."""
    if value is None:
        return ("", "")
    typed = TYPED.fullmatch(value)
    if typed is not None and typed["type"] in {"double", "float", "decimal", "integer"}:
        exact = typed["type"] == "integer" and not loose
        try:
            number = float(typed["lexical"].replace("INF", "inf"))
        except ValueError:
            return (value, "")
        # rdflib may say integer, decimal or double where the others say one of the others.
        return (value, "") if exact else ("number" if loose else typed["type"], number)
    if loose and value.endswith(f"^^<{XSD}string>"):
        return (value.removesuffix(f"^^<{XSD}string>"), "")
    return (value, "")


def same_value(left: tuple[str, object], right: tuple[str, object]) -> bool:
    if left[0] != right[0]:
        return False
    if isinstance(left[1], float) and isinstance(right[1], float):
        both_nan = math.isnan(left[1]) and math.isnan(right[1])
        return both_nan or math.isclose(left[1], right[1], rel_tol=TOLERANCE, abs_tol=1e-12)
    return left[1] == right[1]


def sort_key(row: Sequence[tuple[str, object]]) -> list[tuple[str, str]]:
    """An order that puts nearly equal rows at the same place: six digits of a number take part."""
    return [(kind, f"{value:.6g}" if isinstance(value, float) else str(value)) for kind, value in row]


def same_rows(left: Iterable[Row], right: Iterable[Row], *, ordered: bool = False, loose: bool = False) -> bool:
    """Equal as bags; as sequences when `ordered`."""
    lefts = [[key(value, loose=loose) for value in row] for row in left]
    rights = [[key(value, loose=loose) for value in row] for row in right]
    if len(lefts) != len(rights):
        return False
    if not ordered:
        lefts.sort(key=sort_key)
        rights.sort(key=sort_key)
    return all(
        len(one) == len(other) and all(same_value(a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(lefts, rights, strict=True)
    )
