"""Triples into the engine from Python: Arrow columns, plain and dictionary-encoded, beside N-Triples and pyoxigraph.

The query stores every triple in a window and has no results, so that the figures are the cost of ingestion. pyoxigraph
parses the same N-Triples into Python objects and discards them. All figures are processor time of this process, the
minimum of several rounds of one run; only their ratios carry over to another machine.

    .venv/bin/python benchmarks/ingest_arrow.py [--triples 300000] [--rounds 5]

Install an optimised build first: `make run` (or `maturin develop --release`) does.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyoxigraph
import whorl

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM = "http://example.org/s"
EX = "http://example.org/"
SENSORS = 500
BATCH = 30_000
QUERY = """PREFIX : <http://example.org/>
SELECT ?o ?n FROM NAMED WINDOW :w ON :s [RANGE 10s]
WHERE { WINDOW :w { ?o :madeBySensor ?s . ?o :inRoom ?r . ?o :ofKind ?k . ?o :never ?n } }"""

Rows = tuple[list[str], list[str], list[str]]


def rows(first: int, count: int) -> Rows:
    """Observations of three triples each, as subjects, predicates and objects."""
    subjects: list[str] = []
    predicates: list[str] = []
    objects: list[str] = []
    for number in range(first, first + count // 3):
        sensor = number * 7 % SENSORS
        subjects += [f"{EX}data/observation/{number}"] * 3
        predicates += [f"{EX}madeBySensor", f"{EX}inRoom", f"{EX}ofKind"]
        objects += [f"{EX}data/sensor/{sensor}", f"{EX}data/room/{sensor % 31}", f"{EX}data/kind/{sensor % 7}"]
    return subjects, predicates, objects


def plain(batch: Rows) -> pa.Table:
    """Columns of strings."""
    return pa.table(dict(zip("spo", batch, strict=True)))


def coded(batch: Rows) -> pa.Table:
    """Dictionary-encoded columns."""
    return pa.table({name: pa.array(column).dictionary_encode() for name, column in zip("spo", batch, strict=True)})


def lines(batch: Rows) -> bytes:
    """The same triples as N-Triples."""
    return "".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in zip(*batch, strict=True)).encode()


def kept(bodies: list[pa.Table] | list[bytes]) -> None:
    """Push each body as one event."""
    engine = whorl.Engine()
    query = engine.register(QUERY)
    for number, body in enumerate(bodies):
        report = engine.push(STREAM, number * 100, body, "ntriples")
        if report.triples != BATCH:
            raise ValueError(f"{report.triples} triples were taken instead of {BATCH}")
    if query.rows():
        raise ValueError("nothing matches the whole pattern")


def parsed(bodies: list[bytes]) -> None:
    """Parse into Python objects, and keep none."""
    for body in bodies:
        for _ in pyoxigraph.parse(body, format=pyoxigraph.RdfFormat.N_TRIPLES):
            pass


def least(run: Callable[[], None], rounds: int) -> float:
    """The minimal processor time of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--triples", type=int, default=300_000)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    batches = [rows(first, BATCH) for first in range(0, options.triples, BATCH)]
    triples = sum(len(batch[0]) for batch in batches)
    texts, tables, dictionaries = list(map(lines, batches)), list(map(plain, batches)), list(map(coded, batches))
    cases: list[tuple[str, Callable[[], None]]] = [
        ("pyoxigraph, N-Triples into Python", lambda: parsed(texts)),
        ("N-Triples, kept", lambda: kept(texts)),
        ("Arrow, plain columns, kept", lambda: kept(tables)),
        ("Arrow, dictionary columns, kept", lambda: kept(dictionaries)),
    ]
    first: float | None = None
    for name, run in cases:
        rate = triples / least(run, options.rounds)
        first = first or rate
        sys.stdout.write(f"{name}: {rate / 1e6:.2f} M triples/s, {rate / first:.2f} × pyoxigraph\n")


if __name__ == "__main__":
    main()
