"""The first events of each stream of `whorl run`, kept to list the predicates that occur if a pattern matches nothing.

The engine itself skips triples that no pattern matches. Bodies are kept as they were pushed, one for each
stream, and read only to explain why there is no result.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.why import Subject, why

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl import Engine, Query
    from whorl.cli.events import Batch

_PREDICATES = """SELECT ?p (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <{stream}> [ALL]
WHERE {{ WINDOW <urn:w> {{ ?s ?p ?o }} }} GROUP BY ?p ORDER BY DESC(?n) ?p LIMIT 20"""


@dataclass(slots=True)
class Sample:
    """One body of each stream, and a factory for an engine that can read it."""

    engine_for: Callable[[str], Engine]
    bodies: dict[str, Batch] = field(default_factory=dict)

    def keep(self, stream: str, batch: Batch) -> None:
        """Keep the first body of a stream, which represents the rest."""
        self.bodies.setdefault(stream, batch)

    def predicates(self, stream: str) -> dict[str, int]:
        """The predicates that occur, with counts, the most frequent first."""
        from whorl import WhorlError

        batch = self.bodies.get(stream)
        if batch is None:
            return {}
        try:
            engine = self.engine_for(stream)
            query = engine.register(_PREDICATES.format(stream=stream))
            engine.push(stream, batch.at, batch.body, batch.format)  # type: ignore[arg-type]  # formats are text here
            engine.close()
            last = json.loads(query.results()[-1])
        except (WhorlError, IndexError):
            return {}
        return {row["p"]["value"]: int(row["n"]["value"]) for row in last["results"]["results"]["bindings"]}


def reason_of(engine: Engine, query: Query, sample: Sample, *, has_ended: bool) -> dict[str, Any]:
    """Why the query has no result: the document that a server would return."""
    facts: dict[str, Any] = dict(query.describe())
    return why(
        Subject(
            engine._engine,
            query.number,
            query.text,
            facts,
            has_ended=has_ended,
            look=lambda window: sample.predicates(window["stream"]),
        )
    )
