"""Logs and snapshots of earlier versions: every later version reads them with their original meaning."""

from __future__ import annotations

import struct

import orjson
from whorl.server.problems import document
from whorl.server.runtime import commands as c
from whorl.server.runtime.core import Core
from whorl.server.runtime.effects import Failed
from whorl.server.runtime.runtime import engine_options
from whorl.server.settings import Settings

S, OUTPUT = "http://example.org/s", "http://example.org/out"
PREFIX = "PREFIX : <http://example.org/>"
WINDOW = f"FROM NAMED WINDOW :w ON <{S}> [RANGE 1s STEP 1s] WHERE {{ WINDOW :w {{ ?s :k ?o }} }}"
ROWS = f"{PREFIX} SELECT ?s {WINDOW}"
CHAIN = f"{PREFIX} REGISTER RSTREAM <{OUTPUT}> AS CONSTRUCT {{ ?s :k ?o }} {WINDOW}"


def push(number: int) -> c.Push:
    return c.Push(S, f"<urn:x{number}> <http://example.org/k> {number} .".encode(), "turtle", at=number * 300)


def chained_core() -> Core:
    """A query that writes a stream, and one that reads it."""
    core = Core(engine_options(Settings()))
    core.apply(c.DeclareStream(S, c.StreamOptions()))
    core.apply(c.Register("writer", CHAIN, {}, "aa"))
    core.apply(c.Register("reader", ROWS.replace(S, OUTPUT), {}, "bb"))
    return core


def test_a_cascade_of_an_earlier_version_is_replayed_as_it_was_applied() -> None:
    record = ("drop-stream", orjson.dumps({"iri": S, "cascade": True}), b"")
    core = chained_core()
    assert core.apply(c.command_of(*record)) == {"queries": ["writer"]}
    # The log may go on with what that version left.
    core.apply(c.Unregister("reader"))
    assert core.queries == {}


def test_a_cascade_takes_the_queries_downstream_along() -> None:
    core = chained_core()
    command = c.command_of(*c.DropStream(S, cascade=True, downstream=True).record())
    assert core.apply(command) == {"queries": ["writer", "reader"]}
    assert core.queries == {}


def test_a_snapshot_of_an_earlier_version_keeps_why_a_query_failed() -> None:
    core = Core(engine_options(Settings(work_max=1)))
    core.apply(c.DeclareStream(S, c.StreamOptions()))
    core.apply(c.Register("failed", ROWS, {}, "aa"))
    for number in range(20):
        core.apply(push(number))
    (*_, failed) = core.drain()
    assert isinstance(failed, Failed)
    told = document(failed.problem)
    data = core.snapshot()
    (length,) = struct.unpack_from("<I", data, 8)
    catalogue = orjson.loads(data[12 : 12 + length])
    del catalogue["queries"][0]["failure"]
    catalogue["queries"][0]["problem"] = told
    older = orjson.dumps(catalogue)
    restored = Core.restored(data[:8] + struct.pack("<I", len(older)) + older + data[12 + length :], {})
    refusal = restored.queries["failed"].refusal()
    assert refusal is not None
    assert document(refusal) == told
