"""LUBM: universities as a stream of graphs, in the order of the files; each event is the next so many triples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyoxigraph as ox

from whorl_workloads.data import Event, Triple, data_path, parse, tar_members

FACTS = "http://example.org/lubm/facts"
BASE = "http://example.org/lubm/"


@cache
def triples(universities: int = 1) -> tuple[Triple, ...]:
    """The statements of the generator, each once, in its order; blank nodes do not occur."""
    files = tar_members(data_path("lubm", f"lubm-{universities}-seed0.tar.gz"))
    found: dict[Triple, None] = {}
    for _, body in sorted(files.items(), key=lambda one: _place(one[0])):
        found.update(dict.fromkeys(parse(body, ox.RdfFormat.RDF_XML, base_iri=BASE)))
    return tuple(found)


def _place(name: str) -> tuple[int, ...]:
    """`University0_10.owl` comes after `University0_9.owl`."""
    numbers = name.rpartition("University")[2].removesuffix(".owl").split("_")
    return tuple(int(number) for number in numbers)


def events(per_event: int, count: int | None = None, universities: int = 1) -> list[Event]:
    """Graphs of `per_event` triples, a second apart."""
    return list(_events(per_event, count, triples(universities)))


def _events(per_event: int, count: int | None, known: tuple[Triple, ...]) -> Iterator[Event]:
    for number, begin in enumerate(range(0, len(known), per_event)):
        if count is not None and number >= count:
            return
        yield Event(FACTS, number * 1000, known[begin : begin + per_event])
