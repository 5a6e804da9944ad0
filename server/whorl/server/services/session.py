"""One WebSocket connection without the WebSocket: messages in, messages and effects out.

`receive` takes a frame and returns effects, things only the shell around it can do (register, publish, take a
snapshot); the shell reports back by `registered`, `published`, `refused`, `snapshot_taken`. `take` returns the next
frames to send. `check` applies timeouts. When `close` is set, the connection ends with it.

    frame ─► receive ─► effects ─► shell ─► registered, published, refused …
    ring ─► wake ─► take ─► frames

The outgoing queue is bounded: the shell reads no further frames while `is_clogged`.
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
from whorl.server.services.buckets import Allowance
from whorl.server.services.subscriptions import Close, MessageEncoder, PlainEncoder, Subscription, SubscriptionOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.server.services.rings import Ring, Rings
    from whorl.server.settings import Settings

SUBPROTOCOL = "rsp.v1.json"
# Replies that may be queued for a client before the server stops reading from it.
_OUTBOX_MAX = 256
_OUTBOX_BYTES_MAX = 1024 * 1024
# Pings and pongs, as messages and as frames: some dozens at once, then ten a second. That is enough for any
# keep-alive, and each one costs time on the event loop that all connections share.
PINGS_BURST = 100
PINGS_PER_S = 10.0
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
    """Effect: push events to a stream."""

    id: str
    payload: messages.PublishPayload


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """Effect: read the current result of a query."""

    id: str
    query: str


Effect = RegisterQuery | DropQuery | PublishEvents | TakeSnapshot


class Conversation(Protocol):
    """What the shell drives: a `Session` or a `PlainSession`."""

    close: Close | None

    @property
    def caller(self) -> Principal:
        """The caller."""

    def token_deleted(self) -> None:
        """The caller's token was deleted."""

    def receive(self, text: str) -> list[Effect]:
        """Handle a frame from the client."""

    def take(self, bytes_max: int) -> list[str]:
        """Frames to send now."""

    def check(self, now: float, *, sending_since: float | None) -> float:
        """Apply timeouts; returns when to check again."""

    def drops(self) -> list[Effect]:
        """Unnamed queries whose subscription has ended since the last call."""

    def leave(self) -> list[Effect]:
        """The connection has ended."""

    def wake(self) -> None:
        """There may be something to send."""

    def registered(self, subscription_id: str, query: str) -> list[Effect]:
        """The effect `RegisterQuery` is complete."""

    def published(self, message_id: str, reply: dict[str, Any]) -> None:
        """The effect `PublishEvents` is complete."""

    def snapshot_taken(self, subscription_id: str, seq: int, text: str) -> None:
        """The effect `TakeSnapshot` is complete."""

    def refused(self, message_id: str, problem: DomainError) -> None:
        """An effect was refused."""

    @property
    def is_clogged(self) -> bool:
        """Whether too many replies are waiting for the client to read."""


