"""One test asked once, over static graphs: the way of `/sparql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyoxigraph as ox
from whorl import Engine, WhorlError

from whorl_w3c.answers import Answer, from_document, graph_answer
from whorl_w3c.compare import why_not_same
from whorl_w3c.run import ntriples, read_task
from whorl_w3c.suite import BASE

if TYPE_CHECKING:
    from whorl_w3c.run import Task
    from whorl_w3c.suite import Entry, Suite

_MILLISECONDS = 60_000


def asked_fault(suite: Suite, entry: Entry, *, beside: bool = False) -> str | None:
    """What is wrong with the answer, given by the engine or beside it; None when it is the expected one."""
    task = read_task(suite, entry)
    try:
        found = asked(task, beside=beside)
    except WhorlError as error:
        return f"{type(error).__name__}: {error}"
    return why_not_same(task.expected, found, task.rules())


def asked(task: Task, *, beside: bool = False) -> Answer:
    """The answer over the graphs of a test."""
    engine, base = Engine(), BASE + task.entry.query
    engine.load(None, ntriples(task.data), "ntriples")
    for name, triples in (task.graphs | task.merged).items():
        engine.load(name, ntriples(triples), "ntriples")
    if Engine.query_form(task.text, base_iri=base) in ("construct", "describe"):
        body = _body(engine, task.text, "ntriples", base, beside=beside)
        return graph_answer(quad.triple for quad in ox.parse(body, ox.RdfFormat.N_TRIPLES))
    return from_document(_body(engine, task.text, "json", base, beside=beside))


def _body(engine: Engine, text: str, form: Literal["ntriples", "json"], base: str, *, beside: bool) -> bytes:
    if not beside:
        return engine.ask(text, form, base_iri=base)
    copied = engine._engine.copy_for_question(text, form, _MILLISECONDS, base_iri=base)
    return copied.document(_MILLISECONDS)
