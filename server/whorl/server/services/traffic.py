"""Request counters: number and duration by part of the API, method and status.

The set of labels is small and fixed, whatever paths and methods clients send.
"""

from __future__ import annotations

from whorl.server.durations import Durations

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_PARTS = frozenset(
    {"streams", "queries", "sparql", "graphs", "tokens", "tickets", "metrics", "healthz", "readyz", "backup"}
)
# Their responses last as long as the subscription: that is not a latency.
_FEEDS = frozenset({"events", "results", "ws"})


class Traffic:
    """The requests of one server; used on the event loop only."""

    def __init__(self) -> None:
        self.answered: dict[tuple[str, str, int], int] = {}
        self.durations: dict[tuple[str, str], Durations] = {}

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count one response."""
        kind = (method if method in _METHODS else "other", part_of(path))
        self.answered[(*kind, status)] = self.answered.get((*kind, status), 0) + 1
        if kind[1] != "feeds":
            self.durations.setdefault(kind, Durations()).observe(seconds)


def part_of(path: str) -> str:
    """The part of the API that a path belongs to.

    >>> part_of("/v1/streams/http://ex.org/s"), part_of("/queries/hot/events"), part_of("/wp-login.php")
    ('streams', 'feeds', 'other')
    """
    segments = path.removeprefix("/v1").strip("/").split("/")
    if segments[0] == "queries" and segments[-1] in _FEEDS:
        return "feeds"
    return segments[0] if segments[0] in _PARTS else "other"
