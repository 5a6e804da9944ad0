"""Unnamed queries: registered by a subscription, and gone with it, even when the server was killed in between."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from whorl.server.runtime.commands import Register, Unregister

if TYPE_CHECKING:
    from whorl.server.runtime.core import Core
    from whorl.server.runtime.runtime import Runtime

_OWNER = "session:"


def registration(text: str, options: dict[str, Any], caller_id: str) -> Register:
    """The command that starts an unnamed query; its owner says that it belongs to a connection."""
    name = f"ws-{secrets.token_hex(8)}"
    return Register(name, text, options, secrets.token_hex(8), _OWNER + caller_id)


async def drop_orphans(runtime: Runtime) -> None:
    """After a restart no connection is left: queries that belonged to one go."""
    for name in await runtime.read(_orphans):
        await runtime.run(Unregister(name))


def _orphans(core: Core) -> list[str]:
    return [name for name, entry in core.queries.items() if entry.owner.startswith(_OWNER)]
