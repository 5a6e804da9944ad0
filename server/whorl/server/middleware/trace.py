"""Request ids, security headers and one log line per request; an uncaught exception becomes a problem document."""

from __future__ import annotations

import logging
import re
import secrets
import time
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from whorl.server import errors
from whorl.server.routes.responses import problem_response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from whorl.server.errors import DomainError
    from whorl.server.services.traffic import Traffic

log = logging.getLogger("whorl.server")

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Control characters and those that change the direction of text: none of them may reach a terminal.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Added unless the response has them already; names in lower case, as ASGI wants them.
_FIXED_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Trace:
    """Gives each request an id, counts and logs it, and turns uncaught exceptions into responses."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        exchange = _Exchange(send, request_id)
        began = time.perf_counter()
        try:
            await self.app(scope, receive, exchange.send)
        except ClientDisconnect:
            exchange.status = 499
        except Exception:
            log.exception("request %s failed", request_id, extra={"members": {"requestId": request_id}})
            if scope["type"] != "http" or exchange.started:
                raise
            await problem_response(_fault(request_id))(scope, receive, exchange.send)
        finally:
            if scope["type"] == "http":
                self._note(scope, exchange.status, request_id, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        self.traffic.note(scope["method"], scope["path"], status, seconds)
        if not log.isEnabledFor(logging.INFO):
            return
        method, path, milliseconds = scope["method"], printable(scope["path"]), seconds * 1000
        members = {
            "requestId": request_id,
            "method": method,
            "path": path,
            "status": status,
            "durationMs": round(milliseconds, 1),
        }
        line = (request_id, method, path, status, milliseconds)
        log.info("%s %s %s %d %.1f ms", *line, extra={"members": members})


class _Exchange:
    """The sending side of one connection: adds headers to what starts a response."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.started = False
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] in {"http.response.start", "websocket.http.response.start"}:
            self.started = True
            self.status = message["status"]
            message = {**message, "headers": self._with_ours(message["headers"])}
        elif message["type"] == "websocket.accept":
            headers = [*message.get("headers", []), (b"x-request-id", self._request_id.encode())]
            message = {**message, "headers": headers}
        await self._send(message)

    def _with_ours(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        own = [(name, value) for name, value in headers if name != b"x-request-id"]
        names = {name for name, _ in own}
        own.append((b"x-request-id", self._request_id.encode()))
        own.extend(field for field in _FIXED_HEADERS if field[0] not in names)
        return own


def printable(text: str) -> str:
    """Text for a log: characters that could control a terminal or forge a line are escaped."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _request_id(headers: Headers) -> str:
    offered = headers.get("x-request-id", "")
    return offered if _SANE_ID.fullmatch(offered) else secrets.token_hex(8)


def _fault(request_id: str) -> DomainError:
    hint = "this is a bug in the server; its log has the details under this request id"
    return errors.ServerFaultError("internal server error", hint=hint, requestId=request_id)
