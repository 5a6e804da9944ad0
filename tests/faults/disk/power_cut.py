"""The disk after a power cut in a traced run: everything that was synced, and a random part of the rest.

Bytes count as kept when their file was synced after they were written and that sync succeeded. After a sync that
failed, bytes written before it may be there or not, and no later sync changes that: the system has forgotten that they
were never written. Names count as kept when their directory was synced. Of all else each write is kept, dropped, torn,
or replaced by zeros where the file only grew; each change of a name is kept or dropped.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from shim import Change, Event

_PAGE = 4096


@dataclass
class _Write:
    at: int
    # None is a truncation to `at`.
    data: bytes | None
    is_kept: bool = False
    # Written before a sync that failed: no later sync helps it.
    is_lost: bool = False


@dataclass
class _Name:
    """A change of a name in a directory."""

    directory: str
    kind: Change
    path: str
    to: str = ""
    file: int = 0
    is_kept: bool = False


@dataclass
class Disk:
    """The disk according to the trace, up to a point."""

    files: dict[int, list[_Write]] = field(default_factory=dict)
    names: list[_Name] = field(default_factory=list)

    def take(self, event: Event) -> None:
        match event.kind:
            case Change.WRITE:
                self.files.setdefault(event.file, []).append(_Write(event.at, event.data))
            case Change.TRUNCATE:
                self.files.setdefault(event.file, []).append(_Write(event.at, None))
            case Change.SYNC:
                for write in self.files.get(event.file, ()):
                    write.is_kept = write.is_kept or not write.is_lost
            case Change.SYNC_FAILED:
                for write in self.files.get(event.file, ()):
                    write.is_lost = write.is_lost or not write.is_kept
            case Change.SYNC_DIR:
                for name in self.names:
                    name.is_kept = name.is_kept or name.directory == os.fsdecode(event.data)
            case _:
                self.names.append(_name(event))

    def cut(self, chance: random.Random, root: Path, target: Path) -> None:
        """Write the remaining files to a directory."""
        share = chance.choice([0.0, 0.5, 1.0])
        target.mkdir()
        for path, file in self._entries(chance, share).items():
            place = target / Path(path).relative_to(root)
            if file < 0:
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(_content(self.files.get(file, []), chance, share))

    def _entries(self, chance: random.Random, share: float) -> dict[str, int]:
        """Paths and the files that they name; -1 is a directory."""
        entries: dict[str, int] = {}
        for name in self.names:
            if not name.is_kept and chance.random() >= share:
                continue
            if name.kind is Change.CREATE:
                entries[name.path] = name.file
            elif name.kind is Change.MKDIR:
                entries[name.path] = -1
            elif name.kind is Change.UNLINK:
                entries.pop(name.path, None)
            elif name.path in entries:
                entries[name.to] = entries.pop(name.path)
        return entries


def _name(event: Event) -> _Name:
    path, _, to = os.fsdecode(event.data).partition("\0")
    return _Name(str(Path(path).parent), event.kind, path, to, event.file)


def _content(writes: list[_Write], chance: random.Random, share: float) -> bytes:
    content = bytearray()
    for write in writes:
        if write.is_kept or chance.random() < share:
            _apply(content, write.at, write.data)
        elif write.data is not None:
            _apply_in_part(content, write.at, write.data, chance)
    return bytes(content)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
        return
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


def _apply_in_part(content: bytearray, at: int, data: bytes, chance: random.Random) -> None:
    kind = chance.choice(["dropped", "dropped", "torn", "zeros"])
    if kind == "torn":
        # A page is written completely or not at all: keep some of the first pages.
        edge = (at // _PAGE + chance.randrange(1 + (len(data) + _PAGE) // _PAGE)) * _PAGE
        _apply(content, at, data[: max(0, edge - at)])
    elif kind == "zeros" and at + len(data) > len(content):
        content.extend(bytes(at + len(data) - len(content)))
