"""The outside oracle: what every answer must be, computed the slow way.

It shares no code with the engine and follows the contract, not the engine's decisions: windows are cut by the formulas
of the semantics over a list of all events (`windows`, `run`), and each evaluation is a fresh one over the content of
the windows, by the algebra of SPARQL 1.1 over bags (`algebra`), or by pyoxigraph (`snapshot`) for the whole language.

`rare` draws scenarios for the first, `whole` pairs for the second; `campaign` and `check` run them, and make a
difference small.

It can see: wrong window edges, wrong evaluation instants, lost or doubled solutions, wrong aggregates, wrong
differences, an answer that depends on batches, formats, snapshots, other queries or ways of working. It cannot see the
cost of an answer.
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
