"""The outside oracle: what every answer must be, computed the slow way.

It shares no code with the engine. Windows are cut by the formulas of the semantics over a list of all events;
each evaluation is a fresh SPARQL query put to pyoxigraph (or rdflib) over the content of the windows.

It can see: wrong window edges, wrong evaluation instants, lost or doubled solutions, wrong aggregates, wrong
differences. It cannot see: faults that pyoxigraph and the engine have in common in plain SPARQL (rdflib is asked
for a sample), the cost of an answer, or anything about serialisation.
"""

from whorl_oracle.model import (
    Advance,
    AllSoFar,
    Close,
    Dialect,
    Elements,
    Event,
    Now,
    Options,
    Past,
    Push,
    R2s,
    Report,
    Sliding,
    Step,
    Tick,
    Triples,
    Window,
)
from whorl_oracle.run import Answer, Oracle, run

__all__ = [
    "Advance",
    "AllSoFar",
    "Answer",
    "Close",
    "Dialect",
    "Elements",
    "Event",
    "Now",
    "Options",
    "Oracle",
    "Past",
    "Push",
    "R2s",
    "Report",
    "Sliding",
    "Step",
    "Tick",
    "Triples",
    "Window",
    "run",
]
