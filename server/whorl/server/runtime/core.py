"""The state of the server: the engine, and the catalogue of streams, queries and producers.

Commands come in, one at a time and in the order of the log; replies and results go out. There are no clock, no threads,
no files and no randomness here: the same commands give the same state, replies and envelopes. Recovery relies on that.
"""

from __future__ import annotations

import functools
import struct
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from whorl import _engine
from whorl.documents import EPOCH_SECONDS, shown_instant
from whorl.errors import QueryFailedError, UnknownStreamError
from whorl.options import NAMES_BY_JSON
from whorl.server import errors
from whorl.server.errors import EngineRefusal, engine_refusals
from whorl.server.runtime import commands as c
from whorl.server.runtime.effects import Failed, Published
from whorl.server.store.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Reply = dict[str, Any]

# The server serves current results and window contents; a query that needs neither can opt out.
_SERVED = {"keepAnswer": True, "keepWindows": True}
# How many producers and committers are remembered. A constant, because a replay must forget the same ones.
_PRODUCERS_MAX = 50_000
_HEADER = struct.Struct("<8sI")
_MAGIC = b"WHORLCO1"


@dataclass(slots=True)
class StreamEntry:
    """A stream of the catalogue."""

    iri: str
    options: c.StreamOptions
    mapping: str | None = None
    time_column: str = "t"
    closed: bool = False


@dataclass(slots=True)
class QueryEntry:
    """A query of the catalogue, whether it runs or not."""

    name: str
    text: str
    options: dict[str, Any]
    incarnation: str
    owner: str
    number: int | None
    status: str = "running"
    # Message, code and hint of the engine, when the query has failed.
    failure: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    last_seq: int = 0
    results: int = 0
    last_result_at: int | None = None

    def refusal(self) -> EngineRefusal | None:
        """Why the query has failed."""
        return None if self.failure is None else EngineRefusal(QueryFailedError(**self.failure))


@dataclass(slots=True)
class Sequence:
    """The last sequence number of a producer."""

    epoch: int
    seq: int
    events: int


