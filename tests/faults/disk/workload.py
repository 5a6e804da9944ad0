"""A store under faults, and the states that are allowed afterwards.

The model is what was acknowledged: digests of records, and staged bodies. Every step says when it began and when it
was answered, in events of the trace, so that at any moment it is known what may be on the disk: what was acknowledged
before, and of the step under way all or nothing. What was refused may never be there.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from whorl.server.store.store import NotWrittenError, OutcomeUnknownError, Record, Store, StoreError

STREAM = "http://ex/s"
_DIGEST_BYTES = 16


class State(NamedTuple):
    """The content of a store."""

    records: tuple[bytes, ...] = ()
    stages: frozenset[tuple[str, bytes]] = frozenset()

    @property
    def snapshot(self) -> bytes:
        """A snapshot from which the digests can be read again."""
        return b"".join(self.records)


class Step(NamedTuple):
    """The allowed states during a step and after it."""

    began: int
    ended: int
    during: tuple[State, ...]
    after: tuple[State, ...]


@dataclass
class Workload:
    """A store and its model, driven by a seed."""

    path: Path
    chance: random.Random
    now: Callable[[], int] = lambda: 0
    state: State = field(default_factory=State)
    steps: list[Step] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)
    store: Store | None = None
    _made: int = 0

    def run(self, n_steps: int) -> None:
        """Run until the steps are done, or the disk has failed permanently."""
        self._reopen()
        for _ in range(n_steps):
            if self.store is None and not self._reopen():
                continue
            kinds = [self._append, self._append, self._append, self._append_staged, self._stage, self._snapshot]
            chosen = self.chance.choice([*kinds, self._reopen])
            if chosen() is None:
                break
        self.close()

    def close(self) -> None:
        if self.store is not None:
            self.store.close()
            self.store = None

    def acceptable(self, at: int) -> tuple[State, ...]:
        """The allowed states of the disk after this many events."""
        found: tuple[State, ...] = (State(),)
        for step in self.steps:
            if step.began > at:
                break
            found = step.after if step.ended <= at else step.during
        return found

    # ---- steps ----

    def _append(self, spent: tuple[str, ...] = ()) -> bool | None:
        first = len(self.state.records) + 1
        records = [self._record(first + idx) for idx in range(self.chance.choice([1, 1, 2, 5]))]
        left = frozenset(one for one in self.state.stages if one[0] not in spent)
        wanted = State(self.state.records + tuple(map(digest, records)), left)
        return self._step(lambda: self._open_store.append(records, spent), wanted)

    def _append_staged(self) -> bool | None:
        tokens = tuple(sorted(token for token, _ in self.state.stages))[:1]
        return self._append(tokens)

    def _stage(self) -> bool | None:
        self._made += 1
        token, body = f"token{self._made}", self._body()
        wanted = State(self.state.records, self.state.stages | {(token, body)})
        return self._step(lambda: self._open_store.stage(token, STREAM, "arrow", body, self._made), wanted)

    def _snapshot(self) -> bool | None:
        keep_since = self.chance.choice([{}, {STREAM: self._made // 2}])
        offset, data = len(self.state.records), self.state.snapshot
        return self._step(lambda: self._open_store.write_snapshot(offset, data, keep_since), self.state)

    def _reopen(self) -> bool | None:
        self.close()

        def reopen() -> None:
            self.store = Store(self.path)

        return self._step(reopen, self.state)

    @property
    def _open_store(self) -> Store:
        assert self.store is not None
        return self.store

    def _step(self, action: Callable[[], None], wanted: State) -> bool | None:
        """Whether it was applied; None if that is unknown."""
        began, before = self.now(), self.state
        result = self._answer(action)
        self.outcomes[str(result)] = self.outcomes.get(str(result), 0) + 1
        self.state = wanted if result else before
        after = (before, wanted) if result is None else (self.state,)
        self.steps.append(Step(began, self.now(), (before, wanted), after))
        return result

    def _answer(self, action: Callable[[], None]) -> bool | None:
        try:
            action()
        except OutcomeUnknownError:
            self.close()
            return None
        except NotWrittenError:
            # The server rebuilds its state from this read.
            if self.chance.random() < 0.7:
                self.close()
            return False
        except StoreError as error:
            if str(self.path) not in str(error):
                raise AssertionError("a refusal that names no file") from error
            self.close()
            return False
        return True

    def _record(self, offset: int) -> Record:
        # All are different, so that a refused record differs from the one that got its number.
        self._made += 1
        return Record(offset, "push", b'{"n":%d}' % self._made, self._body(), STREAM, self._made)

    def _body(self) -> bytes:
        return self.chance.randbytes(self.chance.choice([0, 10, 100, 700, 5000, 20_000]))


def digest(record: Record) -> bytes:
    """Everything in a record."""
    text = f"{record.offset} {record.kind} {record.stream} {record.logged_at} ".encode()
    return hashlib.sha256(text + record.members + b" " + record.body).digest()[:_DIGEST_BYTES]


def observed(path: Path, *, accept_loss: bool = False) -> State:
    """The content that a start finds."""
    store = Store(path, accept_loss=accept_loss)
    try:
        return state_of(store)
    finally:
        store.close()


def state_of(store: Store) -> State:
    found = store.snapshot()
    offset, data = (0, b"") if found is None else found
    before = [data[at : at + _DIGEST_BYTES] for at in range(0, len(data), _DIGEST_BYTES)]
    assert len(before) == offset
    records = [digest(record) for record in store.records(offset)]
    bodies = {(token, store.staged(token, STREAM)) for token in store._stages}
    return State((*before, *records), frozenset((token, body[1]) for token, body in bodies if body is not None))
