"""A disk whose next writes or syncs fail on request: for faults at one exact place, inside one process."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

import pytest
from whorl.server.store import mark, store

FAULTS = ["writes", "log_syncs", "mark_syncs"]


@dataclass
class FailingDisk:
    """How many of the next writes to the log, and syncs of the log and of the mark, fail."""

    writes: int = 0
    log_syncs: int = 0
    mark_syncs: int = 0
    failures: int = 0

    def install(self, patch: pytest.MonkeyPatch) -> FailingDisk:
        patch.setattr(store, "write_at", self._write_at)
        patch.setattr(store, "sync", lambda handle: self._sync(handle, "log_syncs"))
        patch.setattr(mark, "sync", lambda handle: self._sync(handle, "mark_syncs"))
        return self

    def _write_at(self, handle: int, data: bytes, position: int) -> None:
        if self._fails("writes"):
            # Half of it is there.
            os.pwrite(handle, data[: len(data) // 2], position)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.pwrite(handle, data, position)

    def _sync(self, handle: int, kind: str) -> None:
        if self._fails(kind):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.fdatasync(handle)

    def _fails(self, kind: str) -> bool:
        left = getattr(self, kind)
        if left:
            setattr(self, kind, left - 1)
            self.failures += 1
        return bool(left)
