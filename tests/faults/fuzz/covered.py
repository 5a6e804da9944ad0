"""The inputs that fuzzing by coverage found, kept as lines of base64: one file for each target.

    python tests/faults/fuzz/covered.py unpack TARGET DIRECTORY
    python tests/faults/fuzz/covered.py pack TARGET DIRECTORY

`engine-rs/fuzz/run.sh` starts from what is unpacked. `pack` keeps the smallest inputs of a directory that libFuzzer has
minimised (`run.sh TARGET 0 -merge=1 …`), and those that were kept before.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path

_COVERED = Path(__file__).with_name("covered")
_KEPT_MAX = 400
_KEPT_BYTES_MAX = 400


def covered(target: str) -> list[bytes]:
    """What is kept for a target."""
    path = _COVERED / f"{target}.txt"
    return [base64.b64decode(line) for line in path.read_text().splitlines()] if path.exists() else []


def pack(target: str, directory: Path) -> int:
    """Keep the smallest inputs; how many there are."""
    found = {path.read_bytes() for path in directory.iterdir() if path.stat().st_size <= _KEPT_BYTES_MAX}
    new = sorted(found - set(covered(target)), key=lambda data: (len(data), data))
    kept = [*covered(target), *new][:_KEPT_MAX]
    _COVERED.mkdir(exist_ok=True)
    lines = sorted(base64.b64encode(data).decode() for data in kept)
    (_COVERED / f"{target}.txt").write_text("".join(f"{line}\n" for line in lines))
    return len(kept)


def unpack(target: str, directory: Path) -> int:
    """Write all seeds of a target as files; how many there are."""
    # Imported here: it needs the engine, which needs to be built.
    from fuzzer import seeds

    directory.mkdir(parents=True, exist_ok=True)
    for data in seeds(target):
        (directory / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return len(seeds(target))


if __name__ == "__main__":
    action, name, place = sys.argv[1:]
    print(name, {"pack": pack, "unpack": unpack}[action](name, Path(place)))  # noqa: T201 - a program
