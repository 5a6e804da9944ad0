"""The description of `POST /streams/{iri}` for the OpenAPI document.

`pushing.PushMiddleware` handles the route and reads the same parameters. No application uses this router; a test builds
one with it, to compare what both refuse.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import media, schemas
from whorl.server.routes.deps import EncodedIri, EventTime, Ingester
from whorl.server.routes.openapi import bodies, problems
from whorl.server.routes.pushing import AckKind, push

router = APIRouter(tags=["streams"])

Ack = Annotated[
    AckKind | None,
    Query(description="`synced`: respond when durable; `memory`: when applied; `batch`: NDJSON, one line per batch"),
]
Atomic = Annotated[
    bool, Query(description="all events or none; with false, valid events are accepted and the others reported")
]

# A body of each media type.
EXAMPLES = {
    "text/turtle": "@prefix ex: <http://ex.org/> . ex:room1 ex:temperature 21.5 .",
    "application/n-triples": '<http://ex.org/room1> <http://ex.org/name> "lab" .',
    "application/ld+json": '{"@id": "http://ex.org/room1", "http://ex.org/temperature": 21.5}',
    "application/n-quads": "<http://ex.org/e1> <http://www.w3.org/ns/prov#generatedAtTime> "
    '"2026-01-31T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    '<http://ex.org/room1> <http://ex.org/name> "lab" <http://ex.org/e1> .',
    "application/trig": "@prefix ex: <http://ex.org/> . ex:e1 { ex:room1 ex:temperature 21.5 }",
    "application/x-ndjson": '{"t": 1000, "event": {"@id": "http://ex.org/room1", "http://ex.org/temperature": 21.5}}\n'
    '{"watermark": 2000}\n',
    "application/vnd.apache.arrow.stream": "(an Arrow IPC stream with the columns t, s, p, o, or those of the mapping)",
}


@router.post(
    "/streams/{iri}",
    summary="Push events",
    status_code=202,
    responses={
        200: {"description": "the body was accepted before: see `duplicates`", "model": schemas.Ingested},
        202: {
            "description": "accepted and durable; with `ack=batch` a line for each batch, or a problem",
            "model": schemas.Ingested,
            "content": {media.NDJSON: {"schema": {}}},
        },
        **problems(400, 404, 408, 409, 413, 415, 422),
    },
    openapi_extra=bodies(EXAMPLES),
)
async def push_events(
    request: Request, _: Ingester, iri: EncodedIri, t: EventTime = None, *, atomic: Atomic = True, ack: Ack = None
) -> Response:
    """One event (Turtle, N-Triples, JSON-LD) with its time in `?t=` or the header `RSP-Event-Time`; or many.

    In N-Quads and TriG each named graph is one event; `prov:generatedAtTime` in the default graph gives its time. In
    NDJSON each line is one event; the body may be endless, and is ingested in batches as it arrives. The header
    `RSP-Producer: id;epoch;seq` makes retries safe.
    """
    # `PushMiddleware` handles the request, and reads the same parameters without the framework.
    del t, atomic, ack
    return await push(request, iri)
