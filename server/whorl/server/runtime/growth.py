"""The growth of the log since the last snapshot: in bytes, and in the time that a replay would take.

A small command can be expensive: an update of large graphs, or events that many windows read. So the processor time of
each command counts as well; a replay takes about as long. A snapshot takes time too, and is written only when it saves
more than it costs.
"""

from __future__ import annotations

from contextlib import contextmanager
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.server.settings import Settings

# With a large state, a replay may take this many times as long as a snapshot before one is written.
_TIMES_SNAPSHOT = 2


class Growth:
    """The work of a recovery beyond reading the snapshot; updated by the thread that applies commands."""

    def __init__(self, settings: Settings) -> None:
        self._bytes_max = settings.snapshot_log_bytes
        self._seconds_max = settings.snapshot_replay_s
        self.log_bytes = 0
        self.replay_s = 0.0

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
        return self.log_bytes > self._bytes_max or self.replay_s > self._seconds_max

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A snapshot was taken: count from here."""
        began = thread_time()
        yield
        self.log_bytes, self.replay_s = 0, -_TIMES_SNAPSHOT * (thread_time() - began)
