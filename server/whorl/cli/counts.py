"""Numbers of things in messages: `1 event`, `2 events`."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """The number and its noun, in the plural unless there is exactly one.

    >>> counted(1, "row"), counted(1200, "event")
    ('1 row', '1200 events')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
