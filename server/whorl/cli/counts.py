"""Numbers of things and sizes in messages: `1 event`, `2 events`, `3.2 KiB`."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """The number and its noun, in the plural unless there is exactly one.

    >>> counted(1, "row"), counted(1200, "event")
    ('1 row', '1200 events')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(n_bytes: int) -> str:
    """Bytes in the largest unit that leaves a number of at least 1.

    >>> size(999), size(4_096), size(5_500_000)
    ('999 bytes', '4.0 KiB', '5.2 MiB')
    """
    if n_bytes < 1024:
        return counted(n_bytes, "byte")
    number, units = n_bytes / 1024, ["KiB", "MiB", "GiB"]
    while number >= 1024 and len(units) > 1:
        number, units = number / 1024, units[1:]
    return f"{number:.1f} {units[0]}"
