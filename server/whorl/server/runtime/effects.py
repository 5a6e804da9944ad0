"""Effects of a command on subscribers. The rings get them once the command is durable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from whorl.server.runtime import commands as c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.server.errors import DomainError
    from whorl.server.runtime.core import Core, QueryEntry

# seq, instant, bytes of the envelope
Envelope: TypeAlias = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class Opened:
    """A query starts or restarts, perhaps with another text."""

    query: str
    incarnation: str
    next_seq: int
    facts: dict[str, Any]
    has_new_text: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """New results, in order."""

    query: str
    incarnation: str
    envelopes: Sequence[Envelope]


@dataclass(frozen=True, slots=True)
class Failed:
    """The query has failed."""

    query: str
    problem: DomainError


@dataclass(frozen=True, slots=True)
class Closed:
    """The query was deleted or paused."""

    query: str
    reason: str


Effect: TypeAlias = Opened | Published | Failed | Closed


class Rings(Protocol):
    """Where results go; called on the event loop only."""

    def open(
        self, query: str, incarnation: str, next_seq: int, facts: dict[str, Any], *, has_new_text: bool = False
    ) -> None:
        """A query starts or restarts, perhaps with another text."""

    def publish(self, query: str, envelopes: Sequence[Envelope]) -> None:
        """New results, in order."""

    def progress(self, query: str, watermark: int | None) -> None:
        """There are no more results up to this instant."""

    def fail(self, query: str, problem: DomainError) -> None:
        """The query has failed."""

    def close(self, query: str, reason: str) -> None:
        """The query was deleted or paused."""


def of_command(command: c.Command, reply: Any, core: Core) -> list[Effect]:  # noqa: ANN401 - each command has its reply
    """The effects of an applied command on readers, beside its results."""
    match command:
        # A `Replace` is a `Register`, too.
        case c.Replace() if reply["replaced"]:
            return [_opened(core.queries[command.name], has_new_text=True)]
        case c.Register() if reply["created"]:
            return [_opened(core.queries[command.name])]
        case c.Restart():
            return [_opened(core.queries[command.name])]
        case c.Unregister():
            return [Closed(command.name, "deleted")]
        case c.Pause():
            return [Closed(command.name, "paused")]
        case c.ReopenStream():
            return [_opened(core.queries[name]) for name in reply["queries"]]
        case c.DropStream():
            return [Closed(name, "stream deleted") for name in reply["queries"]]
        case _:
            return []


def of_entry(entry: QueryEntry) -> list[Effect]:
    """The effects that open a query restored from a snapshot."""
    if entry.status == "paused":
        return [Closed(entry.name, "paused")]
    refusal = entry.refusal()
    return [_opened(entry)] if refusal is None else [_opened(entry), Failed(entry.name, refusal)]


def _opened(entry: QueryEntry, *, has_new_text: bool = False) -> Opened:
    return Opened(entry.name, entry.incarnation, entry.last_seq + 1, entry.facts, has_new_text)
