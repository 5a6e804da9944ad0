"""The W3C tests of SPARQL 1.1 Update.

Detects: wrong graphs after a request, requests that are wrongly refused or accepted. Does not detect: running queries
that miss an update; the laws of the engine do.
"""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from whorl import Engine, QuerySyntaxError, WhorlError
from whorl_w3c.suite import ARCHIVE, BASE, load_suite
from whorl_w3c.updates import Update, dataset, updates

SUITE = load_suite()
ENTRIES = [] if SUITE is None else updates(SUITE)

# The requests that are well formed and refused on purpose, with the code that says so.
LOAD = "unsupported.load: the engine opens no sockets, so there is nothing to load from"
REFUSED = {
    "syntax-update-1/test_1": LOAD,
    "syntax-update-1/test_2": LOAD,
    "syntax-update-1/test_3": LOAD,
    "syntax-update-1/test_37": LOAD,
}

pytestmark = pytest.mark.skipif(SUITE is None, reason=f"{ARCHIVE} is not there; WHORL_TEST_DATA says where data is")


def named(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", [e for e in ENTRIES if e.kind == kind], ids=lambda entry: entry.id)


def content(engine: Engine) -> ox.Dataset:
    found = ox.Dataset()
    for name in engine.graphs():
        graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
        for subject, predicate, obj in engine.graph(name, terms="pyoxigraph"):
            found.add(ox.Quad(subject, predicate, obj, graph))
    return found


def canonical(graphs: ox.Dataset) -> ox.Dataset:
    graphs.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return graphs


@named("evaluation")
def test_the_graphs_are_as_the_request_makes_them(entry: Update) -> None:
    assert SUITE is not None
    engine = Engine()
    engine.load(None, ox.serialize(dataset(SUITE, entry.before), format=ox.RdfFormat.N_QUADS) or b"", "nquads")
    engine.update(SUITE.content(entry.request).decode(), base_iri=BASE + entry.request)
    assert canonical(content(engine)) == canonical(dataset(SUITE, entry.after))


def outcome(entry: Update) -> str:
    """The code of the error, or nothing."""
    assert SUITE is not None
    try:
        Engine().update(SUITE.content(entry.request).decode(), base_iri=BASE + entry.request)
    except WhorlError as error:
        return error.code
    return ""


@named("positive")
def test_a_good_request_is_taken(entry: Update) -> None:
    # The engine is empty: what is not there cannot be cleared or moved.
    expected = [REFUSED[entry.id].partition(":")[0]] if entry.id in REFUSED else ["", "graph.unknown"]
    assert outcome(entry) in expected


@named("negative")
def test_a_bad_request_is_refused_with_its_place(entry: Update) -> None:
    assert SUITE is not None
    with pytest.raises(QuerySyntaxError) as refused:
        Engine().update(SUITE.content(entry.request).decode(), base_iri=BASE + entry.request)
    assert not refused.value.code.startswith("unsupported.")
    assert refused.value.line is not None


def test_the_suite_is_whole() -> None:
    counts = {kind: sum(entry.kind == kind for entry in ENTRIES) for kind in ("evaluation", "positive", "negative")}
    assert counts == {"evaluation": 65, "positive": 31, "negative": 14}
    assert set(REFUSED) <= {entry.id for entry in ENTRIES}
