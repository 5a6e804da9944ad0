"""One test asked once, over static graphs: the way of `/sparql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph as ox
from whorl import Engine, WhorlError

from whorl_w3c.answers import Answer, from_document, graph_answer
from whorl_w3c.compare import why_not_same
from whorl_w3c.run import ntriples, read_task
from whorl_w3c.suite import BASE

if TYPE_CHECKING:
    from whorl_w3c.run import Task
    from whorl_w3c.suite import Entry, Suite


def asked_fault(suite: Suite, entry: Entry) -> str | None:
    """What is wrong with the answer; None when it is the expected one."""
    task = read_task(suite, entry)
    try:
        found = asked(task)
    except WhorlError as error:
        return f"{type(error).__name__}: {error}"
    return why_not_same(task.expected, found, task.rules())


def asked(task: Task) -> Answer:
    """The answer over the graphs of a test."""
    engine, base = Engine(), BASE + task.entry.query
    engine.load(None, ntriples(task.data), "ntriples")
    for name, triples in (task.graphs | task.merged).items():
        engine.load(name, ntriples(triples), "ntriples")
    if Engine.query_form(task.text, base_iri=base) in ("construct", "describe"):
        body = engine.ask(task.text, "ntriples", base_iri=base)
        return graph_answer(quad.triple for quad in ox.parse(body, ox.RdfFormat.N_TRIPLES))
    return from_document(engine.ask(task.text, "json", base_iri=base))
