"""Expressions: their text parsed, and compiled to functions of a solution.

A compiled expression takes a solution (see `algebra`) and gives a term, or raises `ExpressionError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from whorl_oracle.query import Parts, Text
from whorl_oracle.values import (
    FALSE,
    TRUE,
    XSD,
    ExpressionError,
    Number,
    as_number,
    boolean,
    calculate,
    equal,
    is_iri,
    is_literal,
    number,
    ordered,
    parts,
    rounded,
    string,
    truth,
    write,
)

if TYPE_CHECKING:
    from whorl_oracle.query import Exists

EX = "http://ex/"
TOKEN = re.compile(
    r"""\s*(?:
    (?P<var>\?\w+)
  | (?P<literal>"(?:[^"\\]|\\.)*"(?:@[\w-]+|\^\^xsd:\w+|\^\^:\w+|\^\^<[^>]*>)?)
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
  | (?P<iri><[^<>\s"]*>|xsd:\w+|:\w+)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<special>\0\d+\0)
  | (?P<op>&&|\|\||!=|<=|>=|[=<>!+\-*/(),;]))""",
    re.VERBOSE,
)
AGGREGATES = {"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"}
# Operators from the loosest to the tightest.
LEVELS = (("||",), ("&&",), ("=", "!=", "<", "<=", ">", ">=", "IN", "NOT IN"), ("+", "-"), ("*", "/"))

Solution = Any
Compiled = Callable[[Solution], str]


@dataclass(frozen=True)
class Node:
    """A node of an expression: what it is, its text, what is below it, and the group of an EXISTS."""

    kind: str
    text: str = ""
    below: tuple[Node, ...] = ()
    group: Exists | None = None


def parsed(text: Text) -> Node:
    return _Parser(text).whole()


def term(text: str) -> str:
    """A constant of the query as N-Triples."""
    if text.startswith(":"):
        return f"<{EX}{text[1:]}>"
    if text.startswith("xsd:"):
        return f"<{XSD}{text[4:]}>"
    if text.startswith('"'):
        body, mark, kind = text.rpartition('"^^')
        return f'{body}"^^{term(kind)}' if mark else text
    if text in ("true", "false"):
        return TRUE if text == "true" else FALSE
    if re.fullmatch(r"[+-]?\d+", text):
        return f'"{text}"^^<{XSD}integer>'
    if re.fullmatch(r"[+-]?\d+\.\d+", text):
        return f'"{text}"^^<{XSD}decimal>'
    if re.fullmatch(r"[+-]?[\d.]+[eE][+-]?\d+", text):
        return f'"{text}"^^<{XSD}double>'
    return text


class _Parser:
    def __init__(self, text: Text) -> None:
        self.exists: list[Exists] = []
        self.tokens = [(match.lastgroup or "", match[match.lastgroup or 0]) for match in self.matches(self.flat(text))]
        self.at = 0

    def flat(self, text: Text) -> str:
        if not isinstance(text, Parts):
            return text
        pieces = []
        for part in text.parts:
            if isinstance(part, str):
                pieces.append(part)
            else:
                pieces.append(f"\0{len(self.exists)}\0")
                self.exists.append(part)  # type: ignore[arg-type]  # the only other kind of part
        return "".join(pieces)

    def matches(self, text: str) -> list[re.Match[str]]:
        found, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"cannot read {text[at:]!r}")
            found.append(match)
            at = match.end()
        return found

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        value = self.peek()
        if expected and value.upper() not in expected:
            raise ValueError(f"{expected} expected, {value!r} found")
        self.at += 1
        return value

    def whole(self) -> Node:
        node = self.binary(0)
        if self.peek():
            raise ValueError(f"{self.peek()!r} is too much")
        return node

    def binary(self, level: int) -> Node:
        if level == len(LEVELS):
            return self.unary()
        node = self.binary(level + 1)
        while (operator := self.operator(level)) is not None:
            if operator in ("IN", "NOT IN"):
                node = Node("in", operator, (node, *self.arguments()))
            else:
                node = Node("op", operator, (node, self.binary(level + 1)))
        return node

    def operator(self, level: int) -> str | None:
        word = self.peek().upper()
        if word == "NOT" and "NOT IN" in LEVELS[level]:
            self.take("NOT")
            self.take("IN")
            return "NOT IN"
        if word in LEVELS[level]:
            self.take()
            return word
        return None

    def unary(self) -> Node:
        if self.peek() in ("!", "-", "+"):
            return Node("unary", self.take(), (self.unary(),))
        return self.primary()

    def primary(self) -> Node:
        kind = self.tokens[self.at][0]
        text = self.take()
        if kind == "var":
            return Node("var", text)
        if kind == "special":
            return Node("exists", group=self.exists[int(text[1:-1])])
        if text == "(":
            node = self.binary(0)
            self.take(")")
            return node
        if text in ("true", "false") or kind in ("number", "literal"):
            return Node("term", term(text))
        if self.peek() != "(":
            return Node("term", term(text))
        if text.upper() in AGGREGATES:
            return self.aggregate(text.upper())
        return Node("call", text if kind == "iri" else text.upper(), self.arguments())

    def arguments(self) -> tuple[Node, ...]:
        self.take("(")
        found = []
        while self.peek() != ")":
            found.append(self.binary(0))
            if self.peek() == ",":
                self.take()
        self.take(")")
        return tuple(found)

    def aggregate(self, name: str) -> Node:
        self.take("(")
        distinct = self.peek().upper() == "DISTINCT"
        if distinct:
            self.take()
        below: tuple[Node, ...] = ()
        if self.peek() == "*":
            self.take()
        else:
            below = (self.binary(0),)
        separator = " "
        if self.peek() == ";":
            self.take()
            self.take("SEPARATOR")
            self.take("=")
            separator = self.take()[1:-1]
        self.take(")")
        return Node("aggregate", f"{name}{' DISTINCT' if distinct else ''}", (*below, Node("term", separator)))


def nodes(node: Node) -> list[Node]:
    """The node and all below it."""
    return [node, *(one for below in node.below for one in nodes(below))]


def compiled(node: Node, variable: Callable[[str], Compiled], special: Callable[[Node], Compiled]) -> Compiled:
    """`variable` says how a variable is looked up, `special` what EXISTS, BOUND and aggregates are."""

    def of(one: Node) -> Compiled:
        return compiled(one, variable, special)

    match node.kind:
        case "var":
            return variable(node.text)
        case "term":
            return lambda _: node.text
        case "exists" | "aggregate":
            return special(node)
        case "unary":
            return _unary(node.text, of(node.below[0]))
        case "op":
            return _binary(node.text, of(node.below[0]), of(node.below[1]))
        case "in":
            return _membership(node.text == "NOT IN", of(node.below[0]), [of(one) for one in node.below[1:]])
        case "call" if node.text == "BOUND":
            return special(node)
        case "call":
            return _call(node.text, [of(one) for one in node.below])
    raise AssertionError(node)


def _unary(operator: str, inner: Compiled) -> Compiled:
    if operator == "!":
        return lambda row: boolean(not truth(inner(row)))
    sign = Number("integer", -1 if operator == "-" else 1)
    return lambda row: write(calculate("*", as_number(inner(row)), sign))


def _binary(operator: str, left: Compiled, right: Compiled) -> Compiled:
    if operator in ("||", "&&"):
        return _logical(operator == "||", left, right)
    if operator == "=":
        return lambda row: boolean(equal(left(row), right(row)))
    if operator == "!=":
        return lambda row: boolean(not equal(left(row), right(row)))
    if operator in "+-*/":
        return lambda row: write(calculate(operator, as_number(left(row)), as_number(right(row))))
    return _comparison(operator, left, right)


COMPARED = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}


def _comparison(operator: str, left: Compiled, right: Compiled) -> Compiled:
    accepted = COMPARED[operator]
    return lambda row: boolean(ordered(left(row), right(row)) in accepted)


def _logical(decisive: bool, left: Compiled, right: Compiled) -> Compiled:
    """`||` is decided by a true side, `&&` by a false one; only then is an error of the other side forgiven."""

    def evaluate(row: Solution) -> str:
        failed: ExpressionError | None = None
        for side in (left, right):
            try:
                if truth(side(row)) is decisive:
                    return boolean(decisive)
            except ExpressionError as error:
                failed = error
        if failed is not None:
            raise failed
        return boolean(not decisive)

    return evaluate


def _membership(negated: bool, value: Compiled, choices: list[Compiled]) -> Compiled:
    def evaluate(row: Solution) -> str:
        one, failed = value(row), None
        for choice in choices:
            try:
                if equal(one, choice(row)):
                    return boolean(not negated)
            except ExpressionError as error:
                failed = error
        if failed is not None:
            raise failed
        return boolean(negated)

    return evaluate


def _call(name: str, arguments: list[Compiled]) -> Compiled:
    if name == "IF":
        condition, then, otherwise = arguments
        return lambda row: then(row) if truth(condition(row)) else otherwise(row)
    if name == "COALESCE":
        return _coalesce(arguments)
    function = FUNCTIONS[name]
    return lambda row: function(*(argument(row) for argument in arguments))


def _coalesce(arguments: list[Compiled]) -> Compiled:
    def evaluate(row: Solution) -> str:
        for argument in arguments:
            try:
                return argument(row)
            except ExpressionError:
                continue
        raise ExpressionError("nothing to coalesce")

    return evaluate


def text_of(value: str) -> str:
    """The argument of a function on strings."""
    text, kind, _ = parts(value)
    if kind not in (XSD + "string", "langString"):
        raise ExpressionError("no string")
    return text


def tagged(like: str, text: str) -> str:
    """A string with the language of another."""
    _, _, lang = parts(like)
    return string(text) + (f"@{lang}" if lang else "")


def str_of(value: str) -> str:
    return string(value[1:-1] if is_iri(value) else parts(value)[0])


def datatype(value: str) -> str:
    kind = parts(value)[1]
    return "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>" if kind == "langString" else f"<{kind}>"


def concat(*values: str) -> str:
    languages = {parts(value)[2] for value in values}
    text = string("".join(map(text_of, values)))
    return text + f"@{languages.pop()}" if len(languages) == 1 and "" not in languages else text


def compatible(value: str, other: str) -> tuple[str, str]:
    one, two = text_of(value), text_of(other)
    if parts(other)[2] not in ("", parts(value)[2]):
        raise ExpressionError("strings of different languages")
    return one, two


def cast(kind: str) -> Callable[[str], str]:
    def evaluate(value: str) -> str:
        if is_iri(value):
            raise ExpressionError("an IRI is cast to strings only")
        known = number(value)
        text, source, _ = parts(value)
        if known is None and source == XSD + "boolean":
            known = Number("integer", int(truth(value)))
        if known is None:
            known = number(f'"{text.strip()}"^^<{XSD}{kind}>') if source == XSD + "string" else None
        if known is None:
            raise ExpressionError("no number")
        return write(converted(kind, known))

    return evaluate


def converted(kind: str, value: Number) -> Number:
    try:
        if kind == "integer":
            return Number(kind, int(value.value))
        return Number(kind, Decimal(value.value) if kind == "decimal" else float(value.value))
    except (ValueError, OverflowError, InvalidOperation) as error:
        raise ExpressionError(str(error)) from error


def absolute(value: str) -> str:
    known = as_number(value)
    negative = known.value < 0
    return write(calculate("*", known, Number("integer", -1 if negative else 1)))


FUNCTIONS: dict[str, Callable[..., str]] = {
    "STR": str_of,
    "LANG": lambda value: string(parts(value)[2]),
    "DATATYPE": datatype,
    "ISIRI": lambda value: boolean(is_iri(value)),
    "ISLITERAL": lambda value: boolean(is_literal(value)),
    "ISBLANK": lambda value: boolean(value.startswith("_:")),
    "ISNUMERIC": lambda value: boolean(number(value) is not None),
    "SAMETERM": lambda value, other: boolean(value == other),
    "STRLEN": lambda value: write(Number("integer", len(text_of(value)))),
    "UCASE": lambda value: tagged(value, text_of(value).upper()),
    "LCASE": lambda value: tagged(value, text_of(value).lower()),
    "CONCAT": concat,
    "CONTAINS": lambda value, other: boolean(compatible(value, other)[1] in compatible(value, other)[0]),
    "STRSTARTS": lambda value, other: boolean(str.startswith(*compatible(value, other))),
    "STRENDS": lambda value, other: boolean(str.endswith(*compatible(value, other))),
    "ABS": absolute,
    "CEIL": lambda value: write(rounded("CEIL", as_number(value))),
    "FLOOR": lambda value: write(rounded("FLOOR", as_number(value))),
    "ROUND": lambda value: write(rounded("ROUND", as_number(value))),
    "xsd:integer": cast("integer"),
    "xsd:decimal": cast("decimal"),
    "xsd:double": cast("double"),
    "xsd:float": cast("float"),
    "xsd:string": str_of,
}
