"""The gallery: queries for the demo, one file each; the first line describes the query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class GalleryQuery:
    """A query of the gallery."""

    name: str
    title: str
    text: str


def gallery() -> list[GalleryQuery]:
    """All queries, in the order of the list that the console reads, too."""
    return [_read(name) for name in (_HERE / "gallery.txt").read_text(encoding="utf-8").split()]


def building() -> bytes:
    """The static graph of the rooms, in Turtle."""
    return (_HERE / "building.ttl").read_bytes()


def _read(file: str) -> GalleryQuery:
    text = (_HERE / "gallery" / file).read_text(encoding="utf-8")
    return GalleryQuery(file.partition(".")[0], text.partition("\n")[0].removeprefix("# "), text)
