"""CSRBench: 34 graphs of weather observations, one per second.

The file `data_NN.ttl` is the event of second NN; observations of one instant stand together in one file.
"""

from __future__ import annotations

import re

import pyoxigraph as ox

from whorl_workloads.data import Event, data_path, parse, tar_members

OBSERVATIONS = "http://example.org/csrbench/observations"


def events() -> list[Event]:
    """All 34 events."""
    members = tar_members(data_path("csrbench", "data.tar.gz"))
    found = []
    for name, body in sorted(members.items()):
        numbered = re.search(r"data_(\d+)\.ttl$", name)
        if numbered is not None:
            triples = tuple(parse(body, ox.RdfFormat.TURTLE))
            found.append(Event(OBSERVATIONS, int(numbered[1]) * 1000, triples))
    return found
