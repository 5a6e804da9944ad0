"""The gallery: queries that work on the demo at once, one file each, with what it shows in the first line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent

# In the order in which they are shown.
NAMES = (
    "average-temperature",
    "hot-readings",
    "people-in-smoke",
    "floors",
    "warmest-rooms",
    "fire-alert",
    "evacuation",
)


@dataclass(frozen=True, slots=True)
class GalleryQuery:
    """A query of the gallery."""

    name: str
    title: str
    text: str


def gallery() -> list[GalleryQuery]:
    """All of them."""
    return [_read(name) for name in NAMES]


def building() -> bytes:
    """The static graph of the rooms, in Turtle."""
    return (_HERE / "building.ttl").read_bytes()


def _read(name: str) -> GalleryQuery:
    text = (_HERE / "gallery" / f"{name}.rspql").read_text(encoding="utf-8")
    return GalleryQuery(name, text.partition("\n")[0].removeprefix("# "), text)
