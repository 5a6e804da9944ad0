"""The demo, played into a server by its own REST interface, as any other producer would."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.demo import BUILDING, LATENESS_MS, PEOPLE, SENSORS
from whorl.demo.queries import building, gallery
from whorl.demo.world import STEP_MS, Event, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl_client import Client

_log = logging.getLogger("whorl.demo")
# Addresses that a server listens on and nobody can connect to.
_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared with, not listened on


def start(address: str, token: str | None) -> threading.Thread:
    """Play into the server at an address, beside whatever this process does; it ends with the process."""
    thread = threading.Thread(target=_play_at, args=(address, token), name="whorl-demo", daemon=True)
    thread.start()
    return thread


def play(
    client: Client,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Set the demo up and send its events by the clock, for ever.

    What is there from an earlier start stays: streams, queries and the graph of the building are the same.
    """
    set_up(client)
    start_ms = int(clock() * 1_000)
    for second, events in enumerate(World().events(start_ms)):
        due_s = (start_ms + second * STEP_MS) / 1_000
        sleep(max(0.0, due_s - clock()))
        send(client, events)


def set_up(client: Client) -> None:
    """The streams, the building, and the gallery."""
    for stream in (SENSORS, PEOPLE):
        client.streams.create(stream, lateness=LATENESS_MS)
    client.graphs.put(building(), BUILDING, format="turtle")
    for query in gallery():
        client.register(query.text, query.name)


def send(client: Client, events: Iterable[Event]) -> None:
    """Some events: one body for each stream, in the order in which they are sent."""
    lines: dict[str, list[str]] = {}
    for event in events:
        lines.setdefault(event.stream, []).append(json.dumps({"t": event.t, "data": event.turtle}))
    for stream, body in lines.items():
        client.stream(stream).send("\n".join(body) + "\n", format="ndjson")


def _play_at(address: str, token: str | None) -> None:
    import whorl_client as wc

    try:
        with wc.Client(_reachable(address), token, patience_s=5.0) as client:
            play(client)
    except wc.ConnectionFailedError:
        # The server is gone, and this process with it.
        _log.info("the demo has ended")
    except wc.WhorlError as error:
        _log.warning("the demo cannot go on: %s", error)


def _reachable(address: str) -> str:
    parts = urlsplit(address)
    host, _, port = parts.netloc.rpartition(":")
    return urlunsplit((parts.scheme, f"{_ANY.get(host, host)}:{port}", parts.path, "", ""))
