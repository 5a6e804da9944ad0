"""Comparisons as SPARQL 1.1 §17.3 has them, for pyoxigraph.

It takes a term for equal to itself in `<=` and `>=` (also an IRI, also NaN), has no order on booleans, and takes
comparisons with NaN for errors. So the text it is given asks a function first whether its answer can be trusted.
"""

from __future__ import annotations

import math
import operator
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Callable

    Functions: TypeAlias = dict[ox.NamedNode, Callable[..., ox.Literal | None]]

XSD = "http://www.w3.org/2001/XMLSchema#"
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COMPARISON = re.compile(" (<=|>=|<|>) ")
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# What ends an operand, besides a bracket that was not opened in it.
ENDS = (" && ", " || ", " AS ", ", ")


def standard(text: str) -> str:
    """The text with every comparison checked; tabs mark those that are done."""
    while (found := COMPARISON.search(text)) is not None:
        start, end = _begin(text, found.start()), _end(text, found.end())
        left, right, sign = text[start : found.start()], text[found.end() : end], found[1]
        done = f"{left}\t{sign}\t{right}"
        other = f"<urn:order:{_NAMES[sign]}>({left}, {right})"
        text = f"{text[:start]}IF(<urn:order:trusted>({left}, {right}), {done}, {other}){text[end:]}"
    return text


def order_functions() -> Functions:
    """The functions that such a text calls."""
    found: Functions = {ox.NamedNode("urn:order:trusted"): _trusted}
    for sign, name in _NAMES.items():
        found[ox.NamedNode(f"urn:order:{name}")] = _otherwise(OPERATORS[sign])
    return found


_NAMES = {"<": "less", "<=": "at-most", ">": "more", ">=": "at-least"}


def _begin(text: str, at: int) -> int:
    depth = 0
    for start in range(at, 0, -1):
        depth += {")": 1, "(": -1}.get(text[start - 1], 0)
        if depth < 0 or (depth == 0 and text[:start].endswith(ENDS)):
            return start
    return 0


def _end(text: str, at: int) -> int:
    depth = 0
    for end in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth < 0 or (depth == 0 and text.startswith(ENDS, end)):
            return end
    return len(text)


def _trusted(one: object, other: object) -> ox.Literal:
    return ox.Literal(_is_ordered(one) and _is_ordered(other))


def _is_ordered(term: object) -> bool:
    if not isinstance(term, ox.Literal):
        return False
    number = _number(term)
    named = term.datatype.value.removeprefix(XSD) in ("string", "dateTime")
    return term.language is not None or named or (number is not None and not math.isnan(number))


def _otherwise(compare: Callable[[bool, bool], bool]) -> Callable[..., ox.Literal | None]:
    def answer(one: object, other: object) -> ox.Literal | None:
        if not isinstance(one, ox.Literal) or not isinstance(other, ox.Literal):
            return None
        if _number(one) is not None and _number(other) is not None:
            return ox.Literal(value=False)
        left, right = _boolean(one), _boolean(other)
        return None if left is None or right is None else ox.Literal(compare(left, right))

    return answer


def _boolean(term: ox.Literal) -> bool | None:
    return BOOLEANS.get(term.value) if term.datatype.value == XSD + "boolean" else None


def _number(term: ox.Literal) -> float | None:
    """Roughly its value; None for what is no number."""
    try:
        match term.datatype.value.removeprefix(XSD):
            case "integer" | "int":
                return float(int(term.value))
            case "decimal":
                return float(Decimal(term.value))
            case "double" | "float":
                return float(term.value)
    except (ValueError, InvalidOperation):
        pass
    return None
