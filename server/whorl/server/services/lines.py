"""Streaming NDJSON, cut into batches at line ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.server import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_BYTES_MAX = 256 * 1024


class LineCutter:
    """Takes chunks of any size and yields batches of whole lines; keeps at most one unfinished line and one batch.

    A batch is at most `batch_bytes_max` long, unless a single line is longer.
    """

    def __init__(self, line_bytes_max: int, batch_bytes_max: int = BATCH_BYTES_MAX) -> None:
        self._line_bytes_max = line_bytes_max
        self._batch_bytes_max = batch_bytes_max
        self._held = bytearray()
        # So many of them have no line end: a long line that comes in small pieces is searched once.
        self._searched_bytes = 0

    @property
    def held_bytes(self) -> int:
        """The size of what waits for its line end."""
        return len(self._held)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The batches that this chunk completes."""
        self._held += piece
        while (end := self._cut_at()) > 0:
            batch = bytes(self._held[:end])
            del self._held[:end]
            yield batch
        if len(self._held) > self._line_bytes_max:
            limit = self._line_bytes_max
            raise errors.BodyTooLargeError(f"a line is longer than {limit} bytes", limit=limit)

    def rest(self) -> bytes:
        """The text after the last line end."""
        rest = bytes(self._held)
        self._held.clear()
        self._searched_bytes = 0
        return rest if rest.strip() else b""

    def _cut_at(self) -> int:
        """The end of the next batch: after the last line that fits, else after the first; 0 if no line is complete."""
        fitting = self._held.rfind(b"\n", self._searched_bytes, self._batch_bytes_max) + 1
        end = fitting or self._held.find(b"\n", self._searched_bytes) + 1
        self._searched_bytes = 0 if end else len(self._held)
        return end
