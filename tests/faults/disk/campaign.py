"""Campaigns against the store, in a process that has the shim preloaded.

    LD_PRELOAD=shim.so python tests/faults/disk/campaign.py DIRECTORY --faults 100 --cuts 10 --mutations 500 --seed 1

Faults: a run of the store in which calls to the system fail, then a start that must find what was acknowledged and
nothing that was refused. Cuts: the same after a power cut at any moment of such a run. Mutations:
files of a store that were flipped, zeroed, cut, torn, deleted or exchanged; a start must find everything, or refuse and
name the file, and change nothing. The findings are printed as JSON; the first wrong outcome ends the campaign.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from power_cut import Disk
from shim import Call, Event, Shim
from whorl.server.store import store
from whorl.server.store.store import LossError, StoreError
from workload import State, Workload, observed

ERRORS = {
    Call.WRITE: [errno.EIO, errno.ENOSPC],
    Call.SYNC: [errno.EIO, errno.ENOSPC],
    Call.READ: [errno.EIO],
    Call.RENAME: [errno.EIO, errno.ENOSPC],
    Call.CREATE: [errno.EIO, errno.ENOSPC],
    Call.TRUNCATE: [errno.EIO],
    Call.UNLINK: [errno.EIO],
}
NAMES = ["", "", "log-", "acknowledged", "snapshot-", "stage-"]


class Campaign:
    """Counts the outcomes of each attack."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.chance = random.Random(seed)
        self.shim = Shim()
        self.found: Counter[str] = Counter()
        self._number = 0

    # ---- faults and power cuts ----

    def fault(self, cuts: int) -> None:
        """One run under faults, a start after it, and power cuts within it."""
        path = self._fresh()
        self.shim.watch(path.parent)
        self.shim.begin_trace()
        calls, after, times = self._arm()
        work = Workload(path, self.chance, lambda: self.shim.now)
        work.run(self.chance.randrange(8, 30))
        name = f"{calls.name} after {after} × {times}"
        self.found["faults"] += 1
        self.found["faults that struck"] += self.shim.hits > 0
        self.found["steps refused"] += work.outcomes.get("False", 0)
        self.found["outcomes unknown"] += work.outcomes.get("None", 0)
        self.shim.disarm()
        trace, end = self.shim.trace(), self.shim.now
        for _ in range(cuts):
            self._cut(trace[: self._moment(work, end)], path, work, name)
        self.shim.begin_trace()
        self._expect(observed(path), work.acceptable(end), f"start after {name}")
        shutil.rmtree(path.parent)

    def _arm(self) -> tuple[Call, int, int]:
        calls = self.chance.choice([Call.WRITE, Call.SYNC, Call.SYNC, *ERRORS])
        after, times = self.chance.randrange(25), self.chance.choice([1, 1, 2, 3, 6, -1])
        self.shim.arm(calls, after, times, self.chance.choice(ERRORS[calls]), self.chance.choice(NAMES))
        return calls, after, times

    def _moment(self, work: Workload, end: int) -> int:
        """Any moment, or just after the reply to a step."""
        if self.chance.random() < 0.5:
            return self.chance.choice([step.ended for step in work.steps])
        return self.chance.randrange(end + 1)

    def _cut(self, events: list[Event], path: Path, work: Workload, name: str) -> None:
        disk = Disk()
        for event in events:
            disk.take(event)
        # Traced anew: the syncs of this start return at once.
        self.shim.begin_trace()
        target = path.parent / "cut"
        disk.cut(self.chance, path.parent, target)
        where = f"power cut at event {len(events)} of a run with {name}"
        acceptable = work.acceptable(len(events))
        (target / "data").mkdir(exist_ok=True)
        first = observed(target / "data")
        self._expect(first, acceptable, where)
        self._expect(observed(target / "data"), (first,), f"second start after {where}")
        self.found["power cuts"] += 1
        shutil.rmtree(target)

    # ---- mutations ----

    def mutate(self, attempts: int) -> None:
        """One store, and many ways to damage it."""
        path = self._fresh()
        self.shim.watch(path.parent)
        self.shim.begin_trace()
        older = path.parent / "older"
        work = Workload(path, self.chance)
        work.run(self.chance.randrange(2, 12))
        shutil.copytree(path, older)
        work.steps.clear()
        work.run(self.chance.randrange(2, 12))
        for _ in range(attempts):
            self.shim.begin_trace()
            self._mutation(path, older, work.state)
        shutil.rmtree(path.parent)

    def _mutation(self, path: Path, older: Path, expected: State) -> None:
        damaged = path.parent / "damaged"
        shutil.copytree(path, damaged)
        files = sorted(file for file in damaged.rglob("*") if file.is_file() and file.name != "lock")
        harms = []
        n_harms = self.chance.choice([1, 1, 1, 2])
        for _ in range(n_harms):
            file = self.chance.choice(files)
            # An older log under an older mark is an older store, which cannot be detected.
            how = self.chance.choice(MUTATIONS if n_harms == 1 else VISIBLE_MUTATIONS)
            if file.exists():
                harms.append(f"{how.__name__} of {file.name}")
                how(file, older / file.relative_to(damaged), self.chance)
        self.found["mutations"] += 1
        before = {file: file.read_bytes() for file in damaged.rglob("*") if file.is_file()}
        try:
            found = observed(damaged)
        except StoreError as error:
            self._check_refusal(damaged, error, before, expected)
        else:
            self._expect(found, (expected,), f"a store that starts after {harms}")
            self.found["mutations repaired or harmless"] += 1
        shutil.rmtree(damaged)

    def _check_refusal(self, damaged: Path, error: StoreError, before: dict[Path, bytes], expected: State) -> None:
        said = str(error)
        named = [file for file in [*before, damaged / "acknowledged", *damaged.rglob("*")] if str(file) in said]
        missing = re.search(r"^(\S+): is missing", said)
        if not named and missing is None:
            raise AssertionError(f"a refusal that names no file: {said}")
        if {file: file.read_bytes() for file in damaged.rglob("*") if file.is_file()} != before:
            raise AssertionError(f"a refusal that changed files: {said}")
        self.found["mutations refused by name"] += 1
        if isinstance(error, LossError):
            self._check_accepted(damaged, said, expected)

    def _check_accepted(self, damaged: Path, said: str, expected: State) -> None:
        """With the loss accepted, the store is a prefix of the original one, as long as the message said."""
        left = observed(damaged, accept_loss=True)
        good = re.search(r"last intact record is (\d+)", said)
        length = 0 if good is None else int(good[1])
        # Committed staged bodies may reappear, because the log has lost their commit.
        if left.records != expected.records[:length]:
            raise AssertionError(f"{len(left.records)} records are left after: {said}")
        self._expect(observed(damaged), (left,), "the start after an accepted loss")
        self.found["losses accepted"] += 1

    # ---- both ----

    def _fresh(self) -> Path:
        self._number += 1
        directory = self.directory / f"run{self._number}"
        directory.mkdir()
        return directory / "data"

    def _expect(self, found: State, acceptable: tuple[State, ...], where: str) -> None:
        if found not in acceptable:
            lengths = sorted(len(state.records) for state in acceptable)
            raise AssertionError(f"{where}: {len(found.records)} records, not {lengths}; stages {len(found.stages)}")


