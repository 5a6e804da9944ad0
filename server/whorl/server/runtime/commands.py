"""Commands change the state of the server. Each is logged once and applied in order, now and at every recovery.

A command is a frozen dataclass of JSON values and at most one `body` of bytes, so that its record in the log is a line
of JSON and the bytes as received. Everything that depends on the clock or on randomness (arrival times, ticks,
incarnations) is part of the command; applying it is deterministic.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

import orjson

from whorl.server.store.store import StoreError


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The time domain of a stream, and how long its log is kept beyond what its windows need."""

    timestamp_predicate: str | None = None
    lateness_ms: int = 0
    idle_timeout_ms: int | None = None
    retention_ms: int | None = None
    time: Literal["event", "arrival"] = "event"
    assume_zone: str | None = None
    # The offsets of that zone when the stream was declared, so that a log is replayed alike if the zone's rules change.
    zone_offsets: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Producer:
    """The place of a body in the sequence of an idempotent producer."""

    id: str
    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class Command:
    """One change of the state."""

    kind: ClassVar[str] = ""

    @property
    def size_bytes(self) -> int:
        """The size of the command in a queue."""
        return 512 + len(getattr(self, "body", b""))

    def record(self) -> tuple[str, bytes, bytes]:
        """Kind, JSON and body, for the log."""
        members = {name.name: getattr(self, name.name) for name in fields(self) if name.name != "body"}
        return self.kind, orjson.dumps(members, default=asdict), getattr(self, "body", b"")

    @classmethod
    def of_record(cls, members: dict[str, Any], body: bytes) -> Self:
        """The command of a record."""
        return cls(**members, **({"body": body} if "body" in {name.name for name in fields(cls)} else {}))


@dataclass(frozen=True, slots=True)
class DeclareStream(Command):
    """Declare a stream."""

    kind: ClassVar[str] = "declare-stream"
    iri: str
    options: StreamOptions

    @classmethod
    def of_record(cls, members: dict[str, Any], body: bytes) -> Self:
        """Options are an object of their own."""
        del body
        return cls(iri=members["iri"], options=StreamOptions(**members["options"]))


@dataclass(frozen=True, slots=True)
class DropStream(Command):
    """Delete a stream; with `cascade`, the queries that read it too; with `downstream`, those that read their output.

    Records of earlier versions have no `downstream`, and are replayed as they were applied.
    """

    kind: ClassVar[str] = "drop-stream"
    iri: str
    cascade: bool = False
    downstream: bool = False


@dataclass(frozen=True, slots=True)
class SetMapping(Command):
    """Set the mapping from rows to triples of a stream; None removes it."""

    kind: ClassVar[str] = "set-mapping"
    iri: str
    construct: str | None
    time_column: str = "t"


@dataclass(frozen=True, slots=True)
class Push(Command):
    """One body of events."""

    kind: ClassVar[str] = "push"
    iri: str
    body: bytes = field(repr=False)
    format: str
    at: int | None = None
    latest: int | None = None
    atomic: bool = True
    producer: Producer | None = None

    @classmethod
    def of_record(cls, members: dict[str, Any], body: bytes) -> Self:
        """The producer is an object of its own."""
        producer = members.pop("producer")
        return cls(body=body, producer=None if producer is None else Producer(**producer), **members)


# Stands for the parts of a commit whose staged bodies are missing.
MISSING_PARTS: tuple[tuple[str, int], ...] = (("missing", 0),)


@dataclass(frozen=True, slots=True)
class Commit(Command):
    """Turn staged bodies into events at once, in time order."""

    kind: ClassVar[str] = "commit"
    iri: str
    producer: str
    batch: int
    tokens: tuple[str, ...]
    watermark: int | None = None
    latest: int | None = None
    # The concatenated staged bodies, each as (format, length): filled in by the runtime.
    parts: tuple[tuple[str, int], ...] = ()
    body: bytes = field(default=b"", repr=False)

    def bodies(self) -> list[tuple[bytes, str]]:
        """The staged bodies with their formats."""
        cut, at = [], 0
        for form, length in self.parts:
            cut.append((self.body[at : at + length], form))
            at += length
        return cut


@dataclass(frozen=True, slots=True)
class Advance(Command):
    """Advance the watermark: no event before `t` will follow. A tick may be behind the watermark; a call may not."""

    kind: ClassVar[str] = "advance"
    iri: str
    t: int
    tick: bool = False


@dataclass(frozen=True, slots=True)
class CloseStream(Command):
    """Close a stream: no more events will follow."""

    kind: ClassVar[str] = "close-stream"
    iri: str


@dataclass(frozen=True, slots=True)
class ReopenStream(Command):
    """Accept events again on a closed stream; the queries that read it restart with empty windows."""

    kind: ClassVar[str] = "reopen-stream"
    iri: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class MarkIdle(Command):
    """Mark the stream idle: it does not hold other streams back until its next event."""

    kind: ClassVar[str] = "mark-idle"
    iri: str


@dataclass(frozen=True, slots=True)
class Register(Command):
    """Start a query under a name; with `guarded`, not if it would write a declared stream.

    Records of earlier versions have no `guarded`, and are replayed as they were applied.
    """

    kind: ClassVar[str] = "register"
    name: str
    text: str
    options: dict[str, Any]
    incarnation: str
    owner: str = ""
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Replace(Register):
    """Start a query under a name; a query of this name with another text or other options ends and keeps its owner."""

    kind: ClassVar[str] = "replace"


@dataclass(frozen=True, slots=True)
class Unregister(Command):
    """Delete a query; with `force`, even if other queries read its output, which then ends."""

    kind: ClassVar[str] = "unregister"
    name: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Stop a query and keep its text."""

    kind: ClassVar[str] = "pause"
    name: str


@dataclass(frozen=True, slots=True)
class Restart(Command):
    """Restart a query with empty windows and a new incarnation; `guarded` as in `Register`."""

    kind: ClassVar[str] = "restart"
    name: str
    incarnation: str
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class LoadGraph(Command):
    """Add a document to a static graph; None is the default graph."""

    kind: ClassVar[str] = "load-graph"
    graph: str | None
    body: bytes = field(repr=False)
    format: str


@dataclass(frozen=True, slots=True)
class ReplaceGraph(Command):
    """Make a static graph hold exactly a document."""

    kind: ClassVar[str] = "replace-graph"
    graph: str | None
    body: bytes = field(repr=False)
    format: str


@dataclass(frozen=True, slots=True)
class DropGraph(Command):
    """Delete a static graph."""

    kind: ClassVar[str] = "drop-graph"
    graph: str | None


@dataclass(frozen=True, slots=True)
class Update(Command):
    """SPARQL 1.1 Update of the static graphs; the graphs are the protocol's USING."""

    kind: ClassVar[str] = "update"
    text: str
    base_iri: str | None = None
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()


_KINDS: dict[str, type[Command]] = {
    command.kind: command
    for command in (
        DeclareStream,
        DropStream,
        SetMapping,
        Push,
        Commit,
        Advance,
        CloseStream,
        ReopenStream,
        MarkIdle,
        Register,
        Replace,
        Unregister,
        Pause,
        Restart,
        LoadGraph,
        ReplaceGraph,
        DropGraph,
        Update,
    )
}


def command_of(kind: str, members: bytes, body: bytes) -> Command:
    """The command that a record of the log holds."""
    if kind not in _KINDS:
        raise StoreError(
            f"the log has a command '{kind}' that this version does not know; use the server that wrote it"
        )
    return _KINDS[kind].of_record(orjson.loads(members), body)
