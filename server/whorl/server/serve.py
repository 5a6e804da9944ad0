"""`serve(settings)`: the server under uvicorn, with the limits of the settings."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import orjson
import uvicorn
import uvloop

from whorl.server.app import create_app
from whorl.server.connections import SPARE_CONNECTIONS, reading_within
from whorl.server.security import Tokens, check_exposure
from whorl.server.settings import unknown_names
from whorl.server.sockets import Server, SocketProtocol
from whorl.server.store.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from whorl.demo.pace import Pace
    from whorl.server.settings import Settings

# Requests in progress may take this long to finish. Queued commands are finished afterwards; together they must
# take less than ten seconds, after which containers are killed.
_GRACE_S = 4
_log = logging.getLogger("whorl.serve")
_WS_QUEUE = 16
# Files of the store, of Python and of the event loop.
_OTHER_HANDLES = 256


class StartError(Exception):
    """The server cannot start; the message says why and what to do."""


def serve(settings: Settings, on_ready: Callable[[str], None] | None = None, pace: Pace | None = None) -> None:
    """Serve until a signal comes. `on_ready` receives the address, with the token if it was created just now.

    `pace` is that of the demo, if one runs.
    """
    _configure_logging(settings)
    for name in unknown_names(os.environ):
        _log.warning("%s is not a setting and has no effect", name)
    try:
        check_exposure(settings)
        tokens = Tokens.open(settings)
    except (ValueError, OSError) as error:
        raise StartError(str(error)) from error
    _raise_handle_limit(settings)
    listening = _listen(settings)
    address = _address(settings, listening)
    app = create_app(settings, tokens, pace)
    life = _Life(app)
    server = _Server(_config(settings, life), lambda: (on_ready or _print_ready)(_ready_text(address, tokens)))
    server.rings = app.state.rings
    # uvicorn handles signals while it serves and raises them again after it has stopped: nothing is left to do then.
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: None)
    with (
        # uvicorn exits the process if it fails to start; raise an error that says why instead.
        contextlib.suppress(SystemExit),
        listening,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(server.serve(sockets=[listening]))
    if not server.started:
        raise StartError(life.failure or "the server did not start; its log says why")


class _Life:
    """The application's lifespan. If the store does not open, the error is one sentence without a stack trace."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.failure: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        held: list[Message] = []

        async def hold_failures(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed":
                held.append(message)
            else:
                await send(message)

        try:
            await self._app(scope, receive, hold_failures)
        except StoreError as error:
            self.failure = str(error)
            # uvicorn would only add that it exits.
            logging.getLogger("uvicorn.error").disabled = True
            await send({"type": "lifespan.startup.failed", "message": ""})
        except Exception:
            for message in held:
                await send(message)
            raise


class _Server(Server):
    """A server that reports when it is ready."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _config(settings: Settings, app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        # Fixed: the limits on queues and sizes hold for these implementations.
        loop="uvloop",
        http=reading_within(settings.answer_seconds_max, settings.answers_bytes_max),
        ws=SocketProtocol,
        ws_max_size=settings.message_bytes_max,
        ws_max_queue=_WS_QUEUE,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.connections_max,
        timeout_graceful_shutdown=_GRACE_S,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )


def _raise_handle_limit(settings: Settings) -> None:
    """Every connection takes a file handle; the usual limit is 1,024. Health checks need one, too."""
    needed = settings.connections_max + SPARE_CONNECTIONS + settings.subscribers_max + _OTHER_HANDLES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    if allowed < needed:
        _log.warning("%d files may be open, but connections_max and subscribers_max need %d", allowed, needed)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listening.close()
        raise StartError(_why_not(error, settings)) from error
    listening.set_inheritable(True)
    return listening


def _why_not(error: OSError, settings: Settings) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {settings.port} is in use: stop the other process, or choose another port (0 picks a free one)"
    if error.errno == errno.EACCES:
        return f"permission denied for port {settings.port}: choose one above 1023"
    return f"cannot listen on {settings.host} port {settings.port}: {error.strerror}"


def _address(settings: Settings, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    scheme = "http" if settings.tls_cert is None else "https"
    host = f"[{settings.host}]" if ":" in settings.host and not settings.host.startswith("[") else settings.host
    return f"{scheme}://{host}:{port}/"


def _ready_text(address: str, tokens: Tokens) -> str:
    """The address to open. On a terminal, its fragment, which browsers never send, has the token if it is new."""
    if tokens.made_admin_token is None:
        return address
    _log.info("the admin token is in %s, readable only by its owner", tokens.data_dir / "token")
    # Elsewhere the line may end up in a file or in a container's log, which others can read.
    return f"{address}#token={tokens.made_admin_token}" if sys.stdout.isatty() else address


def _print_ready(address: str) -> None:
    sys.stdout.write(f"whorl is ready: {address}\n")
    sys.stdout.flush()


# ---- logging ----


class _JsonLines(logging.Formatter):
    """One JSON object per line, with further members from `extra={"members": …}`."""

    def format(self, record: logging.LogRecord) -> str:
        members: dict[str, Any] = {"at": record.created, "level": record.levelname.lower(), "logger": record.name}
        members["message"] = record.getMessage()
        members.update(getattr(record, "members", {}))
        if record.exc_info:
            members["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(members).decode()


def _configure_logging(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    human = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(_JsonLines() if settings.log_format == "json" else human)
    for name in ("whorl", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    # uvicorn would log the URL of every socket, and with it one-use tickets.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    # One line per request, only in machine-readable logs.
    logging.getLogger("whorl.server").setLevel(logging.INFO if settings.log_format == "json" else logging.WARNING)
