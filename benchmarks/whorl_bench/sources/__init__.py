"""The sources of events: our own generators, and loaders of public data, by their names in workloads.

Public data is in `$WHORL_TEST_DATA` or in the folder `shared` beside the checkout; without it a source raises
`DataMissingError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whorl_bench.case import Case
from whorl_bench.sources import cgpm, chains, conference, public
from whorl_bench.workload import Parameters

Source = Callable[[Parameters], Case]

SOURCES: dict[str, Source] = {
    "chain": chains.chain,
    "hopping": chains.hopping,
    "groups": chains.groups,
    "values": chains.values,
    "rotating": chains.rotating,
    "conference": conference.single,
    "conference-many": conference.many,
    "srbench": public.srbench,
    "lsbench": public.lsbench,
    "debs2015": public.debs2015,
    "taxi-graphs": cgpm.taxi,
    "lsbench-posts": cgpm.lsbench_posts,
    "snb": cgpm.snb,
    "lubm": cgpm.lubm,
}


def case_of(source: str, parameters: dict[str, Any]) -> Case:
    """The events and queries of a point."""
    try:
        make = SOURCES[source]
    except KeyError:
        raise ValueError(f"there is no source {source!r}") from None
    return make(parameters)
