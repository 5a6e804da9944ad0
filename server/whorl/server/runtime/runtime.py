"""The runtime: a thread that owns the state, a thread that owns the log, and the event loop in front of them.

    execute(command) ─► queue ─► worker: apply, drain ─► committer: one commit, synced ─► event loop: results, replies

Results and replies leave only after they are on the disk. Refused commands are not logged. While the committer syncs
one batch, the worker applies the next; at most two batches are in flight. Where nothing waits, the worker commits its
batch itself: waking another thread costs more than the rest of a small command.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import secrets
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

from whorl.engine import GUARDED_LIMITS
from whorl.errors import EnginePanicError
from whorl.server import errors
from whorl.server.errors import DomainError, engine_refusals
from whorl.server.runtime import commands as c
from whorl.server.runtime import effects as fx
from whorl.server.runtime.core import Core
from whorl.server.runtime.counters import Counters
from whorl.server.runtime.growth import Growth
from whorl.server.store.backup import write_backup
from whorl.server.store.store import OutcomeUnknownError, Record, Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.server.runtime.effects import Effect, Rings
    from whorl.server.settings import Settings

T = TypeVar("T")
State = Literal["starting", "ready", "stopping", "failed"]

_log = logging.getLogger("whorl.runtime")
# The maximum size of a batch, so that a flood does not delay its first commands.
_BATCH_BYTES = 4 * 1024 * 1024
_BATCHES_UNDER_WAY = 2
_REPLAY_SHOW_EVERY = 256
# The size of a read in the queue.
_QUESTION_BYTES = 512


@dataclass(slots=True)
class _Job:
    """A job for the worker: a command to log, or a read."""

    work: c.Command | Callable[[Core], Any]
    size_bytes: int
    ack: str = "synced"
    # May refuse the command, given the state just before it.
    check: Callable[[Core], None] | None = None
    # Computes the return value from the reply and the state just after the command.
    then: Callable[[Core, Any], Any] | None = None
    future: asyncio.Future[Any] = field(init=False)
    reply: Any = None
    problem: BaseException | None = None


@dataclass(slots=True)
class _Batch:
    """What one round of the worker passes to the committer and the event loop."""

    jobs: list[_Job]
    records: list[Record] = field(default_factory=list)
    spent_stages: list[str] = field(default_factory=list)
    # Effects for the rings, in order.
    effects: list[Effect] = field(default_factory=list)
    snapshot: tuple[int, bytes, dict[str, int]] | None = None


class Runtime:
    """The engine and its log behind an asynchronous front."""

    def __init__(self, settings: Settings, rings: Rings) -> None:
        self.settings = settings
        self.rings = rings
        self.state: State = "starting"
        self.failure: str | None = None
        self.metrics = Counters()
        self.queue_bytes = 0
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._batches: queue.Queue[_Batch | None] = queue.Queue(maxsize=_BATCHES_UNDER_WAY)
        self._threads: list[threading.Thread] = []
        # Batches that the worker handed to the committer, and those of them that it has finished; each has one writer.
        self._handed_on = 0
        self._finished = 0
        # Whether a caller has wanted a reply from memory.
        self._replies_early = False
        # The last record whose effects have reached the rings.
        self._shown_offset = 0
        self._rebuilding: asyncio.Task[None] | None = None
        self._growth = Growth(settings)
        # Each backup takes disk space: one at a time.
        self._backing_up = asyncio.Lock()
        # The bodies of a commit are in memory before they are in the queue: those of one commit at a time.
        self._loading = asyncio.Lock()
        # Staged bodies that have become events, until the store has forgotten them.
        self._spent_stages: set[str] = set()

    # ---- life ----

    async def start(self) -> None:
        """Open the store and recover the state; then accept commands."""
        self._loop = asyncio.get_running_loop()
        accept_loss = self.settings.accept_loss
        await self._loop.run_in_executor(None, lambda: self._recover(accept_loss=accept_loss))
        self._start_threads()
        self.state = "ready"

    async def stop(self) -> None:
        """Finish the queued jobs, then close the store."""
        if self._rebuilding is not None:
            await self._rebuilding
        if self.state == "ready":
            self.state = "stopping"
            self._queue.put(None)
            for thread in self._threads:
                await self._loop.run_in_executor(None, thread.join)
            # Let the callbacks that the last batch scheduled on this loop run first.
            await asyncio.sleep(0)
        if self._rebuilding is not None:
            await self._rebuilding
        if hasattr(self, "_store"):
            self._store.close()

    def _start_threads(self) -> None:
        self._handed_on = self._finished = 0
        self._threads = [
            threading.Thread(target=self._work, name="whorl-engine", daemon=True),
            threading.Thread(target=self._commit, name="whorl-store", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def log_bytes(self) -> int:
        """How much the log has grown since the last snapshot."""
        return self._growth.log_bytes

    @property
    def store_bytes(self) -> int:
        """The size of the store on the disk."""
        return self._store.size_bytes()

    # ---- the front ----

    async def execute(
        self,
        command: c.Command,
        ack: str = "synced",
        *,
        check: Callable[[Core], None] | None = None,
        then: Callable[[Core, Any], Any] | None = None,
    ) -> Any:  # noqa: ANN401 - each command has its reply
        """Execute a command; the reply comes when it is durable, or with ack `memory` when it is applied.

        `check` and `then` run in the same turn of the worker as the command, but are neither logged nor replayed:
        `check` sees the state before and may refuse; `then` computes the return value from the reply and the state.
        """
        if not isinstance(command, c.Commit):
            return await self._submit(_Job(command, command.size_bytes, ack, check, then))
        async with self._loading:
            try:
                command = await self._loop.run_in_executor(None, self._with_bodies, command)
            except StoreError as error:
                _log.error("a staged body could not be read: %s", error)
                raise errors.StageDamagedError("a staged body could not be read; stage it again") from error
            submitted = self._submit(_Job(command, command.size_bytes, ack, check, then))
        return await submitted

    async def read(self, question: Callable[[Core], T]) -> T:
        """Read the state in a turn of the worker; what it sees is durable when this returns."""
        answer: T = await self._submit(_Job(question, _QUESTION_BYTES))
        return answer

    def stream_options(self, iri: str) -> c.StreamOptions | None:
        """The settings of a stream as the worker last left them: one look-up, without waiting."""
        entry = self._core.streams.get(iri)
        return None if entry is None else entry.options

    async def stage(self, iri: str, body: bytes, form: str) -> str:
        """Keep a body until a commit names its token."""
        await self.read(lambda core: core.stream(iri))
        try:
            return await self._loop.run_in_executor(None, self._staged, iri, body, form)
        except StoreError as error:
            _log.error("a body could not be staged: %s", error)
            raise (_outcome_unknown() if isinstance(error, OutcomeUnknownError) else _not_written()) from error

    def _staged(self, iri: str, body: bytes, form: str) -> str:
        if self._store.staged_bytes() + len(body) > self.settings.stage_bytes_max:
            raise errors.OverloadedError("too many staged bodies are waiting for a commit", retry_after_s=5)
        token = secrets.token_urlsafe(16)
        self._store.stage(token, iri, form, body, now_ms())
        return token

    async def backup(self) -> IO[bytes]:
        """A backup of what is durable now, as an unnamed file that disappears when it is closed."""
        # A read takes its turn in the queue, so everything acknowledged before this call is in the backup.
        await self.read(lambda core: core.offset)
        async with self._backing_up:
            try:
                return await self._loop.run_in_executor(None, self._backed_up)
            except (OSError, StoreError) as error:
                _log.error("a backup could not be made: %s", error)
                raise errors.BackupFailedError("the backup could not be made", retry_after_s=60) from error

    def _backed_up(self) -> IO[bytes]:
        file = tempfile.TemporaryFile(dir=self.settings.data_dir)  # noqa: SIM115 - the caller closes it
        try:
            write_backup(self._store, file)
        except BaseException:
            file.close()
            raise
        return file

    def expire_stages(self) -> None:
        """Delete staged bodies whose producer never committed them."""
        self._store.expire_stages(now_ms() - 1000 * self.settings.stage_expiry_s)

    def _with_bodies(self, command: c.Commit) -> c.Commit:
        sizes = self._store.staged_sizes(command.tokens, command.iri)
        # Before anything is read: a commit may name far more than there is room for.
        self._check_fits(command.size_bytes + sum(size or 0 for size in sizes))
        staged = [] if None in sizes else [self._store.staged(token, command.iri) for token in command.tokens]
        found = [body for body in staged if body is not None]
        if len(found) < len(sizes):
            # The batch may be a repetition whose bodies were committed before; the core will know.
            return replace(command, parts=c.MISSING_PARTS)
        parts = tuple((form, len(body)) for form, body in found)
        return replace(command, parts=parts, body=b"".join(body for _, body in found))

    def _check_fits(self, size_bytes: int) -> None:
        # Otherwise the caller would retry without end.
        limit = self.settings.queue_bytes_max
        if size_bytes > limit:
            detail = f"the staged bodies have {size_bytes} bytes, more than the queue's limit of {limit}"
            hint = "commit smaller batches, or raise WHORL_QUEUE_BYTES_MAX"
            raise errors.BodyTooLargeError(detail, hint=hint, limit=limit)
        self._check_room(size_bytes)

    def _check_room(self, size_bytes: int) -> None:
        full = self.queue_bytes + size_bytes > self.settings.queue_bytes_max
        if full or self._queue.qsize() >= self.settings.queue_commands_max:
            raise errors.OverloadedError("the server is overloaded: its command queue is full", retry_after_s=1)

    def _submit(self, job: _Job) -> asyncio.Future[Any]:
        """Queue a job; the future has its reply."""
        if self.state != "ready":
            detail = self.failure or f"the server is {self.state}"
            raise errors.NotReadyError(detail, retry_after_s=1)
        self._check_room(job.size_bytes)
        job.future = self._loop.create_future()
        self.queue_bytes += job.size_bytes
        self._queue.put(job)
        return job.future

    # ---- the worker ----

    def _work(self) -> None:
        jobs: list[_Job] = []
        try:
            is_over = False
            while not is_over:
                jobs, is_over = self._waiting_jobs()
                if jobs:
                    batch, jobs = self._applied(jobs), []
                    is_over = not self._passed_on(batch) or is_over
        except BaseException as error:  # noqa: BLE001 - panics of the engine are none of `Exception`
            # An error outside any command, or a panic in one: the state cannot be trusted, the log can.
            _log.exception("the engine's thread has failed")
            self._loop.call_soon_threadsafe(self._fail, _Batch(jobs), f"{type(error).__name__}: {error}")
        self._batches.put(None)

    def _passed_on(self, batch: _Batch) -> bool:
        """Commit a batch here if nothing else is waiting, otherwise hand it to the committer.

        A caller with ack `memory` must not wait for the disk behind other batches, and no caller for a snapshot.
        """
        self._replies_early |= any(job.ack == "memory" for job in batch.jobs)
        is_idle = self._handed_on == self._finished and self._queue.empty()
        if is_idle and not self._replies_early and batch.snapshot is None:
            return self._committed(batch)
        self._handed_on += 1
        self._batches.put(batch)
        return True

    def _waiting_jobs(self) -> tuple[list[_Job], bool]:
        """All queued jobs, at least one; and whether the runtime stops after them."""
        jobs: list[_Job] = []
        size_bytes = 0
        job = self._queue.get()
        while job is not None:
            jobs.append(job)
            size_bytes += job.size_bytes
            if size_bytes >= _BATCH_BYTES:
                return jobs, False
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _applied(self, jobs: list[_Job]) -> _Batch:
        batch = _Batch(jobs)
        began = time.perf_counter()
        for job in jobs:
            self._apply_one(job, batch)
        seconds = time.perf_counter() - began
        self.metrics.apply_seconds += seconds
        self.metrics.apply_durations.observe(seconds)
        self._growth.log_bytes += sum(len(record.body) + len(record.members) for record in batch.records)
        if self._growth.is_due:
            batch.snapshot = self._snapshot()
        return batch

    def _apply_one(self, job: _Job, batch: _Batch) -> None:
        with self._answering(job):
            if not isinstance(job.work, c.Command):
                job.reply = job.work(self._core)
                return
            if job.check is not None:
                job.check(self._core)
            job.work = self._with_unspent(job.work)
            with self._growth.applying():
                job.reply = self._core.apply(job.work)
        if job.problem is not None:
            return
        with self._growth.applying():
            self._note(job.work, job.reply, batch)
        if job.then is not None:
            # The command is applied and in the batch, even if computing its return value fails.
            with self._answering(job):
                job.reply = job.then(self._core, job.reply)
        if job.ack == "memory":
            self._loop.call_soon_threadsafe(_answer, job)

    def _with_unspent(self, command: c.Command) -> c.Command:
        """A commit without its bodies, if another one that named them came first while they were read."""
        if not isinstance(command, c.Commit) or command.parts == c.MISSING_PARTS:
            return command
        # In this order: the store forgets a body before the set does.
        is_spent = not self._spent_stages.isdisjoint(command.tokens)
        if is_spent or None in self._store.staged_sizes(command.tokens, command.iri):
            return replace(command, parts=c.MISSING_PARTS, body=b"")
        return command

    @contextlib.contextmanager
    def _answering(self, job: _Job) -> Iterator[None]:
        """Report an exception to the caller of this job only, unless it is a panic of the engine."""
        try:
            with engine_refusals():
                yield
        except Exception as error:
            job.problem = error
            if isinstance(error.__cause__, EnginePanicError):
                # The state may be partly changed.
                self._loop.call_soon_threadsafe(_answer, job)
                raise

    def _note(self, command: c.Command, reply: Any, batch: _Batch) -> None:  # noqa: ANN401 - each command has its reply
        """Add an applied command to the batch: its record and its effects."""
        kind, members, body = command.record()
        stream = getattr(command, "iri", None)
        batch.records.append(Record(self._core.offset, kind, members, body, stream, now_ms()))
        if isinstance(command, c.Commit):
            batch.spent_stages.extend(command.tokens)
            self._spent_stages.update(command.tokens)
        # Drain after each command, as a replay does: what a command sees must not depend on what was queued with it.
        batch.effects.extend(fx.of_command(command, reply, self._core))
        batch.effects.extend(self._core.drain())

    def _snapshot(self) -> tuple[int, bytes, dict[str, int]]:
        began = time.perf_counter()
        with self._growth.snapshot():
            data = self._core.snapshot()
        self.metrics.snapshots += 1
        _log.info("snapshot of %d bytes in %.2f s", len(data), time.perf_counter() - began)
        now = now_ms()
        retained = {
            entry.iri: now - entry.options.retention_ms
            for entry in self._core.streams.values()
            if entry.options.retention_ms is not None
        }
        return self._core.offset, data, retained

    # ---- the committer ----

    def _commit(self) -> None:
        while (batch := self._batches.get()) is not None:
            if not self._committed(batch):
                return
            self._finished += 1

    def _committed(self, batch: _Batch) -> bool:
        """Write a batch and deliver it; False if nothing may be written any more."""
        try:
            self._write(batch)
        except OutcomeUnknownError as error:
            self._loop.call_soon_threadsafe(self._give_up, batch, str(error))
            return False
        except Exception as error:  # noqa: BLE001 - whatever it is, the batch is not on the disk
            self._loop.call_soon_threadsafe(self._fail, batch, str(error))
            return False
        self._loop.call_soon_threadsafe(self._deliver, batch)
        return True

    def _write(self, batch: _Batch) -> None:
        began = time.perf_counter()
        if batch.records:
            self._store.append(batch.records, batch.spent_stages)
            self._spent_stages.difference_update(batch.spent_stages)
            self.metrics.commits += 1
            self.metrics.commit_durations.observe(time.perf_counter() - began)
        if batch.snapshot is not None:
            try:
                self._store.write_snapshot(*batch.snapshot)
            except StoreError as error:
                # The log is still complete, and must be replayed until a snapshot is written.
                self._growth.snapshot_failed()
                _log.error("snapshot failed: %s", error)
        self.metrics.commit_seconds += time.perf_counter() - began

    # ---- back on the event loop ----

    def _deliver(self, batch: _Batch) -> None:
        self._show(batch.effects)
        if batch.records:
            self._shown_offset = batch.records[-1].offset
        self.metrics.batches += 1
        for job in batch.jobs:
            self.queue_bytes -= job.size_bytes
            self.metrics.commands += 1
            self.metrics.refused += job.problem is not None
            _answer(job)

    def _show(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case fx.Opened(query, incarnation, next_seq, facts, has_new_text):
                    self.rings.open(query, incarnation, next_seq, facts, has_new_text=has_new_text)
                case fx.Published(query, _, envelopes):
                    self.metrics.envelopes += len(envelopes)
                    self.rings.publish(query, envelopes)
                case fx.Failed(query, problem):
                    self.rings.fail(query, problem)
                case fx.Closed(query, reason):
                    self.rings.close(query, reason)

    def _fail(self, batch: _Batch, reason: str) -> None:
        """A batch could not be logged and has not been shown: rebuild the state from the log."""
        _log.error("rebuilding the state from the log: %s", reason)
        self._refuse(batch.jobs)
        if self.state == "failed":
            return
        if self._rebuilding is None or self._rebuilding.done():
            is_stopping = self.state == "stopping"
            self.state = "stopping" if is_stopping else "starting"
            self._rebuilding = self._loop.create_task(self._rebuild(is_stopping=is_stopping))

    def _give_up(self, batch: _Batch, reason: str) -> None:
        """The disk failed and its content is uncertain: acknowledge nothing more until a restart has read it."""
        _log.critical("the server accepts no more commands until it is restarted: %s", reason)
        self._refuse(batch.jobs, _outcome_unknown)
        self.failure = f"the disk failed; restart the server when it works again ({reason})"
        self.state = "failed"
        self._rebuilding = self._loop.create_task(self._end_threads())

    def _refuse(self, jobs: list[_Job], problem: Callable[[], DomainError] | None = None) -> None:
        self.metrics.store_failures += 1
        for job in jobs:
            self.queue_bytes -= job.size_bytes
            job.problem = (problem or _not_written)()
            _answer(job)

    async def _end_threads(self) -> None:
        """End both threads. The worker may be blocked on the batch queue of a committer that is gone."""
        worker, committer = self._threads
        while worker.is_alive() or committer.is_alive():
            self._refuse_queued()
            if worker.is_alive():
                self._queue.put(None)
            if not committer.is_alive():
                self._refuse_batches()
            await asyncio.sleep(0.005)
        self._refuse_queued()
        self._refuse_batches()

    def _refuse_queued(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._queue.get_nowait()
                self._refuse([] if job is None else [job])

    def _refuse_batches(self) -> None:
        # Only after the committer has ended: removing a batch before one that it commits would leave a hole.
        with contextlib.suppress(queue.Empty):
            while True:
                batch = self._batches.get_nowait()
                self._refuse([] if batch is None else batch.jobs)

    async def _rebuild(self, *, is_stopping: bool) -> None:
        await self._end_threads()
        if is_stopping:
            return
        self._store.close()
        try:
            await self._loop.run_in_executor(None, lambda: self._recover(accept_loss=False))
        except Exception as error:  # noqa: BLE001 - logged, and shown by the readiness check
            _log.exception("the state could not be rebuilt")
            self.failure = str(error)
            self.state = "failed"
            return
        self._start_threads()
        self.state = "ready"

    # ---- recovery ----

    def _recover(self, *, accept_loss: bool) -> None:
        """Recover the state: the newest snapshot and every command after it."""
        began = time.perf_counter()
        self._store = Store(self.settings.data_dir, accept_loss=accept_loss)
        self.expire_stages()
        found = self._store.snapshot()
        options = engine_options(self.settings)
        self._core = Core(options) if found is None else Core.restored(found[1], options)
        if found is not None and self._core.offset != found[0]:
            raise StoreError(f"{self._store.path}: the snapshot does not match the log")
        self._spent_stages.clear()
        self._growth = Growth(self.settings)
        with self._growth.applying():
            self._replay()
        self._growth.log_bytes = self._store.log_bytes
        self.metrics.recovery_seconds = time.perf_counter() - began

    def _replay(self) -> None:
        """Replay the log. The rings get the effects they have not seen: all at a start, few after a failure."""
        shown = self._shown_offset
        effects: list[Effect] = []
        if self._core.offset > shown or self._core.offset == 0:
            effects.extend(effect for entry in self._core.queries.values() for effect in fx.of_entry(entry))
        for record in self._store.records(self._core.offset):
            found = self._replayed(record)
            self.metrics.replayed += 1
            if record.offset <= shown:
                continue
            effects.extend(found)
            if len(effects) >= _REPLAY_SHOW_EVERY:
                self._loop.call_soon_threadsafe(self._show, effects)
                effects = []
        self._loop.call_soon_threadsafe(self._show, effects)
        self._shown_offset = max(shown, self._core.offset)

    def _replayed(self, record: Record) -> list[Effect]:
        command = c.command_of(record.kind, record.members, record.body)
        try:
            reply = self._core.apply(command)
        except DomainError as problem:
            path = self._store.path
            raise StoreError(
                f"{path}: record {record.offset} was refused ({problem.detail}); the log may be damaged"
            ) from None
        return [*fx.of_command(command, reply, self._core), *self._core.drain()]


def engine_options(settings: Settings) -> dict[str, Any]:
    """Engine options of the server."""
    limits = {
        **GUARDED_LIMITS,
        "work": settings.work_max,
        "result_rows": settings.result_rows_max,
        "state_rows": settings.state_rows_max,
        "windows": settings.windows_max,
        "window_width_ms": settings.window_width_s_max * 1000,
        "refuse_costly": not settings.allow_cartesian,
    }
    # Results do not depend on the seed, but crafted input must not be able to predict it.
    return {"hash_seed": int.from_bytes(os.urandom(8)), "limits": limits}


def _not_written() -> DomainError:
    return errors.WriteFailedError("the write failed; nothing was applied", retry_after_s=5)


def _outcome_unknown() -> DomainError:
    detail = "the disk failed; whether the request was applied is known only after a restart"
    hint = "send it again with the same producer sequence once the server is back"
    return errors.UnknownOutcomeError(detail, hint=hint)


def _answer(job: _Job) -> None:
    # The caller may be gone, or may have had its reply with ack `memory`.
    if job.future.done():
        return
    if job.problem is not None:
        job.future.set_exception(job.problem)
    else:
        job.future.set_result(job.reply)


def now_ms() -> int:
    """The time of the wall clock."""
    return time.time_ns() // 1_000_000
