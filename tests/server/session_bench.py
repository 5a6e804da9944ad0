"""A session with its rings, without sockets."""

import json
from typing import Any

from whorl.server.security import Principal, Scope, require, unauthenticated
from whorl.server.services.rings import Rings
from whorl.server.services.session import (
    Effect,
    Session,
)
from whorl.server.settings import Settings

ALL: tuple[Scope, ...] = ("ingest", "subscribe", "register")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A session with its rings, spoken to in objects."""

    def __init__(
        self, *, query: str | None = None, scopes: tuple[Scope, ...] = ALL, init: bool = True, **settings: Any
    ) -> None:
        self.clock = Clock()
        self.settings = Settings(**settings)
        self.rings = Rings(self.settings, self.clock)
        self.rings.open("q", "a1", 1, {"variables": ["s", "o"]})
        self.scopes = scopes
        self.session = Session(self.rings, self.settings, self._authorize, name="s1", query=query, clock=self.clock)
        if init:
            self.say({"type": "connection_init"})
            assert [one["type"] for one in self.hear()] == ["connection_ack"]

    def _authorize(self, token: str | None) -> Principal:
        if token == "wrong":
            raise unauthenticated("the token is unknown")
        return require(Principal("p", frozenset(self.scopes)), "subscribe", "ingest")

    def say(self, message: Any) -> list[Effect]:
        return self.session.receive(message if isinstance(message, str) else json.dumps(message))

    def subscribe(self, name: str = "1", **payload: Any) -> list[Effect]:
        return self.say({"type": "subscribe", "id": name, "payload": {"credit": 100, "query": "q", **payload}})

    def credit(self, n: int, name: str = "1") -> None:
        self.say({"type": "credit", "id": name, "payload": {"n": n}})

    def publish(self, first: int, last: int, query: str = "q") -> None:
        self.rings.publish(query, [(seq, 0, f'{{"seq":{seq}}}'.encode()) for seq in range(first, last + 1)])

    def hear(self) -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        while frames := self.session.take(1):
            heard.extend(json.loads(frame) for frame in frames)
        return heard

    def seqs(self) -> list[int]:
        return [one["payload"]["seq"] for one in self.hear() if one["type"] == "next"]

    def check(self, sending_since: float | None = None) -> float:
        return self.session.check(self.clock.now, sending_since=sending_since)

    @property
    def code(self) -> int | None:
        return None if self.session.close is None else self.session.close.code
