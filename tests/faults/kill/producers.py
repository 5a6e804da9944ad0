"""Three ways to publish to a server that dies: each sends every event once, whether or not responses are lost.

Over HTTP and by stages, numbers make a repetition harmless. A socket has none: the producer comes back and asks how
many events there are, which tells a publication that was taken from one that was not, for it is taken whole.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol
from whorl_client import Client

STREAM = "http://example.org/readings"
BATCH = 7
STEP_MS = 130
_LEAST_BATCHES = 20
_BEYOND_MS = 10_000
_PATIENCE_S = 120
_PROV = "<http://www.w3.org/ns/prov#generatedAtTime>"


def reading(number: int) -> str:
    sensor, value = number % 5, number * 7 % 101
    return (
        f"<urn:o{number}> <http://example.org/of> <urn:s{sensor}> ; <http://example.org/value> {value} . "
        f"<urn:s{sensor}> <http://example.org/in> <urn:r{sensor % 2}> ."
    )


def quads(number: int) -> str:
    """The same as N-Quads: a graph, and its time."""
    sensor, value = number % 5, number * 7 % 101
    graph = f"<urn:g{number}>"
    whole = '"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return (
        f'{graph} {_PROV} "{number * STEP_MS}{whole} .\n'
        f"<urn:o{number}> <http://example.org/of> <urn:s{sensor}> {graph} .\n"
        f'<urn:o{number}> <http://example.org/value> "{value}{whole} {graph} .\n'
        f"<urn:s{sensor}> <http://example.org/in> <urn:r{sensor % 2}> {graph} .\n"
    )


def end_ms(events: int) -> int:
    """The watermark behind so many events."""
    return events * STEP_MS + _BEYOND_MS


class Producer(ABC):
    """Publishes batches in order; a method returns when what it was given is acknowledged."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def publish_until(self, done: threading.Event) -> int:
        """Send until the killer has finished; how many events were acknowledged."""
        number = 0
        while not done.is_set() or number < _LEAST_BATCHES * BATCH:
            self.send(range(number, number + BATCH))
            number += BATCH
        self.finish(number)
        return number

    @abstractmethod
    def send(self, numbers: Sequence[int]) -> None:
        """Publish these events."""

    @abstractmethod
    def finish(self, events: int) -> None:
        """Advance time past all events."""


class Sequenced(Producer):
    """HTTP with producer sequences, by the client's publisher."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._publisher = client.publisher(STREAM, "producer", batch_events=BATCH)

    def send(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._publisher.send(reading(number), t=number * STEP_MS)
        self._publisher.flush()

    def finish(self, events: int) -> None:
        self._publisher.watermark(end_ms(events))
        self._publisher.flush()
        total = self._publisher.total
        assert total.accepted + total.duplicates >= events
        assert total.late == total.ahead == 0


class Staged(Producer):
    """Two bodies staged by as many writers, and a commit that names both."""

    _batch = 0

    def send(self, numbers: Sequence[int]) -> None:
        stream, half = self.client.stream(STREAM), len(numbers) // 2
        parts = (numbers[:half], numbers[half:])
        tokens = [stream.stage("".join(map(quads, part)), format="nquads") for part in parts]
        self._batch += 1
        stream.commit("committer", self._batch, tokens)

    def finish(self, events: int) -> None:
        self._batch += 1
        self.client.stream(STREAM).commit("committer", self._batch, [], watermark=end_ms(events))


class OverSocket(Producer):
    """Publications of a socket, without numbers."""

    _socket: ClientConnection | None = None

    def __init__(self, client: Client, token: str) -> None:
        super().__init__(client)
        self._token = token
        self._held = contextlib.ExitStack()

    def send(self, numbers: Sequence[int]) -> None:
        events = [{"t": number * STEP_MS, "data": reading(number)} for number in numbers]
        while not self._is_published(events):
            if self._taken() > numbers[0]:
                return

    def finish(self, events: int) -> None:
        while not self._is_published([{"watermark": end_ms(events)}]):
            # Time has moved on, or has not: to say it again is refused or harmless.
            if self.client.streams.get(STREAM).document["watermark"] == end_ms(events):
                break
        self._held.close()

    def _taken(self) -> int:
        taken = self.client.streams.get(STREAM).document["events"]
        assert isinstance(taken, int)
        return taken

    def _is_published(self, events: list[dict[str, Any]]) -> bool:
        """False when the connection broke before the answer."""
        message = {"type": "publish", "id": "p", "payload": {"stream": STREAM, "events": events}}
        try:
            socket = self._connected()
            socket.send(json.dumps(message))
            answer = _next(socket, "published", "error")
        except (ConnectionClosed, OSError, TimeoutError, EOFError, InvalidMessage):
            self._socket = None
            self._held.close()
            return False
        assert answer["type"] == "published", answer
        return True

    def _connected(self) -> ClientConnection:
        if self._socket is None:
            self._socket = self._open()
            self._socket.send(json.dumps({"type": "connection_init", "payload": {"token": self._token}}))
            _next(self._socket, "connection_ack")
        return self._socket

    def _open(self) -> ClientConnection:
        url = self.client.url.replace("http", "ws", 1).rstrip("/") + "/ws"
        ends_at = time.monotonic() + _PATIENCE_S
        while True:
            try:
                opening = connect(url, subprotocols=[Subprotocol("rsp.v1.json")], compression=None, proxy=None)
                return self._held.enter_context(opening)
            except (OSError, EOFError, InvalidMessage):
                if time.monotonic() > ends_at:
                    raise
                time.sleep(0.05)


def _next(socket: ClientConnection, *kinds: str) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = json.loads(socket.recv(timeout=30))
        if message["type"] in kinds:
            return message
