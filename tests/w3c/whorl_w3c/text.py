"""Query text, read by a small tokenizer: what kind of query it is, and how a window is put around its pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
  | (?P<string>'''(?:'{0,2}(?:[^'\\]|\\.))*''' | \"\"\"(?:"{0,2}(?:[^"\\]|\\.))*\"\"\"
      | '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
  | (?P<name>[?$]\w+ | [\w.-]*:(?:[\w.:%-]|\\.)*)
  | (?P<word>[A-Za-z]\w*)
  | (?P<other>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
# Aggregates whose value is a term of the data as it stands there.
CHOOSING = {"MIN", "MAX", "SAMPLE"}
NOT_WRAPPED = {"GRAPH", "SELECT", "SERVICE"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word in capitals, or a piece of another kind as it is."""

    kind: str
    text: str
    start: int
    end: int


def tokens(query: str) -> list[Token]:
    """The tokens without comments and blanks."""
    found = []
    for match in TOKEN.finditer(query):
        kind = str(match.lastgroup)
        if kind != "comment":
            word = match.group().upper() if kind == "word" else match.group()
            found.append(Token(kind, word, match.start(), match.end()))
    return found


def is_ordered(query: str) -> bool:
    """Whether the solutions have an order: an ORDER BY outside of braces."""
    depth = 0
    for token in tokens(query):
        depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "other" else 0
        if token.kind == "word" and token.text == "ORDER" and depth == 0:
            return True
    return False


def dataset_of(query: str) -> tuple[set[str], set[str]]:
    """The graphs that FROM and those that FROM NAMED names, as they are written between < and >."""
    found = tokens(query)
    merged: set[str] = set()
    named: set[str] = set()
    for place, token in enumerate(found):
        if token.kind == "word" and token.text == "FROM":
            is_named = found[place + 1].text == "NAMED"
            (named if is_named else merged).add(found[place + 1 + is_named].text[1:-1])
    return merged, named


def makes_blank_nodes(query: str) -> bool:
    """Whether answers have blank nodes that are not in the data: by BNODE, or by the template of CONSTRUCT."""
    found = tokens(query)
    words = _words(found)
    if "CONSTRUCT" not in words:
        return "BNODE" in words
    opening = next(place for place, token in enumerate(found) if token.text == "{")
    template = found[opening : _closing(found, opening)]
    return any(token.text in {"[", "("} or token.text.startswith("_:") for token in template)


def computed_by(query: str) -> frozenset[str]:
    """The variables that get computed values: those after AS, unless the value is one that MIN, MAX or SAMPLE chose."""
    found = tokens(query)
    names = set()
    for place, token in enumerate(found[:-1]):
        if token.kind == "word" and token.text == "AS" and found[_expression(found, place)].text not in CHOOSING:
            names.add(found[place + 1].text[1:])
    return frozenset(names)


def _expression(found: list[Token], end: int) -> int:
    """Where the expression begins that ends before AS: after the bracket that is still open."""
    depth = 0
    for place in range(end - 1, -1, -1):
        depth += {"(": -1, ")": 1}.get(found[place].text, 0)
        if depth < 0:
            return place + 1
    raise ValueError("AS stands outside of brackets")


def wrapped(query: str, declaration: str, window: str) -> str | None:
    """The query with its pattern inside WINDOW; None where that would mean something else or is not simple."""
    found = tokens(query)
    opening = _opening(found)
    if opening is None:
        return None
    closing = _closing(found, opening)
    outside, inside = _words([*found[:opening], *found[closing:]]), _words(found[opening:closing])
    if {"EXISTS", "FROM"} & {*outside} or NOT_WRAPPED & {*inside}:
        return None
    where = found[opening - 1] if found[opening - 1].text == "WHERE" else found[opening]
    start, end = found[opening].start, found[closing].end
    return f"{query[: where.start]} {declaration} WHERE {{ WINDOW {window} {query[start:end]} }} {query[end:]}"


def _words(found: list[Token]) -> list[str]:
    return [token.text for token in found if token.kind == "word"]


def _opening(found: list[Token]) -> int | None:
    """The brace that opens the pattern: the first, or the second after the template of CONSTRUCT."""
    braces = [place for place, token in enumerate(found) if token.kind == "other" and token.text == "{"]
    if not braces:
        return None
    if "CONSTRUCT" not in _words(found):
        return braces[0]
    if found[braces[0] - 1].text != "CONSTRUCT":
        return None
    after = [place for place in braces if place > _closing(found, braces[0])]
    return after[0] if after else None


def _closing(found: list[Token], opening: int) -> int:
    depth = 0
    for place in range(opening, len(found)):
        if found[place].kind == "other":
            depth += {"{": 1, "}": -1}.get(found[place].text, 0)
            if depth == 0:
                return place
    raise ValueError("a brace is not closed")
