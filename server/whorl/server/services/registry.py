"""The registry adds, changes and deletes streams and queries for every caller: HTTP, WebSocket or a cascade.

Three rules hold for every caller: limits are kept (`streams_max`, `queries_max`, `registrations_per_minute`), the
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

    # ---- queries ----

    async def register(self, name: str | None, wanted: schemas.QueryRequest, caller: Principal) -> Registered:
        """Start a query under a name, or under a generated one. Repeating the call is harmless."""
        chosen = f"q-{secrets.token_hex(6)}" if name is None else free_name(name)
        return await self._register(chosen, wanted, caller, owner=caller.id)

    async def replace(self, name: str, wanted: schemas.QueryRequest, caller: Principal) -> Registered:
        """Replace the query of the same name; subscribers of the old one are told that it has ended.

        The new text is checked first, so that a mistake leaves the old query running.
        """
        try:
            return await self.register(name, wanted, caller)
        except errors.QueryExistsError:
            await self._check_replacement(wanted, caller)
        await self.unregister(name, caller)
        return await self.register(name, wanted, caller)

    async def _check_replacement(self, wanted: schemas.QueryRequest, caller: Principal) -> None:
        try:
            await self.validate(wanted, caller)
        except errors.EngineRefusal as refusal:
            # The output stream may belong to the very query that is being replaced.
            if refusal.error.code != "query.output_taken":
                raise

    async def register_unnamed(self, wanted: schemas.QueryRequest, caller: Principal) -> str:
        """Start a query that belongs to a connection; returns its name."""
        owner = _SESSION + caller.id
        found = await self._register(f"ws-{secrets.token_hex(8)}", wanted, caller, owner=owner)
        return found.document.id

    async def validate(self, wanted: schemas.QueryRequest, caller: Principal) -> dict[str, Any]:
        """What a query would be, without registering it."""
        self._admit(wanted, caller)
        return await self._runtime.read(lambda core: _validated(core, wanted))

    async def pause(self, name: str, caller: Principal) -> schemas.QueryDocument:
        """Stop a query and keep its text."""
        return await self._change(c.Pause(name), caller)

    async def restart(self, name: str, caller: Principal) -> schemas.QueryDocument:
        """Restart a query with empty windows and a new incarnation."""
        return await self._change(c.Restart(name, secrets.token_hex(8)), caller)

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

    async def _register(self, name: str, wanted: schemas.QueryRequest, caller: Principal, *, owner: str) -> Registered:
        self._admit(wanted, caller)
        document = self._document_of(name)
        found: Registered = await self._runtime.execute(
            c.Register(name, wanted.query, wanted.options(), secrets.token_hex(8), owner),
            check=lambda core: self._check_room_for_query(core, name),
            then=lambda core, reply: Registered(document(core), reply["created"]),
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

    def _admit(self, wanted: schemas.QueryRequest, caller: Principal) -> None:
        """Check the rate limit of the caller and the size of the text."""
        self._registrations.take(caller.id)
        limit = self._settings.query_bytes_max
        if len(wanted.query.encode("utf-8", "surrogatepass")) > limit:
            raise errors.BodyTooLargeError(f"the query is longer than {limit} bytes", limit=limit)
        if not wanted.query.strip():
            raise errors.EmptyQueryError("the query is empty")

    def _check_room_for_stream(self, core: Core, iri: str) -> None:
        if len(core.streams) >= self._settings.streams_max and iri not in core.streams:
            detail = f"the limit of {self._settings.streams_max} streams is reached"
            raise errors.TooManyStreamsError(detail, hint="delete unused streams")

    def _check_room_for_query(self, core: Core, name: str) -> None:
        if len(core.queries) >= self._settings.queries_max and name not in core.queries:
            detail = f"the limit of {self._settings.queries_max} queries is reached"
            raise errors.TooManyQueriesError(detail, hint="delete unused queries")


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


def _orphans(core: Core) -> list[str]:
    return [name for name, entry in core.queries.items() if entry.owner.startswith(_SESSION)]


def _validated(core: Core, wanted: schemas.QueryRequest) -> dict[str, Any]:
    with engine_refusals(wanted.query):
        text = core.engine.validate(wanted.query, **core.engine_keywords(wanted.options()))
    facts: dict[str, Any] = orjson.loads(text)
    core.check_streams(facts)
    facts["windows"] = descriptors.windows(facts)
    return facts
