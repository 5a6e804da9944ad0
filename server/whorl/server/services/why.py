"""Why a query of the catalogue has no solutions now: see `whorl.why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import why as reasons
from whorl.server import schemas

if TYPE_CHECKING:
    from whorl.server.runtime.core import Core, QueryEntry
    from whorl.server.services.ingest import Ingest


def why(core: Core, name: str, ingest: Ingest) -> schemas.WhyDocument:
    """Why a query has no solutions now, with the windows and patterns that show it."""
    return schemas.WhyDocument(query=name, **reasons.why(_subject(core, core.query(name), ingest)))


def _subject(core: Core, entry: QueryEntry, ingest: Ingest) -> reasons.Subject:
    return reasons.Subject(
        engine=core.engine,
        number=entry.number,
        text=entry.text,
        facts=entry.facts,
        t0=int(entry.options.get("t0") or 0),
        results=entry.results,
        turned_away={iri: _turned_away(ingest, iri) for iri in entry.facts.get("streams", ())},
        failure=entry.failure if entry.status == "failed" else None,
    )


def _turned_away(ingest: Ingest, iri: str) -> reasons.RefusedEvents:
    found = ingest.refusals(iri)
    return reasons.RefusedEvents(found.refused, found.ahead, "" if found.last is None else found.last["reason"])
