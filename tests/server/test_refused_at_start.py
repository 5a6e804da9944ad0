"""What fails as it starts, and what would write into a stream of producers, is refused and changes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from registering import IRI, RSPQL, STREAM, relay, text_over
from server_process import ServerProcess
from whorl.server.errors import DomainError
from whorl.server.problems import problem_type
from whorl.server.runtime import commands as c
from whorl.server.runtime.core import Core
from whorl.server.runtime.effects import Failed, Published
from whorl.server.runtime.runtime import engine_options
from whorl.server.settings import Settings

OUTPUT = "http://ex.org/declared-output"
GRAPH = "".join(f"<http://ex.org/n{number}> <http://ex.org/q> {number} .\n" for number in range(100))
COSTLY = text_over(IRI).replace(
    "WHERE {", "WHERE { GRAPH <http://ex.org/g> { ?a <http://ex.org/q> ?b . ?c <http://ex.org/q> ?d }"
)


def core_with_data() -> Core:
    """A declared stream, a query over it, and static data of which a product is too costly."""
    core = Core({**engine_options(Settings(work_max=5_000, allow_cartesian=True)), "hash_seed": 7})
    core.apply(c.DeclareStream(IRI, c.StreamOptions()))
    core.apply(c.DeclareStream(OUTPUT, c.StreamOptions()))
    core.apply(c.LoadGraph("http://ex.org/g", GRAPH.encode(), "turtle"))
    core.apply(c.Register("sound", text_over(IRI), {}, "a1", guarded=True))
    return core


def refused(core: Core, command: c.Command) -> str:
    """The type of the refusal; nothing has changed."""
    before = state(core)
    with pytest.raises(DomainError) as caught:
        core.apply(command)
    assert core.drain() == []
    assert state(core) == before
    return problem_type(caught.value).slug


def state(core: Core) -> tuple[Any, ...]:
    """All that a command could have changed."""
    streams, queries = (
        {name: asdict(entry) for name, entry in entries.items()} for entries in (core.streams, core.queries)
    )
    return core.offset, streams, queries, core.engine.queries(), core.outputs()


def push(core: Core, t: int) -> None:
    core.apply(c.Push(IRI, b"<http://ex.org/a> <http://ex.org/p> 1 .", "turtle", at=t))


def test_a_query_that_fails_as_it_starts_is_refused() -> None:
    core = core_with_data()
    assert refused(core, c.Register("costly", COSTLY, {}, "b1", guarded=True)) == "query-too-costly"
    assert refused(core, c.Replace("sound", COSTLY, {}, "b2", guarded=True)) == "query-too-costly"
    assert list(core.queries) == ["sound"]
    # Its number had stayed in the engine without a name, and the next result ended the engine's thread.
    push(core, 1_000)
    core.apply(c.Advance(IRI, 30_000))
    assert {type(one) for one in core.drain()} == {Published}


def test_a_restart_that_fails_leaves_the_query_as_it_was() -> None:
    core = core_with_data()
    core.apply(c.DropGraph("http://ex.org/g"))
    core.apply(c.Register("costly", COSTLY, {}, "b1", guarded=True))
    core.apply(c.Pause("costly"))
    core.apply(c.LoadGraph("http://ex.org/g", GRAPH.encode(), "turtle"))
    assert refused(core, c.Restart("costly", "b2", guarded=True)) == "query-too-costly"
    assert (core.query("costly").status, core.query("costly").incarnation) == ("paused", "b1")


def test_a_stream_is_reopened_though_a_query_fails_as_it_restarts() -> None:
    core = core_with_data()
    core.apply(c.DropGraph("http://ex.org/g"))
    core.apply(c.Register("costly", COSTLY, {}, "b1", guarded=True))
    core.apply(c.CloseStream(IRI))
    core.drain()
    core.query("costly").status = "running"
    # The new data fails the running query, or its restart; either way the stream opens and the other query runs.
    core.apply(c.LoadGraph("http://ex.org/g", GRAPH.encode(), "turtle"))
    core.apply(c.ReopenStream(IRI, "c1"))
    assert [one.query for one in core.drain() if isinstance(one, Failed)] == ["costly"]
    assert {name: entry.status for name, entry in core.queries.items()} == {"sound": "running", "costly": "failed"}
    push(core, 1_000)
    core.apply(c.Advance(IRI, 30_000))
    assert [one.query for one in core.drain()] == ["sound"]


def test_no_query_writes_into_a_declared_stream() -> None:
    core = core_with_data()
    taking = relay(OUTPUT, IRI)
    assert refused(core, c.Register("taker", taking, {}, "b1", guarded=True)) == "output-declared"
    assert refused(core, c.Replace("sound", taking, {}, "b2", guarded=True)) == "output-declared"
    core.apply(c.DropStream(OUTPUT))
    core.apply(c.Register("writer", taking, {}, "b3", guarded=True))
    core.apply(c.Pause("writer"))
    core.apply(c.DeclareStream(OUTPUT, c.StreamOptions()))
    assert refused(core, c.Restart("writer", "b4", guarded=True)) == "output-declared"


def test_a_log_of_an_earlier_version_with_such_a_query_is_replayed() -> None:
    core = core_with_data()
    kind, members, body = c.Register("taker", relay(OUTPUT, IRI), {}, "b1").record()
    assert b'"guarded":false' in members
    core.apply(c.command_of(kind, members.replace(b',"guarded":false', b""), body))
    assert core.query("taker").facts["output"] == OUTPUT


def test_the_reply_says_which_stream_is_declared(server: ServerProcess) -> None:
    with server.client() as client:
        for iri in (STREAM, f"/streams/{OUTPUT}"):
            assert client.put(iri).is_success
        text = relay(OUTPUT, IRI)
        answers = [
            client.put("/queries/taker", content=text, headers=RSPQL),
            client.post("/queries/validate", content=text, headers=RSPQL),
        ]
        for answer in answers:
            assert answer.status_code == 409
            assert answer.json()["type"] == "urn:whorl:problem:output-declared"
            assert OUTPUT in answer.json()["detail"]
        assert client.get("/queries/taker").status_code == 404
        for iri in (STREAM, f"/streams/{OUTPUT}"):
            client.delete(iri, params={"cascade": "true"})
