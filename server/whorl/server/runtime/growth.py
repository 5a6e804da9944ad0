"""The growth of the log since the last snapshot: in bytes, and in the time that a replay would take.

A small command can be expensive: an update of large graphs, or events that many windows read. So the processor time of
each command counts as well; a replay takes about as long. A snapshot takes time too, and is written only when it saves
more than it costs, as long as a recovery stays short.
"""

from __future__ import annotations

from contextlib import contextmanager
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.server.settings import Settings

# With a large state, a replay may take this many times as long as a snapshot before one is written,
_TIMES_SNAPSHOT = 2
# but not more than this beyond the setting: restoring a large state takes time as well.
_EXTRA_S_MAX = 1.0
# After a snapshot that could not be written, the next attempt waits for this share of the usual growth.
_RETRY_SHARE = 0.25


class Growth:
    """The work of a recovery beyond reading the snapshot; updated by the thread that applies commands."""

    def __init__(self, settings: Settings) -> None:
        self._bytes_max = settings.snapshot_log_bytes
        self._seconds_max = settings.snapshot_replay_s
        self.log_bytes = 0
        self.replay_s = 0.0
        # The growth that the snapshot being written covers, and whether writing it failed: set by another thread.
        self._replaced = (0, 0.0)
        self._has_failed = False
        # The growth at which a snapshot is tried again.
        self._retry_bytes = 0.0
        self._retry_s = 0.0

    @contextmanager
    def applying(self) -> Iterator[None]:
        """Measure the commands that this thread applies."""
        began = thread_time()
        try:
            yield
        finally:
            self.replay_s += thread_time() - began

    @property
    def is_due(self) -> bool:
        """Whether a snapshot is due."""
        if self._has_failed:
            self._take_back()
        bytes_max, seconds_max = max(self._bytes_max, self._retry_bytes), max(self._seconds_max, self._retry_s)
        return self.log_bytes > bytes_max or self.replay_s > seconds_max

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A snapshot was taken: count from here."""
        began = thread_time()
        yield
        extra_s = min(_TIMES_SNAPSHOT * (thread_time() - began), _EXTRA_S_MAX)
        self._replaced = (self.log_bytes, self.replay_s + extra_s)
        self.log_bytes, self.replay_s = 0, -extra_s
        self._retry_bytes = self._retry_s = 0.0

    def snapshot_failed(self) -> None:
        """The snapshot could not be written: the log before it still has to be replayed. Called by the committer."""
        self._has_failed = True

    def _take_back(self) -> None:
        self._has_failed = False
        log_bytes, replay_s = self._replaced
        self._replaced = (0, 0.0)
        # Growth since the attempt counts towards the next one.
        self._retry_bytes = log_bytes + _RETRY_SHARE * self._bytes_max
        self._retry_s = replay_s + _RETRY_SHARE * self._seconds_max
        self.log_bytes += log_bytes
        self.replay_s += replay_s
