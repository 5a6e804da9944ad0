"""A mutation fuzzer in this process: texts and bytes of a kept corpus, changed at random, given to every parser.

It is guided by outcomes: an input whose outcome (accepted, or the code and the words of a refusal) was not seen before
joins the pool that later inputs are made of. Fuzzing by coverage needs a build of its own and is in `engine-rs/fuzz`;
what it found is a part of the corpus here (`covered.py`). A crash ends the process, a panic is an `EnginePanicError`,
and both are faults; so is any exception that is no refusal.

    python tests/faults/fuzz/fuzzer.py TARGET SECONDS [SEED] [--keep]

With --keep, small inputs with outcomes that no other input of the corpus has join the corpus, which `make test` runs.
"""

from __future__ import annotations

import hashlib
import io
import random
import re
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import stores
from covered import covered
from whorl import _engine
from whorl.engine import GUARDED_LIMITS
from whorl.errors import EnginePanicError, WhorlError
from whorl.server.services import messages

CORPUS = Path(__file__).with_name("corpus")
STREAM = "http://ex.org/s"
_BYTES_MAX = 4096
_POOL_MAX = 2000
# Of what is kept for one target: inputs, and bytes of each.
_KEPT_MAX = 8
_SNAPSHOT_HEAD_BYTES = 28
_KEPT_BYTES_MAX = 400
_WORDS = [
    *b"SELECT WHERE FILTER OPTIONAL WINDOW UNION MINUS { } ( ) [ ] ?s ?o <urn:p> <<( )>> ^^ @en @prefix _:b".split(),
    *(b"GROUP BY ?o ", b"RANGE 10s", b"STEP 1s", b"BIND(1 AS ?x)", b"VALUES ?v { 1 }"),
    *(b"\x00", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\\u0000", b'"', b"'", b"1e400", b"-1", b"*", b"+", b"|"),
]


def engine() -> _engine.Engine:
    made = _engine.Engine(limits=GUARDED_LIMITS)
    made.declare_stream(STREAM)
    return made


def _query(data: bytes) -> None:
    made = engine()
    made.register(data.decode("utf-8", "replace"))
    made.push(STREAM, 1, b"<urn:a> <urn:p> 1 ; <urn:q> <urn:b> . <urn:b> <urn:p> 2.5 .", "turtle")
    made.advance_to(20_000)
    made.restore(made.snapshot())


def _update(data: bytes) -> None:
    engine().update(data.decode("utf-8", "replace"))


def _mapping(data: bytes) -> None:
    made = engine()
    made.set_mapping(STREAM, data.decode("utf-8", "replace"))
    made.push(STREAM, None, _arrow_rows(), "arrow")


def _rdf(form: str) -> Callable[[bytes], None]:
    return lambda data: (engine().push(STREAM, None if form in {"arrow", "ndjson"} else 1, data, form), None)[1]


def _snapshot(data: bytes) -> None:
    _engine.Engine.restore(data)


def _sealed(data: bytes) -> None:
    """The content of a snapshot, with the head and the checksum that belong to it."""
    magic_and_format = engine().snapshot()[:12]
    _engine.Engine.restore(b"".join([magic_and_format, struct.pack("<QQ", len(data), _checksum(data)), data]))


def _checksum(data: bytes) -> int:
    """The checksum of the engine's `codec.rs`."""
    whole, mask = len(data) // 8 * 8, 2**64 - 1
    total = len(data)
    for word in [*(word for (word,) in struct.iter_unpack("<Q", data[:whole])), *data[whole:], 0]:
        total = (total ^ word) * 0x9E37_79B9_7F4A_7C15 & mask
        total = (total << 29 | total >> 35) & mask
    return total


def _message(data: bytes) -> None:
    try:
        messages.parse(data.decode("utf-8", "replace"))
    except messages.BadMessageError as refusal:
        raise WhorlError(str(refusal)) from refusal


TARGETS: dict[str, Callable[[bytes], None]] = {
    "query": _query,
    "update": _update,
    "mapping": _mapping,
    "turtle": _rdf("turtle"),
    "ntriples": _rdf("ntriples"),
    "nquads": _rdf("nquads"),
    "trig": _rdf("trig"),
    "jsonld": _rdf("jsonld"),
    "ndjson": _rdf("ndjson"),
    "arrow": _rdf("arrow"),
    "snapshot": _snapshot,
    "sealed": _sealed,
    "message": _message,
    "log": stores.log,
    "mark": stores.mark,
    "entry": stores.entry,
    "catalogue": stores.catalogue,
}


def _arrow_rows() -> bytes:
    sink = io.BytesIO()
    table = pa.table({"t": [1, 2], "s": ["urn:a", "urn:b"], "p": ["urn:p"] * 2, "o": ["x", "y"]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _made_snapshot() -> bytes:
    made = engine()
    made.register("SELECT ?s (COUNT(?o) AS ?n) FROM NAMED WINDOW <urn:w> ON <http://ex.org/s> [RANGE 10s STEP 1s] "
                  "WHERE { WINDOW <urn:w> { ?s <urn:p> ?o . OPTIONAL { ?s <urn:q> ?x } } } GROUP BY ?s")  # fmt: skip
    made.push(STREAM, 1, b"<urn:a> <urn:p> 1 ; <urn:q> <urn:b> .", "turtle")
    return made.snapshot()


def seeds(target: str) -> list[bytes]:
    """The kept corpus; binary formats are made anew, so that they are of this version."""
    made = {
        "arrow": _arrow_rows,
        "snapshot": _made_snapshot,
        "sealed": lambda: _made_snapshot()[_SNAPSHOT_HEAD_BYTES:],
        "log": stores.made_log,
        "mark": stores.made_mark,
        "catalogue": stores.made_catalogue,
    }
    kept = [path.read_bytes() for path in sorted((CORPUS / target).glob("*"))]
    return [*kept, *covered(target), *([made[target]()] if target in made else [])]


def outcome(target: str, data: bytes) -> str:
    """The outcome of an input, without words of the input; anything but a refusal is raised."""
    try:
        TARGETS[target](data)
    except EnginePanicError:
        raise
    except WhorlError as refusal:
        said = re.sub(r"'[^']*'|\"[^\"]*\"|<[^>]*>|[0-9]+", "…", str(refusal))
        return f"{getattr(refusal, 'code', '')} {said[:80]}"
    except (ValueError, UnicodeError) as refusal:
        return f"{type(refusal).__name__} {re.sub('[0-9]+', '…', str(refusal))[:80]}"
    return "accepted"


def mutated(chance: random.Random, pool: list[bytes]) -> bytes:
    data = bytearray(chance.choice(pool))
    for _ in range(chance.choice([1, 1, 2, 4, 8])):
        at = chance.randrange(len(data) + 1)
        size = chance.choice([1, 1, 4, 16, 64])
        match chance.randrange(6):
            case 0 if data:
                data[min(at, len(data) - 1)] = chance.randrange(256)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size] * chance.choice([1, 2, 30])
            case 3:
                data[at:at] = chance.choice(_WORDS)
            case 4:
                other = chance.choice(pool)
                start = chance.randrange(len(other) + 1)
                data[at : at + size] = other[start : start + size]
            case _:
                data[at : at + size] = chance.choice(_WORDS)
    return bytes(data[:_BYTES_MAX])


def fuzz(
    target: str, seed: int, rounds: int | None = None, seconds: float | None = None, *, keeps: bool = False
) -> tuple[int, int]:
    """Run a number of inputs or of seconds; returns the numbers of inputs and of outcomes."""
    chance, pool = random.Random(seed), seeds(target)
    known = {outcome(target, data) for data in pool}
    done, ends_at = 0, None if seconds is None else time.monotonic() + seconds
    while (rounds is None or done < rounds) and (ends_at is None or time.monotonic() < ends_at):
        data = mutated(chance, pool)
        done += 1
        try:
            found = outcome(target, data)
        except BaseException as error:
            raise AssertionError(f"{target}, seed {seed}: {type(error).__name__} {error} for {data!r}") from error
        if found not in known and len(pool) < _POOL_MAX:
            known.add(found)
            pool.append(data)
            if keeps:
                keep(target, data)
    return done, len(known)


def keep(target: str, data: bytes) -> None:
    """Add an input to the corpus, within its limits."""
    directory = CORPUS / target
    directory.mkdir(exist_ok=True)
    if len(data) <= _KEPT_BYTES_MAX and len(list(directory.glob("found-*"))) < _KEPT_MAX:
        (directory / f"found-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


if __name__ == "__main__":
    name, limit, *rest = [word for word in sys.argv[1:] if word != "--keep"]
    keeps_found = "--keep" in sys.argv
    print(name, *fuzz(name, int(rest[0]) if rest else 1, seconds=float(limit), keeps=keeps_found))  # noqa: T201 - a program
