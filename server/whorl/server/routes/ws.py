"""WebSockets: `/ws` for any queries, `/queries/{name}/ws` for one; the shell around a `Session`.

Each socket has three tasks: one reads frames, one sends, one applies timeouts. The first to end ends the connection. A
stuck reader blocks its own sender and nothing else: its results wait in the ring, and in the transport up to its
high-water mark.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.websockets import WebSocket, WebSocketDisconnect

from whorl.server import errors, schemas
from whorl.server.errors import DomainError
from whorl.server.routes.deps import authorize
from whorl.server.routes.parameters import known_socket_parameters
from whorl.server.security import Principal, Scope, authorize_token, require
from whorl.server.services.answers import Snapshot
from whorl.server.services.ingest import PushOptions
from whorl.server.services.names import checked_iri
from whorl.server.services.session import (
    SUBPROTOCOL,
    Conversation,
    DropQuery,
    Effect,
    PlainSession,
    PublishEvents,
    RegisterQuery,
    Session,
    TakeSnapshot,
    close_of,
)
from whorl.server.services.subscriptions import Close, SubscriptionOptions
from whorl.server.sockets import EXTENSION, SocketProtocol

if TYPE_CHECKING:
    from collections.abc import Coroutine, MutableMapping

    from whorl.server.runtime.runtime import Runtime
    from whorl.server.security import Tokens
    from whorl.server.services.asking import Asking
    from whorl.server.services.ingest import Ingest
    from whorl.server.services.registry import Registry
    from whorl.server.services.rings import Rings
    from whorl.server.settings import Settings

router = APIRouter()

_log = logging.getLogger("whorl.sockets")
_BATCH_BYTES = 64 * 1024
_CLOSE_SECONDS = 1.0
_PUBLISHING_MAX = 8
# Work that must finish even if its socket is gone: registering and dropping queries.
_afterwards: set[asyncio.Task[None]] = set()


@router.websocket("/ws")
async def follow_any(websocket: WebSocket) -> None:
    """Follow any queries, and publish, over one connection."""
    if SUBPROTOCOL in websocket.scope["subprotocols"]:
        await _converse(websocket, None)
    else:
        await _accept_and_close(websocket, Close(4406, f"request the sub-protocol {SUBPROTOCOL}"))


@router.websocket("/queries/{name}/ws")
async def follow_one(websocket: WebSocket, name: str) -> None:
    """Follow one query; without sub-protocol, frames are envelopes and nothing else."""
    offered = websocket.scope["subprotocols"]
    if SUBPROTOCOL in offered:
        await _converse(websocket, name)
    elif offered:
        await _accept_and_close(websocket, Close(4406, f"the sub-protocol must be {SUBPROTOCOL}, or none"))
    else:
        await _follow_plainly(websocket, name)


async def _converse(websocket: WebSocket, query: str | None) -> None:
    state = websocket.app.state
    try:
        # Here options are in messages.
        known_socket_parameters(websocket)
        known = _known_caller(websocket)
    except DomainError as problem:
        await _accept_and_close(websocket, close_of(problem), SUBPROTOCOL)
        return

    held = contextlib.ExitStack()

    def authorize_init(token: str | None) -> Principal:
        scopes: tuple[Scope, ...] = ("subscribe", "ingest") if query is None else ("subscribe",)
        caller = (
            authorize_token(state.tokens, token, *scopes)
            if known is None or token is not None
            else require(known, *scopes)
        )
        # Also refuses a caller whose token was deleted between the handshake and this message.
        held.enter_context(state.tokens.held(caller, session.token_deleted))
        _know(websocket)
        return caller

    session = Session(state.runtime.rings, state.settings, authorize_init, name=secrets.token_hex(8), query=query)
    with held:
        await _Socket(websocket, session, SUBPROTOCOL).serve([])


async def _follow_plainly(websocket: WebSocket, query: str) -> None:
    state = websocket.app.state
    try:
        caller = authorize(websocket, "subscribe")
        options = _options_of(websocket)
    except DomainError as problem:
        await _accept_and_close(websocket, close_of(problem))
        return
    _know(websocket)
    session = PlainSession(state.runtime.rings, state.settings, query, options)
    with state.tokens.held(caller, session.token_deleted):
        await _Socket(websocket, session, None).serve(session.begin())


def _protocol_of(websocket: WebSocket) -> SocketProtocol | None:
    protocol: SocketProtocol | None = websocket.scope.get("extensions", {}).get(EXTENSION)
    return protocol


def _know(websocket: WebSocket) -> None:
    """The caller has authenticated: the usual message limits apply from now on."""
    protocol = _protocol_of(websocket)
    if protocol is not None:
        protocol.is_known = True


class _Socket:
    """One connection: passes frames between the network and its conversation, and carries out effects."""

    def __init__(self, websocket: WebSocket, session: Session | PlainSession, subprotocol: str | None) -> None:
        self._websocket = websocket
        self._session: Conversation = session
        self._subprotocol = subprotocol
        self._runtime: Runtime = websocket.app.state.runtime
        self._asking: Asking = websocket.app.state.asking
        self._registry: Registry = websocket.app.state.registry
        self._ingest: Ingest = websocket.app.state.ingest
        self._tokens: Tokens = websocket.app.state.tokens
        self._rings: Rings = websocket.app.state.runtime.rings
        self._settings: Settings = websocket.app.state.settings
        self._protocol = _protocol_of(websocket)
        self._news = asyncio.Event()
        self._sent = asyncio.Event()
        self._closing = asyncio.Event()
        self._publishing = asyncio.Semaphore(_PUBLISHING_MAX)
        self._sending_since: float | None = None
        self._is_gone = False
        session.on_wake = self._wake

    async def serve(self, effects: list[Effect]) -> None:
        """Hold the conversation until one side ends it."""
        try:
            self._check_ready()
            self._rings.connect(self._session)
        except DomainError as problem:
            await _accept_and_close(self._websocket, close_of(problem), self._subprotocol)
            return
        try:
            await self._websocket.accept(self._subprotocol)
            await self._converse(effects)
            if not self._is_gone:
                await self._close(self._session.close or Close(1000))
        finally:
            self._rings.disconnect(self._session)
            for effect in self._session.leave():
                await self._do(effect)

    def _check_ready(self) -> None:
        if self._runtime.state != "ready":
            raise errors.NotReadyError(f"the server is {self._runtime.state}", retry_after_s=1)

    async def _converse(self, effects: list[Effect]) -> None:
        tasks = [asyncio.create_task(work) for work in (self._read(effects), self._send(), self._watch())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        self._judge(outcomes)

    def _judge(self, outcomes: list[BaseException | None]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, WebSocketDisconnect):
                self._is_gone = True
            elif isinstance(outcome, Exception):
                _log.error("a WebSocket connection failed", exc_info=outcome)
                self._session.close = Close(1011, "internal server error; see the server's log")

    # ---- the three tasks ----

    async def _read(self, effects: list[Effect]) -> None:
        for effect in effects:
            await self._do(effect)
        while True:
            text = self._text_of(await self._websocket.receive())
            if text is not None:
                for effect in self._session.receive(text):
                    await self._do(effect)
                # Messages that have arrived are received without waiting, so yield to other connections.
                await asyncio.sleep(0)
            while self._session.is_clogged:
                self._sent.clear()
                await self._sent.wait()
            if self._session.close is not None:
                # The sender flushes what is left and ends the conversation.
                await asyncio.Event().wait()

    def _text_of(self, event: MutableMapping[str, Any]) -> str | None:
        if event["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(event.get("code", 1005))
        text: str | None = event.get("text")
        if text is None:
            self._end(Close(4400, "frames must be text"))
        elif len(text) > self._settings.message_bytes_max or len(text.encode()) > self._settings.message_bytes_max:
            self._end(Close(1009, f"a message may have at most {self._settings.message_bytes_max} bytes"))
            return None
        return text

    async def _send(self) -> None:
        while True:
            self._news.clear()
            while frames := self._session.take(_BATCH_BYTES):
                self._sending_since = time.monotonic()
                await self._send_frames(frames)
                self._sent.set()
                # A transport that accepts everything never waits, so yield to others.
                await asyncio.sleep(0)
            self._sending_since = None
            for effect in self._session.drops():
                await self._do(effect)
            if self._session.close is not None:
                return
            await self._news.wait()

    async def _send_frames(self, frames: list[str]) -> None:
        try:
            if self._protocol is not None:
                await self._protocol.send_frames(frames)
                return
            for frame in frames:
                await self._websocket.send_text(frame)
        except (OSError, RuntimeError) as error:
            # The underlying protocol has closed, for a reason of its own.
            raise WebSocketDisconnect(1006) from error

    async def _watch(self) -> None:
        while self._session.close is None:
            now = time.monotonic()
            due_at = self._session.check(now, sending_since=self._sending_since)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due_at - now)):
                    await self._closing.wait()
        # The last messages get a short time, then the connection ends in any case.
        await asyncio.sleep(_CLOSE_SECONDS)

    # ---- effects ----

    async def _do(self, effect: Effect) -> None:
        match effect:
            case PublishEvents():
                await self._publishing.acquire()
                _start(self._publish(effect))
            case RegisterQuery():
                _start(self._register(effect))
            case DropQuery():
                _start(self._drop(effect.name))
            case TakeSnapshot():
                _start(self._take_snapshot(effect))

    async def _publish(self, effect: PublishEvents) -> None:
        try:
            payload = effect.payload
            body, form = payload.body()
            iri = checked_iri(payload.stream)
            # The token may have been deleted while this waited in the queue.
            self._tokens.check(self._session.caller)
            reply = await self._ingest.push(iri, body, form, PushOptions(payload.t, payload.atomic))
            self._session.published(effect.id, reply)
        except DomainError as problem:
            self._session.refused(effect.id, problem)
        finally:
            self._publishing.release()

    async def _register(self, effect: RegisterQuery) -> None:
        try:
            wanted = schemas.checked(schemas.QueryRequest, {**effect.options, "query": effect.text})
            name = await self._registry.register_unnamed(wanted, self._session.caller)
        except DomainError as problem:
            self._session.refused(effect.id, problem)
            return
        for following in self._session.registered(effect.id, name):
            await self._do(following)

    async def _drop(self, name: str) -> None:
        with contextlib.suppress(DomainError):
            await self._registry.drop_unnamed(name)

    async def _take_snapshot(self, effect: TakeSnapshot) -> None:
        try:
            snapshot = Snapshot(effect.query)
            text = snapshot.envelope(await self._asking.document(snapshot.read))
        except DomainError as problem:
            self._session.refused(effect.id, problem)
        else:
            self._session.snapshot_taken(effect.id, snapshot.seq, text)

    # ---- the end ----

    def _wake(self) -> None:
        self._news.set()
        if self._session.close is not None:
            self._closing.set()
            self._sent.set()

    def _end(self, close: Close) -> None:
        self._session.close = self._session.close or close
        self._wake()

    async def _close(self, close: Close) -> None:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._websocket.close(close.code, close.reason)
        except (TimeoutError, OSError, RuntimeError, WebSocketDisconnect):
            # The client does not read, so it cannot be notified.
            if self._protocol is not None:
                self._protocol.abort()


def _start(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _afterwards.add(task)
    task.add_done_callback(_afterwards.discard)


async def _accept_and_close(websocket: WebSocket, close: Close, subprotocol: str | None = None) -> None:
    # Accept first: a browser would see a refused handshake only as a failure.
    with contextlib.suppress(OSError, RuntimeError, WebSocketDisconnect):
        await websocket.accept(subprotocol)
        await websocket.close(close.code, close.reason)


def _known_caller(websocket: WebSocket) -> Principal | None:
    """The caller of the handshake; None if it carries no credentials and `connection_init` must."""
    tokens: Tokens = websocket.app.state.tokens
    says = "authorization" in websocket.headers or "ticket" in websocket.query_params
    return authorize(websocket) if says or tokens.anonymous else None


def _options_of(websocket: WebSocket) -> SubscriptionOptions:
    said = websocket.query_params
    known_socket_parameters(websocket, (field.alias or name for name, field in PlainOptions.model_fields.items()))
    wanted = schemas.checked(PlainOptions, {name: said[name] for name in said if name != "ticket"})
    return SubscriptionOptions(None, wanted.overflow, wanted.after, wanted.start, wanted.snapshot)


class PlainOptions(BaseModel):
    """Options in the query string of a plain connection."""

    model_config = ConfigDict(extra="forbid")

    after: str | None = None
    start: Literal["earliest", "latest"] = Field("latest", alias="from")
    snapshot: bool = False
    overflow: Literal["disconnect", "drop-oldest", "latest"] = "disconnect"
