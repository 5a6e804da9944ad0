"""One WebSocket connection without the WebSocket: messages in, messages and effects out.

`receive` takes a frame and returns effects, things only the shell around it can do (register, publish, take a
snapshot); the shell reports back by `registered`, `published`, `refused`, `snapshot_taken`. `take` gives the next
frames to send. `check` applies the rules of time. When `close` is set, the connection ends with it.

    frame ─► receive ─► effects ─► shell ─► registered, published, refused …
    ring ─► wake ─► take ─► frames

What waits to be said is bounded: the shell reads no further frames while `is_clogged`.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from whorl.server import errors, problems
from whorl.server.errors import DomainError
from whorl.server.security import NOBODY, Principal, Scope, require, unauthenticated
from whorl.server.services import messages
from whorl.server.services.subscriptions import Close, PlainVoice, Subscription, Voice, Wish

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.server.services.rings import Ring, Rings
    from whorl.server.settings import Settings

SUBPROTOCOL = "rsp.v1.json"
# Replies that may wait for a reader before the server stops listening to it.
_OUTBOX_MAX = 256
_CLOSE_CODES = {401: 4401, 403: 4403, 429: 4429, 503: 1012}


@dataclass(frozen=True, slots=True)
class RegisterQuery:
    """Effect: start an unnamed query for a subscription."""

    id: str
    text: str
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DropQuery:
    """Effect: end an unnamed query."""

    name: str


@dataclass(frozen=True, slots=True)
class PublishEvents:
    """Effect: hand events to a stream."""

    id: str
    payload: messages.PublishPayload


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """Effect: ask for the current answer of a query."""

    id: str
    query: str


Effect = RegisterQuery | DropQuery | PublishEvents | TakeSnapshot


class Conversation(Protocol):
    """What the shell drives: a `Session` or a `PlainSession`."""

    close: Close | None

    @property
    def caller(self) -> Principal:
        """Who is at the other end."""

    def token_deleted(self) -> None:
        """The caller's token is known no more: neither is the caller."""

    def receive(self, text: str) -> list[Effect]:
        """A frame has come."""

    def take(self, bytes_max: int) -> list[str]:
        """Frames to send now."""

    def check(self, now: float, *, sending_since: float | None) -> float:
        """Apply the rules of time; the answer is when to check again."""

    def drops(self) -> list[Effect]:
        """Unnamed queries whose subscription has ended since the last call."""

    def leave(self) -> list[Effect]:
        """The connection is gone."""

    def wake(self) -> None:
        """Something may have happened."""

    def registered(self, subscription_id: str, query: str) -> list[Effect]:
        """The effect `RegisterQuery` has been done."""

    def published(self, message_id: str, reply: dict[str, Any]) -> None:
        """The effect `PublishEvents` has been done."""

    def snapshot_taken(self, subscription_id: str, seq: int, text: str) -> None:
        """The effect `TakeSnapshot` has been done."""

    def refused(self, message_id: str, problem: DomainError) -> None:
        """An effect has been refused."""

    @property
    def is_clogged(self) -> bool:
        """Whether replies wait that the reader does not take."""


