"""The shim: built by the local compiler, preloaded into a process, and controlled from inside that process."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

_SOURCE = Path(__file__).with_name("shim.c")
_EVENT = struct.Struct("<BIQQ")


class Call(IntEnum):
    """A class of calls that can fail; numbers as in shim.c."""

    WRITE = 1
    SYNC = 2
    READ = 3
    RENAME = 4
    CREATE = 5
    TRUNCATE = 6
    UNLINK = 7
    # A write to a socket, which can only be a moment to kill at.
    SEND = 8


class Moment(IntEnum):
    """When the process is killed instead of getting an error; numbers as in shim.c."""

    BEFORE = 1000
    DURING = 1001
    AFTER = 1002


class Change(IntEnum):
    """The kinds of events in a trace; numbers as in shim.c."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    SYNC_FAILED = 5
    SYNC_DIR = 6
    RENAME = 7
    UNLINK = 8
    MKDIR = 9


# These carry no bytes behind their head.
_BARE = {Change.TRUNCATE, Change.SYNC, Change.SYNC_FAILED}


class Event(NamedTuple):
    """One change or sync."""

    kind: Change
    file: int
    at: int
    data: bytes


def compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(directory: Path) -> Path:
    """Compile the shim into a directory."""
    library = directory / "shim.so"
    found = compiler()
    assert found is not None
    flags = ["-shared", "-fPIC", "-O2", "-pthread", "-o", str(library), str(_SOURCE), "-ldl"]
    subprocess.run([found, *flags], check=True)
    return library


class Shim:
    """The shim of this process, which was started with it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self._library.shim_trace.restype = ctypes.c_void_p
        self._library.shim_trace.argtypes = [ctypes.POINTER(ctypes.c_uint64)]

    def watch(self, directory: Path | str) -> None:
        """Only files below this directory fail, and are traced."""
        self._library.shim_directory(os.fsencode(directory))

    def arm(self, call: Call, after: int, times: int, error: int, name: str = "") -> None:
        """After some calls that succeed, let some fail (-1: all); `name` is a part of the file's path."""
        self._library.shim_arm(int(call), after, times, error, name.encode())

    def disarm(self) -> None:
        """Stop failing."""
        self._library.shim_arm(0, 0, 0, 0, b"")

    @property
    def hits(self) -> int:
        """How many calls have failed since `arm`."""
        return int(self._library.shim_hits())

    def begin_trace(self) -> None:
        """Discard the trace, and start a new one."""
        self._library.shim_trace_begin()

    def end_trace(self) -> None:
        """Stop tracing."""
        self._library.shim_trace_end()

    @property
    def now(self) -> int:
        """The number of events in the trace."""
        return int(self._library.shim_trace_count())

    def trace(self) -> list[Event]:
        """All events, in order."""
        length = ctypes.c_uint64()
        address = self._library.shim_trace(ctypes.byref(length))
        return _parsed(ctypes.string_at(address, length.value) if address else b"")


def _parsed(data: bytes) -> list[Event]:
    events, position = [], 0
    while position < len(data):
        number, file, at, length = _EVENT.unpack_from(data, position)
        position += _EVENT.size
        kind = Change(number)
        content = b"" if kind in _BARE else data[position : position + length]
        position += len(content)
        events.append(Event(kind, file, at, content))
    return events
