"""Flows: a call as a generator that decides, and leaves the I/O to others.

A flow yields operations (`Request`, `Sleep`) and is sent their outcome (`Response`, `Failed`, None); its return value
is that of the call. The shells `_client` and `_async_client` only carry out what a flow yields, so both behave alike
and everything here is tested without a socket.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

from ._exceptions import (
    AnswerTimeoutError,
    CertificateError,
    ConnectionFailedError,
    ProblemError,
    ProtocolError,
    WhorlError,
    problem_of,
)
from ._json import Json, JsonObject, parsed

T = TypeVar("T")

# From a proxy that lost its server: the request may have been applied.
_LOST = frozenset({502, 504})


# --- operations of flows, and their outcomes --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """Operation: an HTTP request."""

    method: str
    url: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Operation: sleep."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    """Outcome: the response to a request. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def retry_after_s(self) -> float | None:
        """The server's Retry-After in seconds; this protocol does not use dates."""
        try:
            return float(self.headers["retry-after"])
        except (KeyError, ValueError):
            return None

    def json(self) -> JsonObject:
        """The body, which must be a JSON object."""
        value = self.value()
        if not isinstance(value, dict):
            raise ProtocolError(f"the server responded {self.status} with JSON that is not an object")
        return value

    def value(self) -> Json:
        """The body as JSON."""
        try:
            return parsed(self.content) if self.content else {}
        except ValueError as error:
            raise ProtocolError(f"the server responded {self.status} with text that is not JSON") from error


@dataclass(frozen=True, slots=True)
class Failed:
    """Outcome: no response. `sent` is whether the server may have received the request.

    `tls` is whether TLS failed permanently.
    """

    message: str
    sent: bool
    timed_out: bool = False
    tls: bool = False


Flow: TypeAlias = Generator[Request | Sleep, Response | Failed | None, T]


# --- the other side ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Server:
    """The server as this client sees it: its URL, the token, and how long to retry.

    The client retries up to `patience_s` if the server has responded before, and only briefly otherwise.
    """

    url: str
    token: str | None = None
    patience_s: float = 60.0
    first_patience_s: float = 2.0
    was_met: bool = False
    chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ValueError(f"{self.url!r} is not the address of a server; write 'http://localhost:8080'")
        # The URL that a server prints carries its token in the fragment.
        fragment = parts.fragment.removeprefix("token=") if parts.fragment.startswith("token=") else None
        self.token = self.token or fragment or os.environ.get("WHORL_TOKEN")
        self.url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))

    def __repr__(self) -> str:
        """Without the token, which must not reach a log."""
        return f"Server({self.url!r})"

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def address(self, path: str) -> str:
        """The URL of a path."""
        return self.url + path

    def socket_address(self) -> str:
        """The WebSocket URL for subscriptions."""
        return "ws" + self.url.removeprefix("http") + "/ws"

    def backoff(self) -> Backoff:
        """A new series of delays."""
        patience_s = self.patience_s if self.was_met else min(self.first_patience_s, self.patience_s)
        return Backoff(self.chance, patience_s)


class Backoff:
    """Exponential backoff with jitter, so that many clients do not return at once; None when patience is used up."""

    FIRST_S = 0.1
    MOST_S = 5.0

    def __init__(self, chance: random.Random, patience_s: float) -> None:
        self._chance = chance
        self._left_s = patience_s
        self._ceiling_s = self.FIRST_S

    def next_s(self, at_least_s: float = 0.0) -> float | None:
        """The next delay."""
        delay_s = max(self._ceiling_s * self._chance.uniform(0.5, 1.0), at_least_s)
        self._ceiling_s = min(self._ceiling_s * 2, self.MOST_S)
        if delay_s > self._left_s:
            return None
        self._left_s -= delay_s
        return delay_s


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request of the protocol, and how to read its response.

    `is_repeatable`: the request is idempotent, so it is retried if the response is lost.
    """

    method: str
    path: str
    decode: Callable[[Response], T]
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    is_repeatable: bool = True


def perform(server: Server, call: Call[T]) -> Flow[T]:
    """Carry out a call; retry after a lost connection or a busy server if that is safe, until patience is used up."""
    backoff = server.backoff()
    request = Request(
        call.method, server.address(call.path), call.params, {**server.headers(), **call.headers}, call.content
    )
    while True:
        reply = yield request
        if isinstance(reply, Response):
            server.was_met = True
            if reply.status < 400:
                return call.decode(reply)
        error = _error_of(reply, server)
        delay_s = backoff.next_s(_asked_s(error)) if _may_repeat(reply, call) else None
        if delay_s is None:
            raise error
        yield Sleep(delay_s)


def _error_of(reply: Response | Failed | None, server: Server) -> WhorlError:
    match reply:
        case Response():
            return problem_of(_problem_document(reply), reply.status, reply.retry_after_s)
        case Failed(message, sent=sent, timed_out=True):
            return AnswerTimeoutError(
                f"{server.url} did not {'respond' if sent else 'accept a connection'} in time: {message}"
            )
        case Failed(message, tls=True):
            return CertificateError(f"no connection to {server.url}: {message}")
        case Failed(message):
            return ConnectionFailedError(f"no connection to {server.url}: {message}")
    raise ProtocolError("a request had no outcome")


def _problem_document(response: Response) -> JsonObject:
    try:
        return response.json()
    except ProtocolError:  # a proxy that knows nothing of problem documents
        return {"detail": response.content[:200].decode(errors="replace")}


def _may_repeat(reply: Response | Failed | None, call: Call[T]) -> bool:
    if isinstance(reply, Response):
        # Busy: certainly not applied. A 429 without Retry-After is a quota, which waiting does not lift.
        is_busy = reply.status == 503 or (reply.status == 429 and reply.retry_after_s is not None)
        return is_busy or (call.is_repeatable and reply.status in _LOST)
    return isinstance(reply, Failed) and not reply.tls and (call.is_repeatable or not reply.sent)


def _asked_s(error: WhorlError) -> float:
    return (error.retry_after_s or 0.0) if isinstance(error, ProblemError) else 0.0
