"""The current result of a query, as a document or as the envelope that starts a subscription."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.server.errors import engine_refusals
from whorl.server.services.messages import compact

if TYPE_CHECKING:
    from whorl._engine import Copied
    from whorl.server.runtime.core import Core

_TYPES = {"SELECT": "bindings", "ASK": "boolean", "CONSTRUCT": "graph", "DESCRIBE": "graph"}


def is_graph(core: Core, name: str) -> bool:
    """Whether the results of a query are graphs."""
    return _TYPES[core.query(name).facts["form"]] == "graph"


def current_answer(core: Core, name: str, form: str) -> Copied:
    """The full result of a query at its last evaluation, ready to be written in a format of the engine."""
    _, number = core.running(name)
    with engine_refusals():
        return core.engine.copy_answer(number, form)


@dataclass(slots=True)
class Snapshot:
    """The current result of a query, for a subscription that starts with it; read in one turn, written later."""

    name: str
    seq: int = 0
    head: str = ""
    is_text: bool = False

    def read(self, core: Core) -> Copied:
        """Read the result and its sequence number."""
        kind, self.seq, self.head = _snapshot_head(core, self.name)
        self.is_text = kind == "graph"
        return current_answer(core, self.name, "nquads" if self.is_text else "json")

    def envelope(self, document: bytes) -> str:
        """The result as an envelope with `"snapshot":true`."""
        answer = document.decode()
        results = json.dumps(answer, ensure_ascii=False) if self.is_text else answer.strip()
        return f'{self.head[:-1]},"results":{results}}}'


def _snapshot_head(core: Core, name: str) -> tuple[str, int, str]:
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
    return kind, entry.last_seq, compact(head)
