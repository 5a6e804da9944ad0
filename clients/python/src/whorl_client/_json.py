"""Typed access to the JSON that the server sends: each member is checked where it is read.

A member that is missing or of another type reads as None, because newer servers may send more and older ones less.
"""

from __future__ import annotations

import json
from typing import TypeAlias, TypeVar, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, "Json"]

V = TypeVar("V")


def parsed(text: str | bytes) -> Json:
    """Parse JSON text; raises ValueError."""
    return cast("Json", json.loads(text))


def member(document: JsonObject, name: str, kind: type[V]) -> V | None:
    """Return a member if it is of this type.

    >>> member({"line": 3, "hint": None}, "line", int), member({"hint": None}, "hint", str)
    (3, None)
    """
    value = document.get(name)
    return value if isinstance(value, kind) else None


def number(document: JsonObject, name: str) -> float | None:
    """Return a member if it is a number."""
    value = document.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def inner(document: JsonObject, name: str) -> JsonObject:
    """Return the object in a member, or an empty one."""
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def objects(document: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects in a list."""
    value = document.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(document: JsonObject, name: str) -> list[str]:
    """Return the strings in a list.

    >>> strings({"vars": ["room", "t"]}, "vars")
    ['room', 't']
    """
    value = document.get(name)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
