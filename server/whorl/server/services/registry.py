"""The registry adds, changes and deletes streams and queries for every caller: HTTP, WebSocket or a cascade.

Three rules hold for every caller: limits are enforced (`streams_max`, `queries_max`, `registrations_per_minute`), the
request is valid, and only the owner of a query or an admin may change it. Limits and ownership are checked in the same
turn as the command, on the state that it changes: nothing happens in between, and a refusal leaves no trace. The checks
are not part of the command, because a replay must not depend on the current settings.

Each call is one turn through the queue of the engine.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from whorl.server import errors
from whorl.server.errors import engine_refusals
from whorl.server.runtime import commands as c
from whorl.server.services import descriptors
from whorl.server.services.buckets import Buckets
from whorl.server.services.names import checked_iri, free_name
from whorl.zones import offsets_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.server import schemas
    from whorl.server.runtime.core import Core, QueryEntry
    from whorl.server.runtime.runtime import Runtime
    from whorl.server.security import Principal
    from whorl.server.services.ingest import Ingest
    from whorl.server.services.rings import Rings
    from whorl.server.settings import Settings

# The owner of an unnamed query is a connection of a caller.
_SESSION = "session:"


class Declared(NamedTuple):
    """A declared stream, and whether it is new."""

    document: schemas.StreamDocument
    created: bool


class Mapping(NamedTuple):
    """How the rows of a stream become triples, and the column that has their time."""

    construct: str
    time_column: str


class Registered(NamedTuple):
    """A registered query, and whether it is new."""

    document: schemas.QueryDocument
    created: bool


class Registry:
    """Streams and queries, with the rules that hold for all callers; used on the event loop only."""

    def __init__(self, runtime: Runtime, rings: Rings, ingest: Ingest, settings: Settings) -> None:
        self._runtime = runtime
        self._rings = rings
        self._ingest = ingest
        self._settings = settings
        self._registrations = Buckets(settings.registrations_per_minute)

    # ---- streams ----

    async def declare(self, iri: str, wanted: schemas.StreamSettings) -> Declared:
        """Declare a stream. Repeating the call is harmless; other settings are refused."""
        if wanted.timestamp_predicate is not None:
            checked_iri(wanted.timestamp_predicate, "timestamp predicate")
        zone = wanted.assume_zone
        options = c.StreamOptions(
            wanted.timestamp_predicate,
            wanted.lateness,
            wanted.idle_timeout,
            wanted.retention,
            wanted.time,
            assume_zone=zone,
            zone_offsets=() if zone is None else offsets_of(zone),
        )

        def declared(core: Core, reply: Any) -> Declared:  # noqa: ANN401 - the reply of a command
            return Declared(descriptors.stream(core, iri, self._ingest), reply["created"])

        found: Declared = await self._runtime.execute(
            c.DeclareStream(iri, options), check=lambda core: self._check_room_for_stream(core, iri), then=declared
        )
        return found

    async def drop_stream(self, iri: str, caller: Principal, *, cascade: bool) -> None:
        """Delete a stream that no query reads; with `cascade`, also the queries downstream, if the caller may."""
        check = (lambda core: _check_owns_readers(core, iri, caller)) if cascade else None
        await self._runtime.execute(c.DropStream(iri, cascade, downstream=cascade), check=check)
        self._ingest.forget(iri)

    async def stream(self, iri: str) -> schemas.StreamDocument:
        """One stream."""
        return await self._runtime.read(lambda core: descriptors.stream(core, iri, self._ingest))

    async def streams(self) -> list[schemas.StreamDocument]:
        """All streams, by IRI."""
        return await self._runtime.read(lambda core: descriptors.streams(core, self._ingest))

    async def advance(self, iri: str, t: int) -> int | None:
        """Advance the watermark of a stream: no event before `t` will follow. Returns the watermark."""
        reply = await self._runtime.execute(c.Advance(iri, t))
        watermark: int | None = reply["watermark"]
        return watermark

    async def close_stream(self, iri: str) -> None:
        """End a stream: its open windows report, and it no longer holds queries back."""
        await self._runtime.execute(c.CloseStream(iri))

    async def reopen_stream(self, iri: str, caller: Principal) -> list[str]:
        """Let a closed stream accept events again; returns the queries that read it, which restart.

        The caller must be allowed to restart each of them.
        """
        reply = await self._runtime.execute(
            c.ReopenStream(iri, secrets.token_hex(6)), check=lambda core: _check_owns_running(core, iri, caller)
        )
        restarted: list[str] = reply["queries"]
        return restarted

    async def set_mapping(self, iri: str, construct: str, time_column: str) -> bool:
        """Set the mapping from rows to triples of a stream; returns whether it had none before."""
        reply = await self._runtime.execute(c.SetMapping(iri, construct, time_column))
        created: bool = reply["created"]
        return created

    async def remove_mapping(self, iri: str) -> None:
        """Remove the mapping of a stream."""
        await self._runtime.execute(c.SetMapping(iri, None))

    async def mapping(self, iri: str) -> Mapping:
        """The mapping of a stream."""
        entry = await self._runtime.read(lambda core: core.stream(iri))
        if entry.mapping is None:
            raise errors.UnknownMappingError(f"stream <{iri}> has no mapping")
        return Mapping(entry.mapping, entry.time_column)

    # ---- queries ----

    async def register(self, name: str | None, wanted: schemas.QueryRequest, caller: Principal) -> Registered:
        """Start a query under a name, or under a generated one. Repeating the call is harmless."""
        chosen = f"q-{secrets.token_hex(6)}" if name is None else free_name(name)
        return await self._start(_command(c.Register, chosen, wanted, caller.id), caller)

    async def replace(self, name: str, wanted: schemas.QueryRequest, caller: Principal) -> Registered:
        """Start a query under a name; a query of this name with another text or other options ends.

        A refusal leaves the old query running. Subscribers continue with the results of the new one, after a gap.
        """
        return await self._start(_command(c.Replace, free_name(name), wanted, caller.id), caller)

    async def register_unnamed(self, wanted: schemas.QueryRequest, caller: Principal) -> str:
        """Start a query that belongs to a connection; returns its name."""
        command = _command(c.Register, f"{errors.UNNAMED_PREFIX}{secrets.token_hex(8)}", wanted, _SESSION + caller.id)
        found = await self._start(command, caller)
        return found.document.id

    async def validate(self, wanted: schemas.QueryRequest, caller: Principal) -> dict[str, Any]:
        """The description of a query, without registering it."""
        self._admit(wanted.query, caller)
        return await self._runtime.read(lambda core: _validated(core, wanted))

    async def pause(self, name: str, caller: Principal) -> schemas.QueryDocument:
        """Stop a query and keep its text."""
        return await self._change(c.Pause(name), caller)

    async def restart(self, name: str, caller: Principal) -> schemas.QueryDocument:
        """Restart a query with empty windows and a new incarnation."""
        return await self._change(c.Restart(name, secrets.token_hex(8), guarded=True), caller)

    async def unregister(self, name: str, caller: Principal) -> None:
        """Delete a query."""
        await self._runtime.execute(c.Unregister(name), check=lambda core: _check_owns(core, name, caller))

    async def drop_unnamed(self, name: str) -> None:
        """Delete a query whose connection has ended, even if other queries read its output."""
        await self._runtime.execute(c.Unregister(name, force=True))

    async def drop_orphans(self) -> None:
        """Delete the queries of connections, none of which survives a restart."""
        for name in await self._runtime.read(_orphans):
            await self.drop_unnamed(name)

    async def query(self, name: str) -> schemas.QueryDocument:
        """One query."""
        subscribers = self._rings.subscribers()
        return await self._runtime.read(lambda core: descriptors.query(core, name, subscribers))

    async def queries(self) -> list[schemas.QueryDocument]:
        """All queries, by name."""
        subscribers = self._rings.subscribers()
        return await self._runtime.read(lambda core: descriptors.queries(core, subscribers))

    # ---- parts ----

    async def _start(self, command: c.Register, caller: Principal) -> Registered:
        self._admit(command.text, caller)
        name, document = command.name, self._document_of(command.name)

        def check(core: Core) -> None:
            self._check_room_for_query(core, name)
            if isinstance(command, c.Replace) and name in core.queries:
                _check_owns(core, name, caller)

        found: Registered = await self._runtime.execute(
            command, check=check, then=lambda core, reply: Registered(document(core), reply["created"])
        )
        return found

    async def _change(self, command: c.Pause | c.Restart, caller: Principal) -> schemas.QueryDocument:
        name, document = command.name, self._document_of(command.name)
        found: schemas.QueryDocument = await self._runtime.execute(
            command, check=lambda core: _check_owns(core, name, caller), then=lambda core, _: document(core)
        )
        return found

    def _document_of(self, name: str) -> Callable[[Core], schemas.QueryDocument]:
        # Rings belong to the event loop: count their readers before the turn begins.
        subscribers = self._rings.subscribers()
        return lambda core: descriptors.query(core, name, subscribers)

    def _admit(self, text: str, caller: Principal) -> None:
        """Check the rate limit of the caller and the size of the text."""
        self._registrations.take(caller.id)
        limit = self._settings.query_bytes_max
        if len(text.encode("utf-8", "surrogatepass")) > limit:
            raise errors.BodyTooLargeError(f"the query is longer than {limit} bytes", limit=limit)
        if not text.strip():
            raise errors.EmptyQueryError("the query is empty")

    def _check_room_for_stream(self, core: Core, iri: str) -> None:
        if len(core.streams) >= self._settings.streams_max and iri not in core.streams:
            detail = f"the limit of {self._settings.streams_max} streams is reached"
            raise errors.TooManyStreamsError(detail, hint="delete unused streams")

    def _check_room_for_query(self, core: Core, name: str) -> None:
        if len(core.queries) >= self._settings.queries_max and name not in core.queries:
            detail = f"the limit of {self._settings.queries_max} queries is reached"
            raise errors.TooManyQueriesError(detail, hint="delete unused queries")


def _command(kind: type[c.Register], name: str, wanted: schemas.QueryRequest, owner: str) -> c.Register:
    return kind(name, wanted.query, wanted.options(), secrets.token_hex(8), owner, guarded=True)


def _owns(caller: Principal, entry: QueryEntry) -> bool:
    """Whoever registered a query may change it, over any connection; an admin may change all."""
    # Queries of the first versions have no owner.
    return entry.owner.removeprefix(_SESSION) in {caller.id, ""} or caller.may("admin")


def _check_owns(core: Core, name: str, caller: Principal) -> None:
    if not _owns(caller, core.query(name)):
        raise errors.ForbiddenError(f"query '{name}' was registered with another token", hint="use that token")


def _check_owns_readers(core: Core, iri: str, caller: Principal) -> None:
    """A cascade deletes all queries downstream or none: the caller must be allowed to delete each of them."""
    core.stream(iri)
    foreign = [name for name in core.readers_below(iri) if not _owns(caller, core.queries[name])]
    if foreign:
        detail = f"queries that depend on stream <{iri}> were registered with other tokens: {', '.join(foreign)}"
        raise errors.ForbiddenError(detail, hint="ask their owners or an admin", queries=foreign)


def _check_owns_running(core: Core, iri: str, caller: Principal) -> None:
    """Reopening a closed stream restarts the queries that read it: the caller must be allowed to restart each."""
    if not core.stream(iri).closed:
        return
    running = [name for name in core.readers_of(iri) if core.queries[name].number is not None]
    foreign = [name for name in running if not _owns(caller, core.queries[name])]
    if foreign:
        detail = f"reopening stream <{iri}> would restart queries of other tokens: {', '.join(foreign)}"
        raise errors.ForbiddenError(detail, hint="ask their owners or an admin", queries=foreign)


def _orphans(core: Core) -> list[str]:
    return [name for name, entry in core.queries.items() if entry.owner.startswith(_SESSION)]


def _validated(core: Core, wanted: schemas.QueryRequest) -> dict[str, Any]:
    with engine_refusals(wanted.query):
        text = core.engine.validate(wanted.query, **core.engine_keywords(wanted.options()))
    facts: dict[str, Any] = orjson.loads(text)
    core.check_streams(facts)
    facts["windows"] = descriptors.windows(facts)
    return facts
