"""The parts that sources share: queries from `examples/` or from the workload, and the case built from both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whorl_oracle.model import Dialect
from whorl_workloads.check import BY_SUFFIX, EXAMPLES
from whorl_workloads.data import Event, Static

from whorl_bench.case import Case, QueryText
from whorl_bench.workload import Parameters, WorkloadError

# Windows by time or count; `[NOW]` is not replaced.
_WINDOW = re.compile(r"\[(?:RANGE|TRIPLES|ELEMENTS) [^\]]*\]")


def query_of(parameters: Parameters) -> QueryText:
    """`query` is a file of `examples/`, `text` a query; `window` replaces its windows, `replace` words in it."""
    if "query" in parameters:
        path = EXAMPLES / parameters["query"]
        text, dialect = path.read_text(encoding="utf-8"), BY_SUFFIX[path.suffix]
    else:
        text, dialect = parameters["text"], Dialect(parameters.get("dialect", "cqels"))
    if "window" in parameters:
        text = _WINDOW.sub(f"[{parameters['window']}]", text)
    for old, new in parameters.get("replace", {}).items():
        text = text.replace(old, str(new))
    return QueryText(text, dialect)


def case(parameters: Parameters, events: Sequence[Event], static: Static, queries: Sequence[QueryText]) -> Case:
    """The warm-up and the measured events, and how they are pushed; a stream that ends in the warm-up is refused."""
    events = events[int(parameters.get("skip", 0)) :]
    warm = int(parameters.get("warm", 0))
    if warm >= len(events):
        raise WorkloadError(f"warm = {warm}, but the stream has {len(events)} events: none is left to measure")
    most = warm + int(parameters["events"]) if "events" in parameters else len(events)
    return Case(
        events=events[:most],
        static=static,
        queries=queries,
        warm=warm,
        feed=parameters.get("feed", "ntriples"),
        batch=int(parameters.get("batch", 1)),
        take=int(parameters.get("take", 64)),
        options=parameters.get("options", {}),
        minus=[query_of({**parameters, **parameters["minus"]})] if "minus" in parameters else (),
    )
