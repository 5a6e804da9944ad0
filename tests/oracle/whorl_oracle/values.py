"""Terms and their values: SPARQL 1.1 §17, as far as the outside oracle asks for it. Terms are N-Triples texts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation
from functools import cmp_to_key, lru_cache

XSD = "http://www.w3.org/2001/XMLSchema#"
LITERAL = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?:\^\^<(?P<type>[^>]*)>|@(?P<lang>[\w-]+))?', re.DOTALL)
INTEGER_TYPES = {"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"}
RANKS = {"integer": 0, "decimal": 1, "float": 2, "double": 3}
INTEGER_FORM = re.compile(r"[+-]?\d+")
DECIMAL_FORM = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
DOUBLE_FORM = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|INF)|NaN")
EXACT = Context(prec=60)


class ExpressionError(Exception):
    """An expression that has no value."""


@dataclass(frozen=True)
class Number:
    """A number with its type after promotion: integer, decimal, float or double."""

    kind: str
    value: Decimal | float


@lru_cache(maxsize=200_000)
def parts(term: str) -> tuple[str, str, str]:
    """Of a literal: its text, its datatype (simple literals have xsd:string), its language."""
    found = LITERAL.fullmatch(term)
    if found is None:
        raise ExpressionError(f"{term} is no literal")
    text = re.sub(r"\\(.)", lambda one: {"n": "\n", "t": "\t", "r": "\r"}.get(one[1], one[1]), found["text"])
    datatype = found["type"] or (XSD + "string" if found["lang"] is None else "langString")
    return text, datatype, found["lang"] or ""


def is_literal(term: str) -> bool:
    return term.startswith('"')


def is_iri(term: str) -> bool:
    return term.startswith("<") and not term.startswith("<<")


def string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def boolean(value: bool) -> str:
    return f'"{"true" if value else "false"}"^^<{XSD}boolean>'


TRUE, FALSE = boolean(True), boolean(False)


@lru_cache(maxsize=200_000)
def number(term: str) -> Number | None:
    """The number that a literal stands for; None when it stands for none."""
    if not is_literal(term):
        return None
    text, datatype, _ = parts(term)
    kind = datatype.removeprefix(XSD)
    if kind in INTEGER_TYPES:
        return Number("integer", int(text)) if INTEGER_FORM.fullmatch(text) else None
    if kind == "decimal":
        return Number("decimal", Decimal(text)) if DECIMAL_FORM.fullmatch(text) else None
    if kind in ("float", "double"):
        return Number(kind, float(text.replace("INF", "inf"))) if DOUBLE_FORM.fullmatch(text) else None
    return None


def as_number(term: str) -> Number:
    found = number(term)
    if found is None:
        raise ExpressionError(f"{term} is no number")
    return found


def write(value: Number) -> str:
    """A computed number as a term, in its canonical form."""
    match value.kind:
        case "integer":
            text = str(int(value.value))
        case "decimal":
            plain = f"{Decimal(value.value):f}"
            text = plain.rstrip("0").rstrip(".") if "." in plain else plain
            text = "0" if text in ("-0", "") else text
        case _:
            text = double_text(float(value.value))
    return f'"{text}"^^<{XSD}{value.kind}>'


def double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    digits = Decimal(repr(value)).normalize()
    sign, figures, power = digits.as_tuple()
    shown = "".join(map(str, figures))
    exponent = len(shown) - 1 + int(power) if value else 0
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{exponent}"


def promoted(left: Number, right: Number) -> tuple[str, Decimal | float, Decimal | float]:
    kind = max(left.kind, right.kind, key=RANKS.__getitem__)
    if kind == "integer":
        return kind, left.value, right.value
    if kind == "decimal":
        return kind, Decimal(left.value), Decimal(right.value)
    return kind, float(left.value), float(right.value)


def calculate(operator: str, left: Number, right: Number) -> Number:
    """`+ - * /`; a quotient of integers is a decimal."""
    kind, one, other = promoted(left, right)
    if operator == "/":
        return divide(kind, one, other)
    if kind == "decimal":
        exact = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[operator]
        return Number(kind, exact(Decimal(one), Decimal(other)))
    plain = {"+": one.__add__, "-": one.__sub__, "*": one.__mul__}[operator]
    return Number(kind, plain(other))  # type: ignore[operator]  # both numbers have one type by now


def divide(kind: str, one: Decimal | float, other: Decimal | float) -> Number:
    if kind in ("integer", "decimal"):
        if other == 0:
            raise ExpressionError("division by zero")
        try:
            return Number("decimal", EXACT.divide(Decimal(one), Decimal(other)))
        except (DivisionByZero, InvalidOperation) as error:
            raise ExpressionError(str(error)) from error
    if other == 0:
        nan = one == 0 or math.isnan(float(one))
        sign = math.copysign(1, float(one)) * math.copysign(1, float(other))
        return Number(kind, math.nan if nan else sign * math.inf)
    return Number(kind, float(one) / float(other))


def rounded(name: str, value: Number) -> Number:
    if value.kind == "integer":
        return value
    if value.kind == "decimal":
        exact = Decimal(value.value)
        up = {"FLOOR": exact, "CEIL": -exact, "ROUND": exact + Decimal("0.5")}[name]
        floor = up.to_integral_value(ROUND_FLOOR)
        return Number("decimal", -floor if name == "CEIL" else floor)
    plain = float(value.value)
    if math.isnan(plain) or math.isinf(plain):
        return value
    return Number(value.kind, float({"FLOOR": math.floor, "CEIL": math.ceil}.get(name, half_up)(plain)))


def half_up(value: float) -> int:
    return math.floor(value + 0.5)


def ordered(left: str, right: str) -> int | None:
    """−1, 0, 1 by value for `<` and its kin; None where NaN compares false with everything."""
    one, other = number(left), number(right)
    if one is not None and other is not None:
        _, a, b = promoted(one, other)
        if a != a or b != b:
            return None
        return (a > b) - (a < b)
    return by_text(left, right)


def by_text(left: str, right: str) -> int:
    if not (is_literal(left) and is_literal(right)):
        raise ExpressionError("no order between these terms")
    (one, kind, _), (other, other_kind, _) = parts(left), parts(right)
    if kind != other_kind or kind not in (XSD + "string", XSD + "boolean"):
        raise ExpressionError("no order between these literals")
    if kind == XSD + "boolean":
        first, second = truth(left), truth(right)
        return int(first) - int(second)
    return (one > other) - (one < other)


def equal(left: str, right: str) -> bool:
    """`=`: by value if there is one; an error for literals of unknown types."""
    one, other = number(left), number(right)
    if one is not None and other is not None:
        _, a, b = promoted(one, other)
        return bool(a == b)
    if left == right:
        return True
    if is_literal(left) and is_literal(right):
        (first, kind, lang), (second, other_kind, other_lang) = parts(left), parts(right)
        if kind == other_kind == XSD + "boolean":
            return truth(left) == truth(right)
        known = {XSD + "string", XSD + "boolean", "langString"} | {XSD + one for one in (*INTEGER_TYPES, *RANKS)}
        both_known = kind in known and other_kind in known and is_well_formed(left) and is_well_formed(right)
        if kind == other_kind == "langString":
            return first == second and lang.lower() == other_lang.lower()
        if not both_known:
            raise ExpressionError("literals of unknown types")
    return False


def is_well_formed(term: str) -> bool:
    _, kind, _ = parts(term)
    numeric = kind.removeprefix(XSD) in INTEGER_TYPES or kind.removeprefix(XSD) in RANKS
    return not numeric or number(term) is not None


def truth(term: str) -> bool:
    """The effective boolean value."""
    if not is_literal(term):
        raise ExpressionError("no boolean value")
    text, kind, lang = parts(term)
    if kind == XSD + "boolean":
        return text in ("true", "1")
    if kind == XSD + "string" and not lang:
        return text != ""
    found = number(term)
    if found is not None:
        return found.value == found.value and found.value != 0
    if kind.removeprefix(XSD) in INTEGER_TYPES or kind.removeprefix(XSD) in RANKS:
        return False
    raise ExpressionError("no boolean value")


def order_rank(term: str | None) -> int:
    """ORDER BY: unbound, blank nodes, IRIs, literals."""
    if term is None:
        return 0
    return 1 if term.startswith("_:") else 2 if is_iri(term) else 3


def order(left: str | None, right: str | None) -> int:
    """ORDER BY of two terms; queries under test leave no two different rows in either order."""
    ranks = order_rank(left) - order_rank(right)
    if ranks or left is None or right is None:
        return ranks
    if is_literal(left):
        try:
            found = ordered(left, right)
        except ExpressionError:
            found = None
        if found is not None:
            return found
    return (left > right) - (left < right)


order_key = cmp_to_key(order)
