"""WebSockets: `/ws` for any queries, `/queries/{name}/ws` for one; the shell around a `Session`.

Three tasks for each socket: one reads frames, one sends what may be sent, one watches the time. The first to end ends
the connection. A reader that is stuck blocks its own sender and nothing else: what waits for it stands in the ring, and
in the transport up to its high-water mark.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from starlette.websockets import WebSocket, WebSocketDisconnect

from whorl.server.errors import Problem
from whorl.server.runtime.commands import Push, Register, Unregister
from whorl.server.security import Principal, authorize, authorize_token, require
from whorl.server.services.answers import snapshot_envelope
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
from whorl.server.services.subscriptions import Close, Wish
from whorl.server.sockets import EXTENSION, SocketProtocol

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from whorl.server.runtime.runtime import Runtime
    from whorl.server.settings import Settings

router = APIRouter()

_log = logging.getLogger("whorl.sockets")
_BATCH_BYTES = 64 * 1024
_CLOSE_SECONDS = 1.0
_PUBLISHING_MAX = 8
# Work that must be finished though its socket is gone: queries that begin and end.
_afterwards: set[asyncio.Task[None]] = set()


@router.websocket("/ws")
async def follow_any(websocket: WebSocket) -> None:
    """Follow any queries, and publish, over one connection."""
    if SUBPROTOCOL in websocket.scope["subprotocols"]:
        await _converse(websocket, None)
    else:
        await _accept_and_close(websocket, Close(4406, f"ask for the sub-protocol {SUBPROTOCOL}"))


@router.websocket("/queries/{name}/ws")
async def follow_one(websocket: WebSocket, name: str) -> None:
    """Follow one query; without sub-protocol, frames are envelopes and nothing else."""
    offered = websocket.scope["subprotocols"]
    if SUBPROTOCOL in offered:
        await _converse(websocket, name)
    elif offered:
        await _accept_and_close(websocket, Close(4406, f"the sub-protocol is {SUBPROTOCOL}, or none"))
    else:
        await _follow_plainly(websocket, name)


async def _converse(websocket: WebSocket, query: str | None) -> None:
    state = websocket.app.state
    runtime: Runtime = state.runtime
    known: Principal | None = None
    if _says_who(websocket):
        try:
            known = authorize(websocket, "subscribe" if query is not None else "ingest")
        except Problem as problem:
            known = None
            if query is not None or problem.status != 403:
                await _accept_and_close(websocket, close_of(problem), SUBPROTOCOL)
                return

    def authorize_init(token: str | None) -> Principal:
        if known is not None and token is None:
            return known
        return authorize_token(state.tokens, token, "subscribe")

    session = Session(runtime.rings, state.settings, authorize_init, name=secrets.token_hex(8), query=query)
    await _Socket(websocket, session, SUBPROTOCOL).serve([])


async def _follow_plainly(websocket: WebSocket, query: str) -> None:
    state = websocket.app.state
    try:
        authorize(websocket, "subscribe")
        wish = _wish_of(websocket)
    except Problem as problem:
        await _accept_and_close(websocket, close_of(problem))
        return
    session = PlainSession(state.runtime.rings, state.settings, query, wish)
    await _Socket(websocket, session, None).serve(session.begin())
