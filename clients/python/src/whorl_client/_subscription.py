"""A subscription without I/O: it follows one query across connections, and delivers each result once.

`Subscription.run` is a flow (see `_flow`): it yields `Connect`, `SendText`, `Receive`, `Close` and `Sleep` for the
shell to carry out, and `Ready` and `Deliver` for the shell to pass on. Invariants:

- The position is the token of the last delivered result, or the position of the first one as announced by the server. A
  new connection resumes after it, so nothing in between is missed.
- A result whose (incarnation, seq) is not beyond the last delivered one is dropped, so nothing is delivered twice.
- A jump in seq that the server did not announce is a gap as well: no result is ever missing silently.
- Each delivered result returns one credit, so that at most `credit` results are in flight.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ._exceptions import (
    TYPE_BASE,
    AnswerTimeoutError,
    CertificateError,
    ConnectionFailedError,
    ExpiredError,
    GapError,
    OverloadedError,
    ProtocolError,
    WhorlError,
    problem_of,
)
from ._flow import Backoff, Server, Sleep
from ._json import Json, JsonObject, inner, member, number, parsed, strings
from ._models import Gap, Progress, Result, Time, required, time_ms
from ._protocol import query_name

# What a subscription yields: results, and gaps with `on_gap="yield"`.
if TYPE_CHECKING:
    # Type checkers know this module even if it is not installed; type variable defaults need Python 3.13.
    from typing_extensions import TypeVar

    Item_co = TypeVar("Item_co", covariant=True, default=Result)
else:
    from typing import TypeVar

    Item_co = TypeVar("Item_co", covariant=True)

SUBPROTOCOL = "rsp.v1.json"
CREDIT = 256
# Until the server has announced its ping interval.
_HEARTBEAT_S = 20.0
_NORMAL_CLOSURE = 1000

RaiseGap: TypeAlias = Literal["raise"] | Callable[[Gap], None]
OnGap: TypeAlias = RaiseGap | Literal["yield"]

# Close codes after which a new connection would end the same way. All others are retried.
_FATAL_CLOSES: dict[int, tuple[str, int, str]] = {
    1002: ("", 0, "the server found a protocol error"),
    1003: ("", 0, "the server does not accept this kind of message"),
    1007: ("", 0, "the server could not read a message"),
    1009: ("", 0, "a message was too big"),
    4400: ("bad-message", 400, "the server does not know a message of this client"),
    4401: ("unauthenticated", 401, "the token is missing or invalid; pass token= or set WHORL_TOKEN"),
    4403: ("forbidden", 403, "the token does not permit subscribing"),
    4406: ("", 0, f"the server does not support {SUBPROTOCOL}"),
    4409: ("", 0, "a subscription of this name is open on the same socket"),
}


@dataclass(frozen=True, slots=True)
class Connect:
    """Operation: open a WebSocket. Outcome: None when it is open, else `Lost`."""

    url: str
    headers: dict[str, str]
    subprotocol: str


@dataclass(frozen=True, slots=True)
class SendText:
    """Operation: send a text frame. A lost connection shows at the next `Receive`."""

    text: str


@dataclass(frozen=True, slots=True)
class Receive:
    """Operation: receive a text frame. Outcome: the text, None after that many seconds without one, or `Lost`."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Close:
    """Operation: close the socket."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The server has confirmed the subscription: no result from here on is missed."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """An item to deliver to the program."""

    item: Result | Gap


@dataclass(frozen=True, slots=True)
class Lost:
    """Outcome: the connection was lost or refused. `status` and `body` are those of a refused handshake."""

    reason: str
    code: int | None = None
    status: int | None = None
    body: bytes = b""
    retry_after_s: float | None = None
    tls: bool = False


Effect: TypeAlias = Connect | SendText | Receive | Close | Ready | Deliver | Sleep
SubscriptionFlow: TypeAlias = Generator[Effect, str | Lost | None, None]
_Steps: TypeAlias = Generator[Effect, str | Lost | None, Lost | None]


@dataclass(frozen=True, slots=True)
class SubscribeOptions:
    """The options of a subscription."""

    query: str
    from_: str = "latest"
    # The text and the options of a query that lives as long as the connection; `query` is then only a label.
    text: str | None = None
    query_options: JsonObject = field(default_factory=dict)
    snapshot: bool = False
    limit: int | None = None
    until: Time | None = None
    timeout_s: float | None = None
    on_gap: OnGap = "raise"
    on_progress: Callable[[Progress], None] | None = None
    raw: bool = False
    credit: int = CREDIT
    overflow: Literal["disconnect", "drop-oldest", "latest"] | None = None

    def __post_init__(self) -> None:
        if self.text is None:
            query_name(self.query)
        if self.limit is not None and self.limit < 1:
            raise ValueError("limit must be at least 1")
        if self.credit < 1:
            raise ValueError("credit must be at least 1")
        if not callable(self.on_gap) and self.on_gap not in {"raise", "yield"}:
            raise ValueError(f"on_gap must be 'raise', 'yield' or a function, not {self.on_gap!r}")


@dataclass(slots=True)
class Subscription:
    """The state of one subscription. `token` is its position: pass it as `from_` to resume later."""

    server: Server
    options: SubscribeOptions
    clock: Callable[[], float] = time.monotonic
    token: str | None = None
    variables: tuple[str, ...] = ()
    watermark: int | None = None
    reason: str | None = None
    # As the server calls it: a query that the connection owns gets its name there.
    query: str | None = None
    _last: tuple[str, int] | None = None
    _expected: tuple[str, int] | None = None
    _start: tuple[str, int] | None = None
    _is_over: bool = False
    _was_ready: bool = False
    _is_subscribed: bool = False
    _from: str | None = None
    _id: int = 0
    _handed_out: int = 0
    _owed: int = 0
    _heartbeat_s: float = _HEARTBEAT_S
    _backoff: Backoff = field(init=False)
    _deadline: float | None = None
    _until_ms: int | None = None

    def __post_init__(self) -> None:
        self._backoff = self.server.backoff()
        if self.options.from_ in {"latest", "earliest"}:
            self._from = self.options.from_
        else:
            self.token = self.options.from_
        self._until_ms = None if self.options.until is None else time_ms(self.options.until)

    def run(self) -> SubscriptionFlow:
        """Follow the query until it completes, the limit is reached, or the patience is used up."""
        self._expect_result()
        while True:
            lost = yield from self._connection()
            if lost is None:
                return
            delay_s = self._backoff.next_s(lost.retry_after_s or 0.0)
            if delay_s is None:
                raise _error_of(lost, self.server)
            yield Sleep(delay_s)

    # --- one connection ---------------------------------------------------------------------------------------------

    def _connection(self) -> _Steps:
        """Serve one connection; None if the subscription is over, else how the connection was lost."""
        lost = yield Connect(self.server.socket_address(), self.server.headers(), SUBPROTOCOL)
        if not isinstance(lost, Lost):
            if not self.server.was_met:
                self.server.was_met = True
                self._backoff = self.server.backoff()
            yield SendText(
                _message("connection_init", payload={"token": self.server.token} if self.server.token else {})
            )
            lost = yield from self._listen()
        if lost is None:
            yield Close()
        elif not _is_passing(lost):
            raise _error_of(lost, self.server)
        return lost

    def _listen(self) -> _Steps:
        was_pinged = self._is_subscribed = False
        while not self._is_over:
            reply = yield Receive(self._wait_s())
            if isinstance(reply, Lost):
                return reply
            if reply is not None:
                was_pinged = False
                lost = yield from self._take(reply)
                if lost is not None:
                    yield Close()
                    return lost
            elif self._is_late():
                yield Close()
                raise AnswerTimeoutError(f"no result of '{self.options.query}' within {self.options.timeout_s} s")
            elif was_pinged or not self._is_subscribed:
                yield Close()
                return Lost("the connection timed out")
            elif self.options.timeout_s is None or self._wait_s() >= self._heartbeat_s:
                was_pinged = True
                yield SendText(_message("ping"))
        return None

    def _wait_s(self) -> float:
        if self._deadline is None:
            return self._heartbeat_s
        return min(self._heartbeat_s, max(0.0, self._deadline - self.clock()))

    def _is_late(self) -> bool:
        return self._deadline is not None and self.clock() >= self._deadline

    def _expect_result(self) -> None:
        if self.options.timeout_s is not None:
            self._deadline = self.clock() + self.options.timeout_s

    # --- messages ---------------------------------------------------------------------------------------------------

    def _take(self, text: str) -> _Steps:
        """Handle one message; a `Lost` means that this connection is of no further use."""
        message = _parsed(text)
        payload = inner(message, "payload")
        match message["type"]:
            case "connection_ack":
                self._heartbeat_s = (number(payload, "heartbeat") or _HEARTBEAT_S * 1000) / 1000
                yield SendText(self._subscribe_message())
            case "ping":
                self._is_alive()
                yield SendText(_message("pong"))
            case "pong":
                self._is_alive()
            case str(kind) if message.get("id") == str(self._id):
                return (yield from self._take_own(kind, payload))
        return None

    def _take_own(self, kind: str, payload: JsonObject) -> _Steps:
        match kind:
            case "subscribed":
                yield from self._begin(payload)
            case "next":
                yield from self._hand_out(payload)
            case "progress":
                self._progress(payload)
            case "gap":
                yield from self._take_gap(payload)
            case "complete":
                self.reason = member(payload, "reason", str)
                self._is_over = True
            case "error":
                return (yield from self._refused(payload))
        return None

    def _subscribe_message(self) -> str:
        self._id += 1
        self._owed = 0
        asks: dict[str, Json] = {
            **self._what(),
            # Only the first connection requests a snapshot; a resumed subscription has seen it.
            "snapshot": True if self.options.snapshot and self._last is None else None,
            "progress": True if self._until_ms is not None or self.options.on_progress is not None else None,
            "credit": self.options.credit,
            "overflow": self.options.overflow,
        }
        payload: JsonObject = {name: value for name, value in asks.items() if value is not None}
        return _message("subscribe", str(self._id), payload)

    def _what(self) -> dict[str, Json]:
        """The query, and where to start; a query that belongs to the connection restarts with each one."""
        if self.options.text is not None:
            return {"rspql": self.options.text, "options": self.options.query_options, "from": "earliest"}
        place: dict[str, Json] = {"after": self.token} if self.token is not None else {"from": self._from}
        return {"query": self.options.query, **place}

    def _began_anew(self, incarnation: str) -> SubscriptionFlow:
        """Report a gap: the connection that owned the query was lost, and the query with it."""
        if self.options.text is None or self._start is None or self._start[0] == incarnation:
            return
        first = None if self._expected is None else self._expected[1]
        self.token = self._expected = None
        yield from self._gap(Gap(first, None, "the connection was lost, and the query restarted", None))

    def _begin(self, payload: JsonObject) -> SubscriptionFlow:
        yield from self._began_anew(required(payload, "incarnation", str))
        incarnation, start_seq = required(payload, "incarnation", str), required(payload, "startSeq", int)
        self.variables = tuple(name.lstrip("?") for name in strings(payload, "vars"))
        self._start = (incarnation, start_seq)
        self.query = member(payload, "query", str) or self.options.query
        self._is_subscribed = True
        if not self.options.snapshot:
            # If the connection is lost before the first result, the subscription resumes here, not at a later position.
            self.token = self.token or f"{incarnation}:{start_seq - 1}"
            self._expected = self._expected or self._start
        if not self._was_ready:
            self._was_ready = True
            yield Ready()

    def _is_alive(self) -> None:
        """The connection works, so the next loss starts a new backoff."""
        self._backoff = self.server.backoff()

    def _hand_out(self, envelope: JsonObject) -> SubscriptionFlow:
        self._is_alive()
        if envelope.get("t") is None:
            # The snapshot of a query that was never evaluated: there is no result yet, only a position.
            self.token = required(envelope, "token", str)
            return
        result = Result(envelope, raw=self.options.raw)
        self._owed += 1
        if not self._is_duplicate(result):
            yield from self._missing_before(result)
            if self._until_ms is not None and result.t > self._until_ms:
                self._is_over = True
                return
            self._move_to(result)
            yield from self._deliver(result)
        if self._owed * 2 >= self.options.credit and not self._is_over:
            credit, self._owed = self._owed, 0
            yield SendText(_message("credit", str(self._id), {"n": credit}))

    def _deliver(self, result: Result) -> SubscriptionFlow:
        self._handed_out += 1
        if self._handed_out == self.options.limit:
            # Close the socket before delivering the last result: a program that stops there leaves nothing open.
            self._is_over = True
            yield Close()
        yield Deliver(result)
        self._expect_result()

    def _is_duplicate(self, result: Result) -> bool:
        return self._last is not None and self._last[0] == result.incarnation and result.seq <= self._last[1]

    def _missing_before(self, result: Result) -> SubscriptionFlow:
        """Report a jump in seq that the server did not announce."""
        if self._expected is None or result.is_snapshot:
            return
        incarnation, seq = self._expected
        if incarnation != result.incarnation:
            # The query was restarted; its results count from 1.
            incarnation, seq = result.incarnation, 1
        if result.seq > seq:
            yield from self._gap(Gap(seq, result.seq - 1, "not announced", f"{incarnation}:{result.seq - 1}"))

    def _move_to(self, result: Result) -> None:
        self.token = result.token
        self._last = (result.incarnation, result.seq)
        self._expected = (result.incarnation, result.seq + 1)

    def _progress(self, payload: JsonObject) -> None:
        self._is_alive()
        progress = Progress(member(payload, "watermark", int), member(payload, "seq", int) or 0)
        self.watermark = progress.watermark
        if self.options.on_progress is not None:
            self.options.on_progress(progress)
        # A result at `until` itself is computed only after the watermark has passed it.
        if self._until_ms is not None and progress.watermark is not None and progress.watermark > self._until_ms:
            self._is_over = True

    # --- gaps and errors --------------------------------------------------------------------------------------------

    def _take_gap(self, payload: JsonObject) -> SubscriptionFlow:
        if "vars" in payload:
            # The query was replaced by one with columns of its own.
            self.variables = tuple(name.lstrip("?") for name in strings(payload, "vars"))
        from_seq, to_seq = member(payload, "fromSeq", int), member(payload, "toSeq", int)
        incarnation = member(payload, "incarnation", str) or (self._expected or self._start or ("", 0))[0]
        token = f"{incarnation}:{self._first_seq(incarnation) - 1 if to_seq is None else to_seq}"
        # After a restart the first result is unknown; after any other gap it is the next one.
        self._expected = None if to_seq is None else (incarnation, to_seq + 1)
        yield from self._gap(Gap(from_seq, to_seq, str(payload.get("reason") or "unknown"), token))

    def _first_seq(self, incarnation: str) -> int:
        """The first result of an incarnation on this connection."""
        return self._start[1] if self._start is not None and self._start[0] == incarnation else 1

    def _gap(self, gap: Gap) -> SubscriptionFlow:
        """Report a gap; the position moves past it first, so that a new connection does not report it again."""
        self.token = gap.token or self.token
        if callable(self.options.on_gap):
            self.options.on_gap(gap)
        elif self.options.on_gap == "yield":
            yield Deliver(gap)
        else:
            yield Close()
            raise GapError(gap.from_seq, gap.to_seq, gap.reason, gap.token)

    def _refused(self, payload: JsonObject) -> _Steps:
        """An error ends this attempt; an expired token is a gap, and a busy server is retried."""
        error = problem_of(inner(payload, "problem") or payload)
        if isinstance(error, ExpiredError):
            self.token, self._from = None, "earliest"
            first = None if self._expected is None else self._expected[1]
            self._expected = None
            yield from self._gap(Gap(first, None, error.message, None))
            yield SendText(self._subscribe_message())
            return None
        if isinstance(error, OverloadedError):
            return Lost(error.message, retry_after_s=number(error.document, "retryAfter"))
        yield Close()
        raise error


def _parsed(text: str) -> JsonObject:
    try:
        message = parsed(text)
    except ValueError as error:
        raise ProtocolError(f"the server sent a message that is not JSON: {text[:80]!r}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(f"the server sent a message without a type: {text[:80]!r}")
    return message


def _message(kind: str, number: str | None = None, payload: JsonObject | None = None) -> str:
    message: JsonObject = {"type": kind}
    if number is not None:
        message["id"] = number
    if payload is not None:
        message["payload"] = payload
    return json.dumps(message)


def _is_passing(lost: Lost) -> bool:
    """Whether a new connection may succeed."""
    if lost.status is not None:
        return lost.status in {429, 502, 503, 504}
    return lost.code not in _FATAL_CLOSES and not lost.tls


def _error_of(lost: Lost, server: Server) -> WhorlError:
    if lost.status is not None:
        return problem_of(_json_or_text(lost.body), lost.status, lost.retry_after_s)
    if lost.code in _FATAL_CLOSES:
        slug, status, meaning = _FATAL_CLOSES[lost.code]
        said = f"{meaning} (closed with {lost.code}{f': {lost.reason}' if lost.reason else ''})"
        return problem_of({"type": TYPE_BASE + slug, "detail": said}, status) if status > 400 else ProtocolError(said)
    kind = CertificateError if lost.tls else ConnectionFailedError
    return kind(f"no connection to {server.url}: {lost.reason}")


def _json_or_text(body: bytes) -> JsonObject:
    try:
        document = parsed(body)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {"detail": body[:200].decode(errors="replace")}