class _Connection:
    """What both kinds of conversation share: subscriptions with something to send, and timeouts."""

    def __init__(self, rings: Rings, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.close: Close | None = None
        self.on_wake: Callable[[], None] = lambda: None
        self._rings = rings
        self._settings = settings
        self._clock = clock
        self._subscriptions: dict[str, Subscription] = {}
        self._outbox: deque[str] = deque()
        self._outbox_chars = 0
        self._ready: dict[Subscription, None] = {}

    def wake(self) -> None:
        """The server is stopping, or there is something to send."""
        if self._rings.is_stopping:
            self._end(Close(1001, "the server is stopping"))
        self.on_wake()

    def take(self, bytes_max: int) -> list[str]:
        """Frames to send now, up to about `bytes_max`; none if there is nothing to send."""
        if self._outbox:
            frames, self._outbox, self._outbox_chars = list(self._outbox), deque(), 0
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
                # Back to the end of the queue, so that one subscription does not starve the others.
                self._ready[subscription] = None
                return said
        return []

    @property
    def caller(self) -> Principal:
        """The caller."""
        return NOBODY

    def token_deleted(self) -> None:
        """The caller's token was deleted."""
        self._end(close_of(unauthenticated("the token has been deleted")))

    def drops(self) -> list[Effect]:
        """Unnamed queries whose subscription has ended since the last call."""
        return []

    @property
    def is_clogged(self) -> bool:
        """Whether replies wait that the client does not read."""
        return len(self._outbox) >= _OUTBOX_MAX or self._outbox_chars >= _OUTBOX_BYTES_MAX

    def _say(self, text: str) -> None:
        self._outbox.append(text)
        self._outbox_chars += len(text)
        self.on_wake()

    def _check_readers(self, now: float, sending_since: float | None) -> float:
        """Disconnect a reader that has not taken a result for too long; returns when the next one is due."""
        behind_s = self._settings.ring_behind_s
        due_at = now + behind_s
        for subscription in self._subscriptions.values():
            overdue_at = subscription.overdue_at(behind_s)
            if overdue_at is not None and overdue_at <= now:
                self._end(subscription.too_slow())
            due_at = min(due_at, overdue_at or due_at)
        return self._check_stuck(now, sending_since, due_at)

    def _check_stuck(self, now: float, sending_since: float | None, due_at: float) -> float:
        """Close the connection if a frame cannot be written because the client does not read."""
        if sending_since is None or self._may_lose():
            return due_at
        if sending_since + self._settings.ring_behind_s <= now:
            self._end(Close(1013, f"slow reader, last seq {self._last_seq()}"))
        return min(due_at, sending_since + self._settings.ring_behind_s)

    def _may_lose(self) -> bool:
        found = self._subscriptions.values()
        return bool(found) and all(one.options.overflow != "disconnect" for one in found)

    def _last_seq(self) -> int:
        return max((one.last_seq() for one in self._subscriptions.values()), default=0)

    def _subscribe(
        self, subscription_id: str, options: SubscriptionOptions, ring: Ring, encoder: MessageEncoder
    ) -> Subscription:
        subscription = Subscription(options, ring, encoder, self._is_ready)
        self._subscriptions[subscription_id] = subscription
        self._is_ready(subscription)
        return subscription

    def _is_ready(self, subscription: Subscription) -> None:
        self._ready[subscription] = None
        self.on_wake()

    def _forget(self, subscription: Subscription) -> None:
        """Remove a subscription that has sent its last message."""

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
        self._pending: dict[str, SubscriptionOptions | None] = {}
        self._dropped: list[Effect] = []
        self._began_at = self._heartbeat_at = clock()
        self._pings = Allowance(PINGS_BURST, PINGS_PER_S, self._began_at)

    @property
    def caller(self) -> Principal:
        """The caller."""
        return NOBODY if self._principal is None else self._principal

    # ---- frames in ----

    def receive(self, text: str) -> list[Effect]:
        """Handle a frame from the client."""
        if self.close is not None:
            return []
        try:
            return self._dispatch(messages.parse(text)) + self.drops()
        except messages.BadMessageError as error:
            self._end(Close(4400, _reason(str(error))))
            return []

    def _dispatch(self, message: messages.ClientMessage) -> list[Effect]:
        if self._principal is None and not isinstance(message, messages.Init | messages.Ping | messages.Pong):
            self._end(Close(4401, "connection_init must be the first message"))
            return []
        match message:
            case messages.Init():
                self._init(message)
            case messages.Ping() | messages.Pong():
                self._ping(message)
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

    def _ping(self, message: messages.Ping | messages.Pong) -> None:
        if not self._pings.take(self._clock()):
            self._end(Close(4429, f"more than {PINGS_PER_S:.0f} pings a second"))
        elif isinstance(message, messages.Ping):
            self._say(messages.message("pong", payload=message.payload))

    def _init(self, message: messages.Init) -> None:
        if self._principal is not None:
            self._end(Close(4429, "connection_init must be sent only once"))
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
        options = _options(payload)
        try:
            self._check_may_begin(payload)
            if payload.rspql is not None:
                self._pending[subscription_id] = options
                return [RegisterQuery(subscription_id, payload.rspql, payload.options)]
            return self._follow(subscription_id, options, self._query_of(payload))
        except DomainError as problem:
            self._say(messages.error(subscription_id, problem))
            return []

    def _check_may_begin(self, payload: messages.SubscribePayload) -> None:
        self._require("subscribe")
        if len(self._subscriptions) + len(self._pending) >= self._settings.subscriptions_per_socket_max:
            detail = (
                f"the limit of {self._settings.subscriptions_per_socket_max} subscriptions per connection is reached"
            )
            raise errors.TooManySubscriptionsError(detail, hint="complete one, or open another connection")
        if payload.rspql is not None:
            self._require("register")

    def _query_of(self, payload: messages.SubscribePayload) -> str:
        name = payload.query or self._only_query
        if name is None:
            raise errors.NoQueryNamedError("the subscription names no query", hint="give 'query' or 'rspql'")
        if self._only_query is not None and name != self._only_query:
            detail = f"this connection serves only query '{self._only_query}'"
            raise errors.QueryElsewhereError(detail, hint="connect to /ws to follow any query")
        return name

    def _follow(self, subscription_id: str, options: SubscriptionOptions, query: str) -> list[Effect]:
        subscription = self._subscribe(
            subscription_id, options, self._rings.ring(query), MessageEncoder(subscription_id)
        )
        return [TakeSnapshot(subscription_id, query)] if subscription.needs_snapshot else []

    def _credit(self, message: messages.More) -> None:
        subscription = self._subscriptions.get(message.id)
        if subscription is None:
            return  # It may have ended while the message was in transit.
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
        """The effect `RegisterQuery` is complete; if its subscription has ended meanwhile, drop the query."""
        options = self._pending.pop(subscription_id, None)
        if options is None or self.close is not None:
            return [DropQuery(query)]
        self._unnamed[subscription_id] = query
        try:
            return self._follow(subscription_id, options, query)
        except DomainError as problem:
            self._say(messages.error(subscription_id, problem))
            self._drop_unnamed(subscription_id)
            return self.drops()

    def published(self, message_id: str, reply: dict[str, Any]) -> None:
        """The effect `PublishEvents` is complete."""
        self._pending.pop(message_id, None)
        self._say(messages.message("published", message_id, reply))

    def snapshot_taken(self, subscription_id: str, seq: int, text: str) -> None:
        """The effect `TakeSnapshot` is complete."""
        if (subscription := self._subscriptions.get(subscription_id)) is not None:
            subscription.give_snapshot(seq, text)

    def refused(self, message_id: str, problem: DomainError) -> None:
        """An effect was refused: its subscription or publication ends."""
        if (subscription := self._subscriptions.get(message_id)) is not None:
            subscription.end(problem)
            self._is_ready(subscription)
        elif message_id in self._pending:
            del self._pending[message_id]
            self._say(messages.error(message_id, problem))

    # ---- time and end ----

    def check(self, now: float, *, sending_since: float | None) -> float:
        """Apply timeouts; returns when to check again."""
        due_at = min(self._check_readers(now, sending_since), self._beat(now))
        return due_at if self._principal is not None else min(due_at, self._check_init(now))

    def leave(self) -> list[Effect]:
        """The connection has ended; its unnamed queries end with it."""
        self._end(Close(1001))
        names, self._unnamed = list(self._unnamed.values()), {}
        self._leave_all()
        self._pending.clear()
        return [DropQuery(name) for name in names] + self.drops()

    def _check_init(self, now: float) -> float:
        init_at = self._began_at + self._settings.init_timeout_s
        if now >= init_at:
            self._end(Close(4408, "no connection_init within the time limit"))
        return init_at

    def _beat(self, now: float) -> float:
        if now >= self._heartbeat_at + self._settings.heartbeat_s:
            self._heartbeat_at = now
            if self._principal is not None and not self._outbox:
                self._say(messages.message("ping"))
        return self._heartbeat_at + self._settings.heartbeat_s

    # ---- parts ----

    def _is_taken(self, message_id: str) -> bool:
        if message_id in self._subscriptions or message_id in self._pending:
            self._end(Close(4409, _reason(f"id '{message_id}' is in use")))
            return True
        return False

    def _require(self, scope: Scope) -> None:
        if self._principal is not None:
            require(self._principal, scope)

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
    """A query followed without sub-protocol: one envelope per frame; the client sends nothing."""

    def __init__(
        self,
        rings: Rings,
        settings: Settings,
        query: str,
        options: SubscriptionOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rings, settings, clock)
        self._query = query
        self._options = options

    def begin(self) -> list[Effect]:
        """Start to follow; an unknown query or result token ends the connection with the problem as its only frame."""
        try:
            subscription = self._subscribe(
                "", replace(self._options, credit=None), self._rings.ring(self._query), PlainEncoder()
            )
        except DomainError as problem:
            self._say(PlainEncoder().error(problem))
            self._end(close_of(problem))
            return []
        return [TakeSnapshot("", self._query)] if subscription.needs_snapshot else []

    def receive(self, text: str) -> list[Effect]:
        """Ignored: a plain client has nothing to send."""
        del text
        return []

    def check(self, now: float, *, sending_since: float | None) -> float:
        """Apply timeouts; returns when to check again."""
        return self._check_readers(now, sending_since)

    def registered(self, subscription_id: str, query: str) -> list[Effect]:
        """A plain client registers nothing."""
        del subscription_id
        return [DropQuery(query)]

    def published(self, message_id: str, reply: dict[str, Any]) -> None:
        """A plain client publishes nothing."""

    def snapshot_taken(self, subscription_id: str, seq: int, text: str) -> None:
        """The effect `TakeSnapshot` has been done."""
        # The client may have gone meanwhile.
        if (subscription := self._subscriptions.get(subscription_id)) is not None:
            subscription.give_snapshot(seq, text)

    def refused(self, message_id: str, problem: DomainError) -> None:
        """The snapshot could not be taken."""
        del message_id
        self._say(PlainEncoder().error(problem))
        self._end(close_of(problem))

    def leave(self) -> list[Effect]:
        """The connection has ended."""
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


def _options(payload: messages.SubscribePayload) -> SubscriptionOptions:
    # An unnamed query has no earlier results: its subscriber gets all of them.
    start = payload.start or ("latest" if payload.rspql is None else "earliest")
    return SubscriptionOptions(
        payload.credit, payload.overflow, payload.after, start, payload.snapshot, payload.progress
    )


def _reason(text: str) -> str:
    """A reason of at most 123 bytes, which is what a close frame can hold."""
    return text.encode()[:123].decode(errors="ignore")
