"""The current answer of a query, as a document or as an envelope that a subscription begins with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl.server.errors import engine_refusals
from whorl.server.services.messages import compact

if TYPE_CHECKING:
    from whorl.server.runtime.core import Core

_TYPES = {"SELECT": "bindings", "ASK": "boolean", "CONSTRUCT": "graph", "DESCRIBE": "graph"}


def is_graph(core: Core, name: str) -> bool:
    """Whether the answers of a query are graphs."""
    return _TYPES[core.query(name).facts["form"]] == "graph"


def current_answer(core: Core, name: str, form: str) -> bytes:
    """The answer of a query at its last evaluation, whole, in a format of the engine."""
    _, number = core.running(name)
    with engine_refusals():
        return core.engine.answer(number, form)


def snapshot_envelope(core: Core, name: str) -> tuple[int, str]:
    """The current answer as an envelope with `"snapshot":true`, and the number of the result it stands at."""
    entry, _ = core.running(name)
    kind = _TYPES[entry.facts["form"]]
    head = {
        "query": name,
        "incarnation": entry.incarnation,
        "seq": entry.last_seq,
        "token": f"{entry.incarnation}:{entry.last_seq}",
        "t": entry.last_result_at,
        "snapshot": True,
        "r2s": entry.facts.get("r2s"),
        "type": kind,
    }
    answer = current_answer(core, name, "nquads" if kind == "graph" else "json").decode()
    results = json.dumps(answer, ensure_ascii=False) if kind == "graph" else answer.strip()
    return entry.last_seq, f'{compact(head)[:-1]},"results":{results}}}'
