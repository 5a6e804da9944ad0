"""Sends the demo to a server through its REST interface, as any other producer would."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.demo import BUILDING, DROPOFFS, FARES, LATENESS_MS, PEOPLE, PICKUPS, SENSORS
from whorl.demo.queries import building, gallery
from whorl.demo.taxis import BEFORE_MS, Taxis
from whorl.demo.world import Event, World

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl_client import Client

    from whorl.demo.pace import Pace

TAXI_STREAMS = (PICKUPS, DROPOFFS, FARES)
_AT_ONCE_MS = 3 * 60_000
_log = logging.getLogger("whorl.demo")
# Wildcard addresses: a server can listen on them, but a client cannot connect to them.
_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared with, not listened on


def start(address: str, token: str | None, pace: Pace) -> threading.Thread:
    """Play into the server at an address, in a background thread that ends with the process."""
    thread = threading.Thread(target=_play_at, args=(address, token, pace), name="whorl-demo", daemon=True)
    thread.start()
    return thread


def play(client: Client, pace: Pace) -> None:
    """Set up the demo and send its events by the clock until the process ends; taxis begin half an hour ago.

    Streams, queries and the graph of an earlier start are reused.
    """
    set_up(client)
    now_ms = pace.now_ms()
    world, trips = World(now_ms), _Trips(client, now_ms)
    while True:
        send(client, world.step(now_ms))
        send(client, trips.until(now_ms, pace.rate))
        now_ms = pace.next_step(now_ms)


class _Trips:
    """Taxi trips from half an hour ago on, except those that the server has from an earlier start."""

    def __init__(self, client: Client, now_ms: int) -> None:
        self._at_ms = now_ms - BEFORE_MS
        self._taxis = Taxis()
        self._known_ms = max(client.streams.get(stream).watermark or 0 for stream in TAXI_STREAMS)

    def until(self, now_ms: int, rate: float) -> list[Event]:
        """The events that are due, a few minutes at most: the first half-hour is sent while the building continues."""
        from_ms, self._at_ms = self._at_ms, min(now_ms, self._at_ms + _AT_ONCE_MS)
        return [event for event in self._taxis.step(from_ms, self._at_ms, rate) if event.t > self._known_ms]


def set_up(client: Client) -> None:
    """Create the streams, the graph of the building, and the gallery."""
    for stream in (SENSORS, PEOPLE):
        client.streams.create(stream, lateness=LATENESS_MS)
    for stream in TAXI_STREAMS:
        client.streams.create(stream)
    client.graphs.put(building(), BUILDING, format="turtle")
    for query in gallery():
        client.register(query.text, query.name)


def send(client: Client, events: Iterable[Event]) -> None:
    """Send events: one body per stream, in sending order."""
    lines: dict[str, list[str]] = {}
    for event in events:
        lines.setdefault(event.stream, []).append(json.dumps({"t": event.t, "data": event.turtle}))
    for stream, body in lines.items():
        client.stream(stream).send("\n".join(body) + "\n", format="ndjson")


def _play_at(address: str, token: str | None, pace: Pace) -> None:
    import whorl_client as wc

    try:
        with wc.Client(_reachable(address), token, patience_s=5.0) as client:
            play(client, pace)
    except wc.ConnectionFailedError:
        # The server has stopped, and this process will, too.
        _log.info("the demo has ended")
    except wc.WhorlError as error:
        _log.warning("the demo has stopped: %s", error)


def _reachable(address: str) -> str:
    parts = urlsplit(address)
    host, _, port = parts.netloc.rpartition(":")
    return urlunsplit((parts.scheme, f"{_ANY.get(host, host)}:{port}", parts.path, "", ""))
