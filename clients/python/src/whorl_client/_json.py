"""JSON as the server sends it, with types: what is read from a document is checked where it is read.

A member that is missing, or is not of the kind that is asked for, reads as None: newer servers may say more, and older
ones less.
"""

from __future__ import annotations

import json
from typing import TypeAlias, TypeVar, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, "Json"]

V = TypeVar("V")


def parsed(text: str | bytes) -> Json:
    """JSON text as a value; raises ValueError."""
    return cast("Json", json.loads(text))


def member(document: JsonObject, name: str, kind: type[V]) -> V | None:
    """One member, if it is of this kind.

    >>> member({"line": 3, "hint": None}, "line", int), member({"hint": None}, "hint", str)
    (3, None)
    """
    value = document.get(name)
    return value if isinstance(value, kind) else None


def number(document: JsonObject, name: str) -> float | None:
    """A member that is a number of whatever kind."""
    value = document.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def inner(document: JsonObject, name: str) -> JsonObject:
    """The object in a member; empty if there is none."""
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def objects(document: JsonObject, name: str) -> list[JsonObject]:
    """The objects in a list."""
    value = document.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(document: JsonObject, name: str) -> list[str]:
    """The strings in a list.

    >>> strings({"vars": ["room", "t"]}, "vars")
    ['room', 't']
    """
    value = document.get(name)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
