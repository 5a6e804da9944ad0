"""Refused events of each stream, with the last reason. Refusals are not logged, so they count since the start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.server.runtime.runtime import now_ms

if TYPE_CHECKING:
    from whorl.server.errors import DomainError

# A reason may quote the input, which may be too long for a document.
_TEXT_MAX = 400


@dataclass(slots=True)
class Refusals:
    """The refusals of one stream: bodies as a whole, single events of bodies that are not atomic, events far ahead."""

    refused: int = 0
    ahead: int = 0
    last: dict[str, Any] | None = field(default=None)

    def note_body(self, problem: DomainError) -> None:
        """A body was refused."""
        self._note(1, problem.detail, problem.members.get("code"), problem.members.get("line"))

    def note_reply(self, reply: dict[str, Any]) -> None:
        """A body was accepted, perhaps without some of its events."""
        self.ahead += reply["ahead"]
        refused = reply.get("refused") or []
        if refused:
            said = refused[-1]
            self._note(len(refused), said.get("message", ""), said.get("code"), said.get("line"))

    def _note(self, n: int, reason: str, code: str | None, line: int | None) -> None:
        self.refused += n
        self.last = {"at": now_ms(), "reason": reason[:_TEXT_MAX], "code": code, "line": line}
