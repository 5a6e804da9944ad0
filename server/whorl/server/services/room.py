"""Room for bodies: what the server has of all requests together is bounded, not only what it has of each.

A request holds its share from the first bytes of its body until it has been answered. A small body holds none: the
number of connections bounds them.
"""

from __future__ import annotations

from whorl.server import errors

# Of each body; usual events are smaller, and are received however many large bodies are under way.
FREE_BYTES = 64 * 1024


class Room:
    """Counts what the shares hold; used on the event loop only."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held_bytes = 0


class Share:
    """What one request holds."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._held_bytes = 0

    def hold(self, body_bytes: int) -> None:
        """The body takes so many bytes now; refuse it if they do not fit beside all others."""
        wanted = max(0, body_bytes - FREE_BYTES)
        beside = self._room.held_bytes - self._held_bytes
        if wanted > self._held_bytes and beside + wanted > self._room.bytes_max:
            raise errors.OverloadedError("the server is receiving too many large bodies", retry_after_s=1)
        self._room.held_bytes = beside + wanted
        self._held_bytes = wanted

    def release(self) -> None:
        """The request has been answered, or is gone."""
        self.hold(0)
