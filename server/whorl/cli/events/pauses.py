"""A source that may pause, such as a pipe: a thread reads it, so that pauses are visible."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from whorl.cli.events.piece import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A full queue blocks the reader, and so the writer of the pipe.
_PIECES_AHEAD = 2_000


class _End:
    """The source has ended, normally or with an error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def with_pauses(pieces: Iterable[Piece]) -> Iterator[Piece | None]:
    """The pieces, and None whenever the next one has not arrived yet."""
    ready: queue.Queue[Piece | _End] = queue.Queue(_PIECES_AHEAD)
    threading.Thread(target=_read, args=(pieces, ready), name="whorl-reader", daemon=True).start()
    while True:
        if ready.empty():
            yield None
        item = ready.get()
        if isinstance(item, Piece):
            yield item
        elif item.error is not None:
            raise item.error
        else:
            return


def _read(pieces: Iterable[Piece], ready: queue.Queue[Piece | _End]) -> None:
    try:
        for piece in pieces:
            ready.put(piece)
    except BaseException as error:  # noqa: BLE001 - it is raised again where the pieces are read
        ready.put(_End(error))
    else:
        ready.put(_End())
