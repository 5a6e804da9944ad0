"""Checks of `Host` and `Origin`: which names the server accepts, and which web pages may use it.

A page that an attacker controls can make a browser send requests to a loopback server: under the attacker's own host
name that was pointed at 127.0.0.1 (so `Host` must be a name of ours), or from the attacker's origin (so `Origin`, where
there is one, must be ours or listed). Both hold for WebSockets, which no same-origin policy protects.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from whorl.server import errors
from whorl.server.routes.responses import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from whorl.server.errors import DomainError
    from whorl.server.settings import Settings

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_WILDCARDS = frozenset({"0.0.0.0", "::", "[::]"})  # noqa: S104 - compared with, not listened on
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?")
_PREFLIGHT_SECONDS = 600
_CORS_METHODS = "GET, HEAD, POST, PUT, DELETE, PATCH"
_CORS_HEADERS = "Authorization, Content-Type, Content-Encoding, Accept, Last-Event-ID, RSP-Event-Time, RSP-Producer"
_CORS_EXPOSED = "Location, Retry-After, X-Request-Id"


class Gate:
    """Refuses unknown hosts and foreign origins; responds to the preflights of listed origins."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.hosts = _LOOPBACK_NAMES | _configured_hosts(settings)
        self.origins = frozenset(origin.lower().rstrip("/") for origin in settings.allowed_origins)
        self.behind_proxy = settings.behind_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._objection(scope, headers)
        if problem is not None:
            await _refuse(problem, scope, receive, send)
        elif _is_preflight(scope, headers):
            await self._preflight(headers)(scope, receive, send)
        else:
            await self.app(scope, receive, self._with_cors(headers, send))

    def _objection(self, scope: Scope, headers: Headers) -> DomainError | None:
        hosts = headers.getlist("host")
        parsed = _HOST.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
        if parsed is None or parsed.group(1) not in self.hosts:
            hint = "use a loopback name, or add this name to allowed_hosts"
            return errors.HostNotAllowedError("this host name is not allowed", hint=hint)
        origins = headers.getlist("origin")
        if not origins or (len(origins) == 1 and self._is_own(origins[0], hosts[0], scope)):
            return None
        if len(origins) == 1 and origins[0].lower() in self.origins:
            return None
        hint = "add this origin to allowed_origins"
        return errors.OriginNotAllowedError("this origin is not allowed", hint=hint)

    def _is_own(self, origin: str, host: str, scope: Scope) -> bool:
        try:
            parts = urlsplit(origin.lower())
        except ValueError:
            return False
        secure = scope["scheme"] in {"https", "wss"}
        schemes = {"http", "https"} if self.behind_proxy else {"https" if secure else "http"}
        exact = f"{parts.scheme}://{parts.netloc}" == origin.lower()
        return exact and parts.scheme in schemes and parts.netloc == host.lower()

    def _preflight(self, headers: Headers) -> Response:
        origin = headers["origin"]
        if origin.lower() not in self.origins:
            return Response(status_code=204)
        fields = {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": _CORS_METHODS,
            "Access-Control-Allow-Headers": _CORS_HEADERS,
            "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
            "Vary": "Origin",
        }
        return Response(status_code=204, headers=fields)

    def _with_cors(self, headers: Headers, send: Send) -> Send:
        origin = headers.get("origin", "")
        if origin.lower() not in self.origins:
            return send

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = MutableHeaders(raw=message["headers"])
                fields["Access-Control-Allow-Origin"] = origin
                fields["Access-Control-Expose-Headers"] = _CORS_EXPOSED
                fields.add_vary_header("Origin")
                message = {**message, "headers": fields.raw}
            await send(message)

        return sending


def _configured_hosts(settings: Settings) -> frozenset[str]:
    own = settings.host.lower()
    named = {host.lower() for host in settings.allowed_hosts}
    if own in _WILDCARDS:
        return frozenset(named)
    return frozenset(named | {f"[{own}]" if ":" in own and not own.startswith("[") else own})


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    is_options = scope["type"] == "http" and scope["method"] == "OPTIONS"
    return is_options and "origin" in headers and "access-control-request-method" in headers


async def _refuse(problem: DomainError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http" or "websocket.http.response" in scope.get("extensions", {}):
        await problem_response(problem)(scope, receive, send)
    else:
        await receive()
        await send({"type": "websocket.close", "code": 4403})