class _Connection:
    """What both kinds of conversation have: subscriptions that are ready to speak, and rules of time."""

    def __init__(self, rings: Rings, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.close: Close | None = None
        self.on_wake: Callable[[], None] = lambda: None
        self._rings = rings
        self._settings = settings
        self._clock = clock
        self._subscriptions: dict[str, Subscription] = {}
        self._outbox: deque[str] = deque()
        self._ready: dict[Subscription, None] = {}

    def wake(self) -> None:
        """The server stops, or there is something to send."""
        if self._rings.is_stopping:
            self._end(Close(1001, "the server stops"))
        self.on_wake()

    def take(self, bytes_max: int) -> list[str]:
        """Frames to send now, about `bytes_max` of them; none when there is nothing to say."""
        if self._outbox:
            frames, self._outbox = list(self._outbox), deque()
            return frames
        while self._ready and self.close is None:
            subscription = next(iter(self._ready))
            del self._ready[subscription]
            said = subscription.take(self._clock(), self._settings.ring_behind_s, bytes_max)
            if isinstance(said, Close):
                self._end(said)
                return []
            if subscription.is_spent:
                self._forget(subscription)
            if said:
                # To the end of the row, so that one subscription does not silence the others.
                self._ready[subscription] = None
                return said
        return []

    @property
    def caller(self) -> Principal:
        """Who is at the other end."""
        return NOBODY

    def token_deleted(self) -> None:
        """The caller's token is known no more: neither is the caller."""
        self._end(close_of(unauthenticated("the token has been deleted")))

    def drops(self) -> list[Effect]:
        """Unnamed queries whose subscription has ended since the last call."""
        return []

    @property
    def is_clogged(self) -> bool:
        """Whether replies wait that the reader does not take."""
        return len(self._outbox) >= _OUTBOX_MAX

    def _check_readers(self, now: float, sending_since: float | None) -> float:
        """Let go of a reader that has not taken a result for too long; the answer is when the next one is due."""
        behind_s = self._settings.ring_behind_s
        due_at = now + behind_s
        for subscription in self._subscriptions.values():
            overdue_at = subscription.overdue_at(behind_s)
            if overdue_at is not None and overdue_at <= now:
                self._end(subscription.too_slow())
            due_at = min(due_at, overdue_at or due_at)
        return self._check_stuck(now, sending_since, due_at)

    def _check_stuck(self, now: float, sending_since: float | None, due_at: float) -> float:
        """A frame that cannot be written: nobody reads at the other end."""
        if sending_since is None or self._may_lose():
            return due_at
        if sending_since + self._settings.ring_behind_s <= now:
            self._end(Close(1013, f"slow reader, last seq {self._last_seq()}"))
        return min(due_at, sending_since + self._settings.ring_behind_s)

    def _may_lose(self) -> bool:
        found = self._subscriptions.values()
        return bool(found) and all(one.wish.overflow != "disconnect" for one in found)

    def _last_seq(self) -> int:
        return max((one.last_seq() for one in self._subscriptions.values()), default=0)

    def _subscribe(self, subscription_id: str, wish: Wish, ring: Ring, voice: Voice) -> Subscription:
        subscription = Subscription(wish, ring, voice, self._is_ready)
        self._subscriptions[subscription_id] = subscription
        self._is_ready(subscription)
        return subscription

    def _is_ready(self, subscription: Subscription) -> None:
        self._ready[subscription] = None
        self.on_wake()

    def _forget(self, subscription: Subscription) -> None:
        """A subscription has said its last word."""

    def _leave_all(self) -> None:
        for subscription in self._subscriptions.values():
            subscription.leave()
        self._subscriptions.clear()
        self._ready.clear()

    def _end(self, close: Close) -> None:
        # The first reason counts.
        self.close = self.close or close
        self.on_wake()


class Session(_Connection):
    """The sub-protocol `rsp.v1.json`."""

    def __init__(
        self,
        rings: Rings,
        settings: Settings,
        authorize: Callable[[str | None], Principal],
        *,
        name: str,
        query: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rings, settings, clock)
        self.name = name
        self._authorize = authorize
        self._only_query = query
        self._principal: Principal | None = None
        self._unnamed: dict[str, str] = {}
        self._pending: dict[str, Wish | None] = {}
        self._dropped: list[Effect] = []
        self._began_at = self._heartbeat_at = clock()

    @property
    def caller(self) -> Principal:
        """Who is at the other end."""
        return NOBODY if self._principal is None else self._principal

    # ---- frames in ----

    def receive(self, text: str) -> list[Effect]:
        """A frame has come."""
        if self.close is not None:
            return []
        try:
            return self._dispatch(messages.parse(text)) + self.drops()
        except messages.BadMessageError as error:
            self._end(Close(4400, _reason(str(error))))
            return []

    def _dispatch(self, message: messages.ClientMessage) -> list[Effect]:
        if self._principal is None and not isinstance(message, messages.Init | messages.Ping | messages.Pong):
            self._end(Close(4401, "connection_init comes first"))
            return []
        match message:
            case messages.Init():
                self._init(message)
            case messages.Ping():
                self._say(messages.message("pong", payload=message.payload))
            case messages.Subscribe():
                return self._begin(message.id, message.payload)
            case messages.More():
                self._credit(message)
            case messages.Ack():
                self._ack(message)
            case messages.Publish():
                return self._publish(message)
            case messages.Complete():
                self._complete(message.id)
        return []

    def _init(self, message: messages.Init) -> None:
        if self._principal is not None:
            self._end(Close(4429, "connection_init comes once"))
            return
        try:
            self._principal = self._authorize(message.payload.token)
        except DomainError as problem:
            self._end(close_of(problem))
            return
        self._say(messages.message("connection_ack", payload=self._greeting()))

    def _greeting(self) -> dict[str, Any]:
        limits = {
            "messageBytes": self._settings.message_bytes_max,
            "queryBytes": self._settings.query_bytes_max,
            "subscriptions": self._settings.subscriptions_per_socket_max,
            "ringBytes": self._settings.ring_bytes_max,
            "behindMs": round(self._settings.ring_behind_s * 1000),
        }
        return {"session": self.name, "heartbeat": round(self._settings.heartbeat_s * 1000), "limits": limits}

    def _begin(self, subscription_id: str, payload: messages.SubscribePayload) -> list[Effect]:
        if self._is_taken(subscription_id):
            return []
        wish = _wish(payload)
        try:
            self._check_may_begin(payload)
            if payload.rspql is not None:
                self._pending[subscription_id] = wish
                return [RegisterQuery(subscription_id, payload.rspql, payload.options)]
            return self._follow(subscription_id, wish, self._query_of(payload))
        except DomainError as problem:
            self._say(messages.error(subscription_id, problem))
            return []

    def _check_may_begin(self, payload: messages.SubscribePayload) -> None:
        self._require("subscribe")
        if len(self._subscriptions) + len(self._pending) >= self._settings.subscriptions_per_socket_max:
            detail = f"this connection has {self._settings.subscriptions_per_socket_max} subscriptions already"
            raise errors.TooManySubscriptionsError(detail, hint="complete one, or open another connection")
        if payload.rspql is not None:
            self._require("register")

    def _query_of(self, payload: messages.SubscribePayload) -> str:
        name = payload.query or self._only_query
        if name is None:
            raise errors.NoQueryNamedError("there is nothing to subscribe to", hint="give 'query' or 'rspql'")
        if self._only_query is not None and name != self._only_query:
            detail = f"this connection is for query '{self._only_query}' only"
            raise errors.QueryElsewhereError(detail, hint="connect to /ws to follow any query")
        return name

    def _follow(self, subscription_id: str, wish: Wish, query: str) -> list[Effect]:
        subscription = self._subscribe(subscription_id, wish, self._rings.ring(query), Voice(subscription_id))
        return [TakeSnapshot(subscription_id, query)] if subscription.needs_snapshot else []

    def _credit(self, message: messages.More) -> None:
        subscription = self._subscriptions.get(message.id)
        if subscription is None:
            return  # It may have ended while the message was under way.
        subscription.add_credit(message.payload.n)
        if subscription.credit is not None and subscription.credit > messages.CREDIT_MAX:
            raise messages.BadMessageError(f"payload.n: credit is at most {messages.CREDIT_MAX} in all")
        self._is_ready(subscription)

    def _ack(self, message: messages.Ack) -> None:
        subscription = self._subscriptions.get(message.id)
        if subscription is not None:
            subscription.acked_seq = max(subscription.acked_seq, message.payload.seq)

    def _publish(self, message: messages.Publish) -> list[Effect]:
        if self._is_taken(message.id):
            return []
        try:
            self._require("ingest")
        except DomainError as problem:
            self._say(messages.error(message.id, problem))
            return []
        self._pending[message.id] = None
        return [PublishEvents(message.id, message.payload)]

    def _complete(self, subscription_id: str) -> None:
        self._pending.pop(subscription_id, None)
        subscription = self._subscriptions.pop(subscription_id, None)
        if subscription is not None:
            subscription.leave()
            self._ready.pop(subscription, None)
            self._drop_unnamed(subscription_id)

    # ---- effects done ----

    def registered(self, subscription_id: str, query: str) -> list[Effect]:
        """The effect `RegisterQuery` has been done; if nobody waits for the query any more, it goes again."""
        wish = self._pending.pop(subscription_id, None)
        if wish is None or self.close is not None:
            return [DropQuery(query)]
        self._unnamed[subscription_id] = query
        try:
            return self._follow(subscription_id, wish, query)
        except DomainError as problem:
            self._say(messages.error(subscription_id, problem))
            self._drop_unnamed(subscription_id)
            return self.drops()

    def published(self, message_id: str, reply: dict[str, Any]) -> None:
        """The effect `PublishEvents` has been done."""
        self._pending.pop(message_id, None)
        self._say(messages.message("published", message_id, reply))

    def snapshot_taken(self, subscription_id: str, seq: int, text: str) -> None:
        """The effect `TakeSnapshot` has been done."""
        if (subscription := self._subscriptions.get(subscription_id)) is not None:
            subscription.give_snapshot(seq, text)

    def refused(self, message_id: str, problem: DomainError) -> None:
        """An effect has been refused: that subscription or publication is over."""
        if (subscription := self._subscriptions.get(message_id)) is not None:
            subscription.end(problem)
            self._is_ready(subscription)
        elif message_id in self._pending:
            del self._pending[message_id]
            self._say(messages.error(message_id, problem))

    # ---- time and end ----

    def check(self, now: float, *, sending_since: float | None) -> float:
        """Apply the rules of time; the answer is when to check again."""
        due_at = min(self._check_readers(now, sending_since), self._beat(now))
        return due_at if self._principal is not None else min(due_at, self._check_init(now))

    def leave(self) -> list[Effect]:
        """The connection is gone; unnamed queries go with it."""
        self._end(Close(1001))
        names, self._unnamed = list(self._unnamed.values()), {}
        self._leave_all()
        self._pending.clear()
        return [DropQuery(name) for name in names] + self.drops()

    def _check_init(self, now: float) -> float:
        init_at = self._began_at + self._settings.init_timeout_s
        if now >= init_at:
            self._end(Close(4408, "no connection_init came"))
        return init_at

    def _beat(self, now: float) -> float:
        if now >= self._heartbeat_at + self._settings.heartbeat_s:
            self._heartbeat_at = now
            if self._principal is not None and not self._outbox:
                self._say(messages.message("ping"))
        return self._heartbeat_at + self._settings.heartbeat_s

    # ---- small things ----

    def _is_taken(self, message_id: str) -> bool:
        if message_id in self._subscriptions or message_id in self._pending:
            self._end(Close(4409, _reason(f"id '{message_id}' is in use")))
            return True
        return False

    def _require(self, scope: Scope) -> None:
        if self._principal is not None:
            require(self._principal, scope)

    def _say(self, text: str) -> None:
        self._outbox.append(text)
        self.on_wake()

    def _forget(self, subscription: Subscription) -> None:
        for subscription_id, found in tuple(self._subscriptions.items()):
            if found is subscription:
                del self._subscriptions[subscription_id]
                self._drop_unnamed(subscription_id)

    def _drop_unnamed(self, subscription_id: str) -> None:
        name = self._unnamed.pop(subscription_id, None)
        if name is not None:
            self._dropped.append(DropQuery(name))

    def drops(self) -> list[Effect]:
        """Unnamed queries whose subscription has ended since the last call."""
        dropped, self._dropped = self._dropped, []
        return dropped


class PlainSession(_Connection):
    """A query followed without sub-protocol: one envelope in each frame, and nothing is expected of the client."""

    def __init__(
        self, rings: Rings, settings: Settings, query: str, wish: Wish, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(rings, settings, clock)
        self._query = query
        self._wish = wish

    def begin(self) -> list[Effect]:
        """Start to follow; an unknown query or token ends the connection with the problem as its only frame."""
        try:
            subscription = self._subscribe(
                "", replace(self._wish, credit=None), self._rings.ring(self._query), PlainVoice()
            )
        except DomainError as problem:
            self._outbox.append(PlainVoice().error(problem))
            self._end(close_of(problem))
            return []
        return [TakeSnapshot("", self._query)] if subscription.needs_snapshot else []

    def receive(self, text: str) -> list[Effect]:
        """What a plain client says is not listened to."""
        del text
        return []

    def check(self, now: float, *, sending_since: float | None) -> float:
        """Apply the rules of time; the answer is when to check again."""
        return self._check_readers(now, sending_since)

    def registered(self, subscription_id: str, query: str) -> list[Effect]:
        """A plain client registers nothing."""
        del subscription_id
        return [DropQuery(query)]

    def published(self, message_id: str, reply: dict[str, Any]) -> None:
        """A plain client publishes nothing."""

    def snapshot_taken(self, subscription_id: str, seq: int, text: str) -> None:
        """The effect `TakeSnapshot` has been done."""
        self._subscriptions[subscription_id].give_snapshot(seq, text)

    def refused(self, message_id: str, problem: DomainError) -> None:
        """The snapshot could not be taken."""
        del message_id
        self._outbox.append(PlainVoice().error(problem))
        self._end(close_of(problem))

    def leave(self) -> list[Effect]:
        """The connection is gone."""
        self._end(Close(1001))
        self._leave_all()
        return []

    def _forget(self, subscription: Subscription) -> None:
        if subscription.problem is not None:
            self._end(Close(1011, _reason(subscription.problem.detail)))
        else:
            self._end(Close(1000, _reason(subscription.cursor.ring.reason or "complete")))


def close_of(problem: DomainError) -> Close:
    """The close code of a problem that ends a connection."""
    status = problems.problem_type(problem).status
    code = _CLOSE_CODES.get(status, 1011 if status >= 500 else 4400)
    return Close(code, _reason(problem.detail))


def _wish(payload: messages.SubscribePayload) -> Wish:
    # An unnamed query has no past: its subscriber gets all of it.
    start = payload.start or ("latest" if payload.rspql is None else "earliest")
    return Wish(payload.credit, payload.overflow, payload.after, start, payload.snapshot, payload.progress)


def _reason(text: str) -> str:
    """A reason that fits into a close frame, which has 123 bytes for it."""
    return text.encode()[:123].decode(errors="ignore")
