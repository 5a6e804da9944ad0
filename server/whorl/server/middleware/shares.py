"""Gives each request its share of the room for bodies, and takes it back at the end, however the request ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.server.services.room import Share

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from whorl.server.services.room import Room


class Shares:
    """Lends shares; routes find theirs as `request.state.share`."""

    def __init__(self, app: ASGIApp, room: Room) -> None:
        self.app = app
        self.room = room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        share = Share(self.room)
        scope.setdefault("state", {})["share"] = share
        try:
            await self.app(scope, receive, send)
        finally:
            share.release()
