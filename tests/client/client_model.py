"""A server for the core of the client, without sockets: a ring of results, the messages of `rsp.v1.json`, and bad luck.

`RingServer.drive` performs the operations of a subscription's flow and responds as a server would; `luck` decides at
every point where a connection can break whether it does.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from whorl_client import _flow as flows
from whorl_client._models import Gap, Result
from whorl_client._subscription import (
    Close,
    Connect,
    Deliver,
    Lost,
    Ready,
    Receive,
    SendText,
    SubscribeOptions,
    Subscription,
)

INCARNATION = "a1"


def envelope(seq: int, incarnation: str = INCARNATION, t: int | None = None) -> dict[str, Any]:
    row = {"n": {"type": "literal", "value": str(seq), "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}
    return {
        "query": "q",
        "incarnation": incarnation,
        "seq": seq,
        "token": f"{incarnation}:{seq}",
        "t": seq * 1000 if t is None else t,
        "windows": [],
        "r2s": "RSTREAM",
        "type": "bindings",
        "results": {"head": {"vars": ["n"]}, "results": {"bindings": [row]}},
    }


def message(kind: str, payload: dict[str, Any] | None = None, number: str | None = None) -> str:
    members: dict[str, Any] = {"type": kind}
    if number is not None:
        members["id"] = number
    return json.dumps(members if payload is None else {**members, "payload": payload})


def subscription(clock: Callable[[], float] = lambda: 0.0, patience_s: float = 1e9, **options: Any) -> Subscription:
    server = flows.Server("http://server", "secret", patience_s, chance=random.Random(1))
    return Subscription(server, SubscribeOptions("q", **options), clock)


def never() -> Iterator[bool]:
    while True:
        yield False


@dataclass
class RingServer:
    """The results of one query, published one by one during a subscription; `kept` of them can be replayed."""

    last_seq: int
    published: int = 0
    kept: int = 1_000_000
    incarnation: str = INCARNATION
    # How many results are sent again, though they were sent before, at the beginning of a connection.
    repeats: int = 0
    ends: bool = True
    subscribes: list[dict[str, Any]] = field(default_factory=list)
    slept_s: list[float] = field(default_factory=list)
    credit: int = 0
    over_credit: int = 0
    _frames: deque[str] = field(default_factory=deque)
    _cursor: int | None = None
    _id: str = ""
    _is_broken: bool = False

    def drive(self, core: Subscription, luck: Iterator[bool]) -> list[Result | Gap]:
        """Follow until the flow ends; the answer is what it delivered."""
        delivered: list[Result | Gap] = []
        flow = core.run()
        reply: str | Lost | None = None
        while True:
            try:
                wanted = flow.send(reply)
            except StopIteration:
                return delivered
            reply = None
            match wanted:
                case Deliver(item):
                    delivered.append(item)
                case Connect():
                    self.hang_up()
                    self._is_broken = False
                    reply = Lost("refused") if next(luck) else None
                case SendText(text):
                    # What is sent into a broken connection is lost in silence.
                    self._is_broken = self._is_broken or next(luck)
                    if not self._is_broken:
                        self.take(json.loads(text))
                case Receive():
                    reply = Lost("reset", 1006) if self._is_broken or next(luck) else self.frame()
                    if isinstance(reply, Lost):
                        self.hang_up()
                case flows.Sleep(seconds):
                    self.slept_s.append(seconds)
                case Ready() | Close():
                    pass

    def hang_up(self) -> None:
        self._frames.clear()
        self._cursor = None

    def take(self, said: dict[str, Any]) -> None:
        match said["type"]:
            case "connection_init":
                self._frames.append(message("connection_ack", {"session": "s", "heartbeat": 20_000}))
            case "subscribe":
                self._subscribe(said["id"], said["payload"])
            case "credit":
                self.credit += said["payload"]["n"]
            case "ping":
                self._frames.append(message("pong"))

    def _subscribe(self, number: str, payload: dict[str, Any]) -> None:
        self.subscribes.append(payload)
        self._id, self.credit = number, payload["credit"]
        first = max(1, self.published - self.kept + 1)
        if "after" in payload:
            incarnation, _, seq = payload["after"].rpartition(":")
            wanted = int(seq) + 1
            lost_to: int | None = first - 1 if wanted < first else 0
            if incarnation != self.incarnation:
                wanted, lost_to, first = int(seq) + 1, None, 1
        else:
            wanted, lost_to = (first if payload["from"] == "earliest" else self.published + 1), 0
        start = first if lost_to != 0 else wanted
        self._frames.append(
            message("subscribed", {"incarnation": self.incarnation, "vars": ["?n"], "startSeq": start}, number)
        )
        if lost_to != 0:
            reason = "restart" if lost_to is None else "expired"
            said = {"fromSeq": wanted, "toSeq": lost_to, "reason": reason, "incarnation": self.incarnation}
            self._frames.append(message("gap", said, number))
        self._cursor = max(first, start - self.repeats)

    def frame(self) -> str | None:
        """The next frame; when there is nothing to say, time passes and the next result is published."""
        if self._frames:
            return self._frames.popleft()
        if self._cursor is None:
            return None
        if self._cursor > self.published:
            if self.published == self.last_seq:
                return message("complete", {"reason": "deleted"}, self._id) if self.ends else None
            self.published += 1
        if self.credit == 0:
            self.over_credit += 1
            return None
        self.credit -= 1
        self._cursor += 1
        return message("next", envelope(self._cursor - 1, self.incarnation), self._id)