class Core:
    """Engine and catalogue. Not thread-safe: one thread owns it."""

    def __init__(self, engine_options: Mapping[str, Any]) -> None:
        self._engine_options = dict(engine_options)
        self.engine = _engine.Engine(**self._engine_options)
        self.streams: dict[str, StreamEntry] = {}
        self.queries: dict[str, QueryEntry] = {}
        self.producers: dict[tuple[str, str], Sequence] = {}
        self.offset = 0
        self._names: dict[int, str] = {}
        self._zones: dict[str, _engine.AssumedZone] = {}
        # Not drained yet.
        self._failed_at_start: list[Published | Failed] = []

    # ---- commands ----

    def apply(self, command: c.Command) -> Reply | None:
        """Apply a command. A `DomainError` means that nothing has changed."""
        with engine_refusals(getattr(command, "text", None) or getattr(command, "construct", None)):
            reply = self._apply(command)
        self.offset += 1
        return reply

    @functools.singledispatchmethod
    def _apply(self, command: c.Command) -> Reply | None:
        raise TypeError(f"unknown command: {type(command).__name__}")

    @_apply.register
    def _(self, command: c.DeclareStream) -> Reply:
        known = self.streams.get(command.iri)
        if known is not None:
            if known.options != command.options:
                detail = f"stream <{command.iri}> already exists with different settings"
                settings = {name: value for name, value in asdict(known.options).items() if name != "zone_offsets"}
                raise errors.StreamExistsError(detail, settings=settings)
            return {"created": False}
        self._check_not_output(command.iri)
        self._declare(command.iri, command.options)
        self.streams[command.iri] = StreamEntry(command.iri, command.options)
        return {"created": True}

    @_apply.register
    def _(self, command: c.DropStream) -> Reply:
        self.stream(command.iri)
        readers = self.readers_below(command.iri) if command.downstream else self.readers_of(command.iri)
        if readers and not command.cascade:
            detail = f"stream <{command.iri}> is read by {', '.join(readers)}"
            raise errors.StreamInUseError(detail, hint="delete these queries first, or set ?cascade=true")
        for name in readers:
            self._remove_query(name)
        self.engine.drop_stream(command.iri)
        del self.streams[command.iri]
        self._zones.pop(command.iri, None)
        for key in [key for key in self.producers if key[0] == command.iri]:
            del self.producers[key]
        return {"queries": readers}

    @_apply.register
    def _(self, command: c.SetMapping) -> Reply:
        entry = self.stream(command.iri)
        created = entry.mapping is None
        self.engine.set_mapping(command.iri, command.construct, time_column=command.time_column)
        entry.mapping, entry.time_column = command.construct, command.time_column
        return {"created": created}

    @_apply.register
    def _(self, command: c.Push) -> Reply:
        self._check_open(self.stream(command.iri))
        if command.producer is not None:
            repeated = self._repeated(command.iri, command.producer)
            if repeated is not None:
                return self._ingested(command.iri, {"accepted": 0, "late": 0, "ahead": 0}, repeated)
        report = self.engine.push(
            command.iri,
            command.at,
            command.body,
            command.format,
            latest=command.latest,
            atomic=command.atomic,
            zone=self._zones.get(command.iri),
        )
        if command.producer is not None:
            place = command.producer
            self._remember((command.iri, place.id), Sequence(place.epoch, place.seq, report["events"]))
        return self._ingested(command.iri, report, at=command.at)

    @_apply.register
    def _(self, command: c.Commit) -> Reply:
        self._check_open(self.stream(command.iri))
        key = (command.iri, "commit " + command.producer)
        last = self.producers.get(key)
        if last is not None and command.batch <= last.seq:
            events = last.events if command.batch == last.seq else 0
            nothing = {"accepted": 0, "late": 0, "ahead": 0}
            return {**self._ingested(command.iri, nothing, max(events, 1)), "batch": last.seq}
        if command.parts == c.MISSING_PARTS:
            detail = "no staged body of this stream has this token; it may have expired"
            raise errors.UnknownStageError(detail, hint="stage the bodies of the batch again")
        report = self.engine.push_bodies(
            command.iri, command.bodies(), latest=command.latest, zone=self._zones.get(command.iri)
        )
        if command.watermark is not None:
            self._advance(command.iri, command.watermark, is_tick=True)
        self._remember(key, Sequence(0, command.batch, report["events"]))
        return {**self._ingested(command.iri, report), "batch": command.batch}

    @_apply.register
    def _(self, command: c.Advance) -> Reply:
        self.stream(command.iri)
        self._advance(command.iri, command.t, is_tick=command.tick)
        return {"watermark": shown_instant(self.engine.watermark(command.iri))}

    @_apply.register
    def _(self, command: c.CloseStream) -> Reply:
        entry = self.stream(command.iri)
        self.engine.close_stream(command.iri)
        entry.closed = True
        return {"closed": True}

    @_apply.register
    def _(self, command: c.ReopenStream) -> Reply:
        entry = self.stream(command.iri)
        if not entry.closed:
            return {"closed": False, "queries": []}
        readers = [self.queries[name] for name in self.readers_of(command.iri)]
        running = [reader for reader in readers if reader.number is not None]
        for reader in running:
            self._check_output_unread(reader)
        for reader in running:
            self._stop(reader, "paused")
        # The time of a closed stream cannot go back, so a new stream replaces it.
        self.engine.drop_stream(command.iri)
        self._declare(command.iri, entry.options)
        if entry.mapping is not None:
            self.engine.set_mapping(command.iri, entry.mapping, time_column=entry.time_column)
        entry.closed = False
        for at, reader in enumerate(running):
            fresh = _restarted(reader, f"{command.incarnation}{at:04x}")
            self.queries[reader.name] = fresh
            self._start_or_fail(fresh)
        return {"closed": False, "queries": [reader.name for reader in running]}

    @_apply.register
    def _(self, command: c.MarkIdle) -> None:
        self.stream(command.iri)
        self.engine.mark_idle(command.iri)

    @_apply.register
    def _(self, command: c.Register) -> Reply:
        known = self.queries.get(command.name)
        if known is not None:
            if (known.text, known.options) != (command.text, command.options):
                detail = f"query '{command.name}' exists with another text or other options"
                raise errors.QueryExistsError(detail, hint="delete it first, or choose another name")
            return {"created": False}
        entry = QueryEntry(command.name, command.text, command.options, command.incarnation, command.owner, None)
        self._start(entry, guarded=command.guarded)
        self.queries[command.name] = entry
        return {"created": True}

    @_apply.register
    def _(self, command: c.Replace) -> Reply:
        known = self.queries.get(command.name)
        if known is not None and (known.text, known.options) == (command.text, command.options):
            return {"created": False, "replaced": False}
        owner = command.owner if known is None else known.owner
        entry = QueryEntry(command.name, command.text, command.options, command.incarnation, owner, None)
        if known is not None:
            self._check_output_unread(known)
        # Nothing changes before the engine has accepted the new query.
        self._start(entry, replaced=known, guarded=command.guarded)
        self.queries[command.name] = entry
        return {"created": known is None, "replaced": known is not None}

    @_apply.register
    def _(self, command: c.Unregister) -> None:
        entry = self.query(command.name)
        if not command.force:
            self._check_output_unread(entry)
        self._remove_query(command.name)

    @_apply.register
    def _(self, command: c.Pause) -> None:
        entry = self.query(command.name)
        if entry.status != "running":
            raise errors.QueryNotRunningError(f"query '{command.name}' is {entry.status}")
        self._check_output_unread(entry)
        self._stop(entry, "paused")

    @_apply.register
    def _(self, command: c.Restart) -> None:
        entry = self.query(command.name)
        if entry.number is not None:
            self._check_output_unread(entry)
        fresh = _restarted(entry, command.incarnation)
        # Nothing changes before the engine has accepted it.
        self._start(fresh, replaced=entry, guarded=command.guarded)
        self.queries[command.name] = fresh

    @_apply.register
    def _(self, command: c.LoadGraph) -> Reply:
        created = not self._has_graph(command.graph)
        inserted = self.engine.load(command.graph, command.body, command.format)
        return {"created": created, "inserted": inserted, "deleted": 0}

    @_apply.register
    def _(self, command: c.ReplaceGraph) -> Reply:
        created = not self._has_graph(command.graph)
        inserted, deleted = self.engine.replace_graph(command.graph, command.body, command.format)
        return {"created": created, "inserted": inserted, "deleted": deleted}

    @_apply.register
    def _(self, command: c.DropGraph) -> Reply:
        inserted, deleted = self.engine.drop_graph(command.graph)
        return {"created": False, "inserted": inserted, "deleted": deleted}

    @_apply.register
    def _(self, command: c.Update) -> Reply:
        inserted, deleted = self.engine.update(
            command.text,
            command.base_iri,
            default_graphs=list(command.default_graphs),
            named_graphs=list(command.named_graphs),
        )
        return {"created": False, "inserted": inserted, "deleted": deleted}

    # ---- results ----

    def drain(self) -> list[Published | Failed]:
        """The results emitted since the last call; failed queries are removed from the engine."""
        drained: list[Published | Failed] = self._failed_at_start
        self._failed_at_start = []
        # A failed query delivers the results before its failure, then the failure.
        while numbers := self.engine.waiting():
            drained.extend(self._drain_one(self.queries[self._names[number]], number) for number in numbers)
        return drained

    def _drain_one(self, entry: QueryEntry, number: int) -> Published | Failed:
        try:
            envelopes = self.engine.drain_envelopes(number, entry.name, entry.incarnation)
        except QueryFailedError as error:
            return self._failed(entry, error)
        entry.last_seq, entry.last_result_at = envelopes[-1][0], envelopes[-1][1]
        entry.results += len(envelopes)
        return Published(entry.name, entry.incarnation, envelopes)

    def _failed(self, entry: QueryEntry, error: QueryFailedError) -> Failed:
        self._stop(entry, "failed")
        entry.failure = {"message": error.message, "code": error.code, "hint": error.hint}
        return Failed(entry.name, EngineRefusal(error))

    # ---- look-ups ----

    def stream(self, iri: str) -> StreamEntry:
        """A stream by its IRI."""
        entry = self.streams.get(iri)
        if entry is None:
            raise errors.UnknownStreamError(f"stream <{iri}> does not exist", hint=self._declared(iri, self.streams))
        return entry

    def query(self, name: str) -> QueryEntry:
        """A query by its name."""
        entry = self.queries.get(name)
        if entry is None:
            raise errors.unknown_query(name, self.queries)
        return entry

    def running(self, name: str) -> tuple[QueryEntry, int]:
        """A running query, and its number in the engine."""
        entry = self.query(name)
        if entry.number is None:
            detail = f"query '{name}' is {entry.status}"
            raise errors.QueryNotRunningError(detail, hint="restart it", problem=entry.refusal())
        return entry, entry.number

    def readers_of(self, iri: str) -> list[str]:
        """The names of the queries that read a stream."""
        return [name for name, entry in self.queries.items() if iri in entry.facts.get("streams", ())]

    def readers_below(self, iri: str) -> list[str]:
        """The queries that read a stream, or what such queries write, and so on; nearest first."""
        found = self.readers_of(iri)
        # The list grows during the loop.
        for name in found:
            output = self.queries[name].facts.get("output")
            further = () if output is None else self.readers_of(output)
            found.extend(reader for reader in further if reader not in found)
        return found

    def outputs(self) -> dict[str, str]:
        """Streams that queries write, and which query does."""
        running = [entry for entry in self.queries.values() if entry.number is not None]
        return {entry.facts["output"]: entry.name for entry in running if entry.facts.get("output") is not None}

    def engine_keywords(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a query as keyword arguments of the engine."""
        unknown = sorted(set(options) - set(NAMES_BY_JSON))
        if unknown:
            known = ", ".join(NAMES_BY_JSON)
            raise errors.UnknownOptionError(f"option '{unknown[0]}' does not exist", hint=f"known options: {known}")
        chosen = _SERVED | {name: value for name, value in options.items() if value is not None}
        return {NAMES_BY_JSON[name]: value for name, value in chosen.items()}

    def check_streams(self, facts: Mapping[str, Any]) -> None:
        """Check that a query reads only declared streams and outputs of other queries, and writes no declared one."""
        known = self._readable()
        if facts.get("output") in self.streams:
            detail = f"stream <{facts['output']}> is declared, so no query may write it"
            raise errors.OutputDeclaredError(detail, hint="register this query under another name")
        for iri in facts["streams"]:
            if iri not in known and iri != facts.get("output"):
                raise self._undeclared(iri)

    # ---- snapshots ----

    def snapshot(self) -> bytes:
        """The whole state, as bytes."""
        catalogue = orjson.dumps(
            {
                "offset": self.offset,
                "streams": [asdict(entry) for entry in self.streams.values()],
                "queries": [asdict(entry) for entry in self.queries.values()],
                "producers": [[*key, asdict(value)] for key, value in self.producers.items()],
            }
        )
        return _HEADER.pack(_MAGIC, len(catalogue)) + catalogue + self.engine.snapshot()

    @classmethod
    def restored(cls, data: bytes, engine_options: Mapping[str, Any]) -> Core:
        """The state that `snapshot` wrote."""
        core = cls(engine_options)
        try:
            magic, length = _HEADER.unpack_from(data)
            if magic != _MAGIC:
                raise StoreError("the snapshot was written by another version; use the server that wrote it")
            at = _HEADER.size
            core._take_catalogue(orjson.loads(data[at : at + length]))
        except (struct.error, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"the catalogue in the snapshot is damaged ({type(error).__name__}: {error})") from error
        core.engine = _engine.Engine.restore(data[at + length :], **core._engine_options)
        for entry in core.streams.values():
            core._assume_zone(entry.iri, entry.options)
        return core

    def _take_catalogue(self, catalogue: dict[str, Any]) -> None:
        self.offset = catalogue["offset"]
        for stream in catalogue["streams"]:
            options = c.StreamOptions(**stream.pop("options"))
            self.streams[stream["iri"]] = StreamEntry(options=options, **stream)
        for query in catalogue["queries"]:
            entry = _query_entry(query)
            self.queries[entry.name] = entry
            if entry.number is not None:
                self._names[entry.number] = entry.name
        for stream, producer, sequence in catalogue["producers"]:
            self.producers[stream, producer] = Sequence(**sequence)

    # ---- parts of commands ----

    def _start(self, entry: QueryEntry, *, replaced: QueryEntry | None = None, guarded: bool = True) -> None:
        """Start a query; if it is accepted, the one that it replaces ends."""
        keywords = self.engine_keywords(entry.options)
        old, known = None, self._readable()
        if replaced is not None and replaced.number is not None:
            # A query cannot read the output of the one that it replaces.
            old, known = replaced.number, known - {replaced.facts.get("output")}
        # What an earlier version accepted reads declared streams, and may write them.
        streams = list(known) if guarded else None
        try:
            number = self.engine.register(entry.text, known_streams=streams, replaces=old, **keywords)
        except UnknownStreamError as error:
            raise self._undeclared(str(error.stream)) from None
        if old is not None:
            del self._names[old]
        entry.number = number
        entry.facts = orjson.loads(self.engine.describe(number))
        self._names[number] = entry.name

    def _start_or_fail(self, entry: QueryEntry) -> None:
        """Start a query whose command is not refused because of it: if it fails as it starts, it has failed."""
        try:
            self._start(entry, guarded=False)
        except QueryFailedError as error:
            self._failed_at_start.append(self._failed(entry, error))

    def _check_output_unread(self, entry: QueryEntry) -> None:
        readers = self._readers_of_output(entry)
        if readers:
            detail = f"the output of '{entry.name}' is read by {', '.join(readers)}"
            raise errors.OutputInUseError(detail, hint="delete these queries first")

    def _declare(self, iri: str, options: c.StreamOptions) -> None:
        self.engine.declare_stream(
            iri,
            lateness_ms=options.lateness_ms,
            idle_timeout_ms=options.idle_timeout_ms,
            timestamp_predicate=options.timestamp_predicate,
        )
        self._assume_zone(iri, options)

    def _assume_zone(self, iri: str, options: c.StreamOptions) -> None:
        if options.zone_offsets:
            self._zones[iri] = _engine.AssumedZone([(local, offset) for local, offset in options.zone_offsets])

    def _readable(self) -> set[str]:
        return self.streams.keys() | self.outputs().keys()

    def _undeclared(self, iri: str) -> errors.DomainError:
        hint = self._declared(iri, self._readable())
        return errors.UndeclaredStreamError(f"stream <{iri}> does not exist", hint=hint, stream=iri)

    @staticmethod
    def _declared(iri: str, known: Collection[str]) -> str:
        """The streams that may have been meant; where there is none, how to declare one."""
        return errors.known_streams(iri, known) if known else f"declare it with PUT /streams/{iri}"

    def _stop(self, entry: QueryEntry, status: str) -> None:
        if entry.number is not None:
            self.engine.unregister(entry.number)
            del self._names[entry.number]
        entry.number, entry.status = None, status

    def _remove_query(self, name: str) -> None:
        self._stop(self.query(name), "deleted")
        del self.queries[name]

    def _readers_of_output(self, entry: QueryEntry) -> list[str]:
        output = entry.facts.get("output")
        return [] if output is None else [name for name in self.readers_of(output) if name != entry.name]

    def _check_not_output(self, iri: str) -> None:
        writer = self.outputs().get(iri)
        if writer is not None:
            raise errors.StreamIsOutputError(f"stream <{iri}> is written by query '{writer}'")

    def _check_open(self, entry: StreamEntry) -> None:
        if entry.closed:
            raise errors.StreamClosedError(
                f"stream <{entry.iri}> is closed", hint="POST /streams/{iri}/reopen reopens it"
            )

    def _advance(self, iri: str, t: int, *, is_tick: bool) -> None:
        watermark = self.engine.watermark(iri)
        if is_tick and watermark is not None and t <= watermark:
            return
        self.engine.advance_to(t, iri)

    def _remember(self, key: tuple[str, str], sequence: Sequence) -> None:
        """The state of a producer; beyond the limit, the one that has been silent for longest is forgotten."""
        self.producers.pop(key, None)
        self.producers[key] = sequence
        if len(self.producers) > _PRODUCERS_MAX:
            del self.producers[next(iter(self.producers))]

    def _repeated(self, iri: str, place: c.Producer) -> int | None:
        """The number of events of a repeated body; None if it is new. A producer must not skip numbers or go back."""
        last = self.producers.get((iri, place.id))
        if last is None or place.epoch > last.epoch:
            return None
        if place.epoch < last.epoch:
            detail = f"producer '{place.id}' is now at epoch {last.epoch}, not {place.epoch}"
            raise errors.ProducerFencedError(detail, epoch=last.epoch)
        if place.seq > last.seq + 1:
            detail = f"producer '{place.id}' skipped from sequence number {last.seq} to {place.seq}"
            raise errors.ProducerGapError(detail, expected=last.seq + 1)
        if place.seq == last.seq + 1:
            return None
        return last.events if place.seq == last.seq else 1

    def _ingested(self, iri: str, report: Mapping[str, Any], duplicates: int = 0, at: int | None = None) -> Reply:
        counts = {name: report[name] for name in ("accepted", "late", "ahead")}
        refused = {"refused": report["refused"]} if report.get("refused") else {}
        watermark = shown_instant(self.engine.watermark(iri))
        reply = {**counts, "duplicates": duplicates, "offset": self.offset + 1, "watermark": watermark, **refused}
        # The watermark does not show the time of a late event.
        for what, t in (("watermark", watermark), ("time", at)):
            # `None in range(…)` would iterate over the whole range.
            if t is not None and t in EPOCH_SECONDS:
                return {**reply, "warning": _seconds_warning(what, t)}
        return reply

    def _has_graph(self, graph: str | None) -> bool:
        return graph is None or any(name == graph for name, _ in self.engine.graphs())


def _seconds_warning(what: str, t: int) -> str:
    return f"the {what} {t} looks like a number of seconds; times are milliseconds since 1970"


def _restarted(entry: QueryEntry, incarnation: str) -> QueryEntry:
    """The same query before its first result."""
    return replace(
        entry,
        incarnation=incarnation,
        number=None,
        status="running",
        failure=None,
        last_seq=0,
        results=0,
        last_result_at=None,
    )


def _query_entry(members: dict[str, Any]) -> QueryEntry:
    # Earlier snapshots hold the whole problem document of a query that has failed.
    problem = members.pop("problem", None)
    if problem is not None:
        members["failure"] = {
            "message": problem["detail"],
            "code": problem.get("code", ""),
            "hint": problem.get("hint"),
        }
    return QueryEntry(**members)