# ---- ways to damage a file ----

Mutation = Callable[[Path, Path, random.Random], None]


def _flip(file: Path, older: Path, chance: random.Random) -> None:
    del older
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 8])):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def _zero(file: Path, older: Path, chance: random.Random) -> None:
    del older
    data = bytearray(file.read_bytes())
    at, size = chance.randrange(len(data) + 1), chance.choice([1, 16, 512, 4096, len(data)])
    data[at : at + size] = bytes(len(data[at : at + size]))
    file.write_bytes(data)


def _cut(file: Path, older: Path, chance: random.Random) -> None:
    del older
    data = file.read_bytes()
    file.write_bytes(data[: chance.choice([0, 1, chance.randrange(len(data) + 1), max(0, len(data) - 1)])])


def _delete(file: Path, older: Path, chance: random.Random) -> None:
    del older, chance
    file.unlink()


def _tear(file: Path, older: Path, chance: random.Random) -> None:
    """Some pages are of an older file."""
    data, before = bytearray(file.read_bytes()), older.read_bytes() if older.exists() else b""
    edge = chance.randrange(len(data) // 512 + 1) * 512
    data[edge : edge + 512] = before[edge : edge + 512].ljust(len(data[edge : edge + 512]), b"\0")
    file.write_bytes(data)


def _older(file: Path, older: Path, chance: random.Random) -> None:
    """The whole file in an earlier state: a write that the disk lost after acknowledging it."""
    del chance
    if older.exists():
        file.write_bytes(older.read_bytes())


def _garbage(file: Path, older: Path, chance: random.Random) -> None:
    del older
    with file.open("ab") as out:
        out.write(chance.randbytes(chance.choice([1, 100, 5000])))


def _move(file: Path, older: Path, chance: random.Random) -> None:
    """One piece of the file replaced by another."""
    del older
    data = bytearray(file.read_bytes())
    size = min(len(data), chance.choice([8, 100, 4096]))
    to, source = (chance.randrange(len(data) - size + 1) for _ in range(2))
    data[to : to + size] = data[source : source + size]
    file.write_bytes(data)


VISIBLE_MUTATIONS: list[Mutation] = [_flip, _flip, _zero, _cut, _cut, _delete, _garbage, _move]
MUTATIONS: list[Mutation] = [*VISIBLE_MUTATIONS, _tear, _older]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--mutations", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    # Little room, so that the log grows often; and traces stay short.
    store._ROOM_BYTES = 1 << 14
    campaign = Campaign(arguments.directory, arguments.seed)
    for _ in range(arguments.faults):
        campaign.fault(arguments.cuts)
    per_store = 25
    for _ in range(arguments.mutations // per_store):
        campaign.mutate(per_store)
    print(json.dumps(campaign.found))  # noqa: T201 - the test reads it
    return 0


if __name__ == "__main__":
    sys.exit(main())
