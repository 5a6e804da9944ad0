"""The terms that streams and static data are made of."""

from __future__ import annotations

XSD = "http://www.w3.org/2001/XMLSchema#"
EX = "http://ex/"
NODES = tuple("abcd")
LINKS = tuple("pqr")
MEASURES = tuple("uv")
LABELS = ("l",)
CLASSES = ("K1", "K2")


def iri(name: str) -> str:
    return f"<{EX}{name}>"


def literal(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


# Lexical forms are those pyoxigraph gives back (see exclusions.py).
# Different terms have different values, and sums of them are exact in any order: a difference between two evaluations
# must not come from rounding.
ORDERLY = (
    *(literal(str(n), "integer") for n in (-2, 0, 1, 2, 3, 4, 5)),
    *(literal(n, "decimal") for n in ("0.5", "1.5", "2.25")),
    *(literal(n, "double") for n in ("1.25", "3.75", "-0.75")),
)
INTEGERS = ORDERLY[:7]
# Equal values of different types, and values that numbers stumble over. Two spellings of one value and type (01 and
# 1) and NaN are for `rare`: pyoxigraph's store keeps only one of them, and takes NaN >= NaN for true.
ODD = (
    *ORDERLY,
    literal("2", "decimal"),
    literal("3", "double"),
    literal("INF", "double"),
    literal("7.5", "float"),
    literal("true", "boolean"),
    '"1"',
    '"x"',
    '"x"@en',
)
# Words, and what is neither a word nor a number.
WORDS = (
    '"x"',
    '"y"',
    '""',
    '"abc"',
    '"aBc"',
    '"x"@en',
    '"y"@de',
    '"Abc"@en-oxendict',
    literal("true", "boolean"),
    literal("false", "boolean"),
    literal("2020-01-02T03:04:05Z", "dateTime"),
    literal("1970-01-01T00:00:00.02Z", "dateTime"),
    f'"z"^^<{EX}datatype>',
    '"2"',
)
