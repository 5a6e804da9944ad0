"""The keyword options of both clients, each defined once; the names in JSON are derived.

`_query_keywords` is generated from the options of the library, so that both packages accept the same ones.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict

from ._models import time_ms
from ._query_keywords import QueryKeywords as QueryKeywords

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._models import Progress, Time


class StreamKeywords(TypedDict, total=False):
    """Options of `streams.create`; durations are milliseconds or text such as `"10s"`."""

    timestamp_predicate: str | None
    assume_zone: str | None
    lateness: int | str | None
    idle_timeout: int | str | None
    retention: int | str | None
    time: Literal["event", "arrival"] | None


class SubscribeKeywords(TypedDict, total=False):
    """Options of `subscribe` except `on_gap`, which decides the type of what a subscription yields."""

    snapshot: bool
    limit: int | None
    until: Time | None
    timeout_s: float | None
    on_progress: Callable[[Progress], None] | None
    raw: bool
    credit: int
    overflow: Literal["disconnect", "drop-oldest", "latest"] | None


def document_of(options: Mapping[str, object], known: frozenset[str]) -> dict[str, object]:
    """Convert options to JSON: names in camel case, times in milliseconds. An unknown name raises TypeError.

    >>> document_of({"base_iri": "http://example.org/"}, QueryKeywords.__optional_keys__)
    {'baseIri': 'http://example.org/'}
    """
    unknown = sorted(options.keys() - known)
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; one of {', '.join(sorted(known))}")
    return {_camel_case(name): _written(value) for name, value in options.items()}


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _written(value: object) -> object:
    return time_ms(value) if isinstance(value, datetime) else value
