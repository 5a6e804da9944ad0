"""Streams: declare them, advance watermarks, map rows, stage and commit. Events are pushed in `pushing.py`."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import errors, media, schemas
from whorl.server.routes.bodies import read_body, read_json, read_text
from whorl.server.routes.deps import (
    Anybody,
    Ingester,
    Registrar,
    StreamIri,
    TheIngest,
    TheRegistry,
    TheSettings,
)
from whorl.server.routes.openapi import bodies, json_body, problems, text_answer
from whorl.server.routes.push_description import EXAMPLES
from whorl.server.routes.responses import JsonResponse
from whorl.server.services import descriptors

router = APIRouter(tags=["streams"])


# ---- the catalogue ----


@router.put(
    "/streams/{iri}",
    summary="Declare a stream",
    status_code=201,
    responses={
        200: {"description": "declared already, with these settings", "model": schemas.StreamDocument},
        201: {"description": "declared; `Location` is its address", "model": schemas.StreamDocument},
        **problems(400, 408, 409, 413, 415, 422),
    },
    openapi_extra=json_body(schemas.StreamSettings, {"lateness": "10s", "time": "event"}, required=False),
)
async def declare_stream(
    request: Request, _: Registrar, iri: StreamIri, registry: TheRegistry, settings: TheSettings
) -> Response:
    """Declare a stream. Repeating the request is harmless; other settings for an existing stream are refused."""
    wanted = await read_json(request, schemas.StreamSettings, settings.query_bytes_max, optional=True)
    found = await registry.declare(iri, wanted)
    location = {"Location": address(request, iri)}
    return JsonResponse(found.document.document(), 201 if found.created else 200, headers=location)


@router.get(
    "/streams",
    summary="All streams",
    response_model=schemas.StreamList,
    responses={200: text_answer("all streams", media.TURTLE), **problems(406)},
)
async def list_streams(request: Request, _: Anybody, registry: TheRegistry) -> Response:
    """All streams, in the order of their IRIs; in Turtle as VoCaLS descriptors."""
    wanted = media.negotiate(request.headers.get("accept"), (media.JSON, media.TURTLE))
    found = await registry.streams()
    if wanted == media.TURTLE:
        text = "".join(descriptors.vocals(one, base_of(request)) for one in found)
        return Response(text, media_type=media.content_type(media.TURTLE))
    return JsonResponse(schemas.StreamList(streams=found).document())


@router.get(
    "/streams/{iri}",
    summary="One stream",
    response_model=schemas.StreamDocument,
    responses={200: text_answer("the stream", media.TURTLE), **problems(400, 404, 406)},
)
async def get_stream(request: Request, _: Anybody, iri: StreamIri, registry: TheRegistry) -> Response:
    """A stream and its counters; in Turtle its VoCaLS descriptor."""
    wanted = media.negotiate(request.headers.get("accept"), (media.JSON, media.TURTLE))
    found = await registry.stream(iri)
    if wanted == media.TURTLE:
        return Response(descriptors.vocals(found, base_of(request)), media_type=media.content_type(media.TURTLE))
    return JsonResponse(found.document())


@router.delete("/streams/{iri}", summary="Delete a stream", status_code=204, responses=problems(400, 404, 409))
async def delete_stream(
    caller: Registrar,
    iri: StreamIri,
    registry: TheRegistry,
    *,
    cascade: Annotated[bool, Query(description="also delete the queries that depend on the stream")] = False,
) -> Response:
    """Delete a stream that no query reads; with `cascade=true` also its queries, if the caller may delete them."""
    await registry.drop_stream(iri, caller, cascade=cascade)
    return Response(status_code=204)


# ---- time and ends ----


@router.post(
    "/streams/{iri}/watermark",
    summary="Advance the watermark of a stream",
    response_model=schemas.Watermark,
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=json_body(schemas.WatermarkRequest, {"t": 10_000}),
)
async def advance_watermark(
    request: Request, _: Ingester, iri: StreamIri, registry: TheRegistry, settings: TheSettings
) -> Response:
    """No event before `t` will follow: windows that close by then report."""
    wanted = await read_json(request, schemas.WatermarkRequest, settings.query_bytes_max)
    return JsonResponse({"watermark": await registry.advance(iri, wanted.t)})


@router.post("/streams/{iri}/close", summary="Close a stream", responses=problems(400, 404, 409))
async def close_stream(_: Ingester, iri: StreamIri, registry: TheRegistry) -> Response:
    """No more events will follow: open windows report, and the stream no longer holds queries back."""
    await registry.close_stream(iri)
    return JsonResponse({"closed": True})


@router.post("/streams/{iri}/reopen", summary="Reopen a closed stream", responses=problems(400, 404, 409))
async def reopen_stream(caller: Ingester, iri: StreamIri, registry: TheRegistry) -> Response:
    """Accept events again, at any time. The queries that read the stream restart; the caller must own them."""
    return JsonResponse({"closed": False, "queries": await registry.reopen_stream(iri, caller)})


# ---- rows ----


@router.put(
    "/streams/{iri}/mapping",
    summary="Set the mapping from rows to triples",
    status_code=201,
    responses={
        200: {"description": "replaced another mapping", "model": schemas.MappingDocument},
        201: {"description": "created", "model": schemas.MappingDocument},
        **problems(400, 404, 408, 409, 413, 415, 422),
    },
    openapi_extra=bodies(
        {"application/sparql-query": "CONSTRUCT { ?room <http://ex.org/temperature> ?celsius } WHERE {}"}
    ),
)
async def set_mapping(
    request: Request,
    _: Registrar,
    iri: StreamIri,
    registry: TheRegistry,
    settings: TheSettings,
    time_column: Annotated[str, Query(alias="timeColumn", min_length=1, max_length=256)] = "t",
) -> Response:
    """A SPARQL CONSTRUCT whose variables are column names; it maps the rows of Arrow bodies pushed to the stream."""
    media_type = media.text_type_of(request.headers.get("content-type"))
    if media_type not in {media.SPARQL_QUERY, media.PLAIN, media.RSP_QL, ""}:
        said = f"the media type '{media_type[:80]}' is not supported for a mapping"
        raise errors.MediaTypeError(said, hint=f"send it as {media.SPARQL_QUERY}")
    text = await read_text(request, settings.query_bytes_max)
    created = await registry.set_mapping(iri, text, time_column)
    return JsonResponse({"mapping": text, "timeColumn": time_column}, 201 if created else 200)


@router.get(
    "/streams/{iri}/mapping",
    summary="Read the mapping of a stream",
    response_model=schemas.MappingDocument,
    responses=problems(400, 404),
)
async def get_mapping(_: Anybody, iri: StreamIri, registry: TheRegistry) -> Response:
    """How rows of this stream become triples."""
    found = await registry.mapping(iri)
    return JsonResponse({"mapping": found.construct, "timeColumn": found.time_column})


@router.delete(
    "/streams/{iri}/mapping",
    summary="Remove the mapping of a stream",
    status_code=204,
    responses=problems(400, 404, 409),
)
async def delete_mapping(_: Registrar, iri: StreamIri, registry: TheRegistry) -> Response:
    """Rows are no longer mapped; bodies with the columns s, p, o are still accepted."""
    await registry.remove_mapping(iri)
    return Response(status_code=204)


@router.post(
    "/streams/{iri}/stages",
    summary="Stage a body for a later commit",
    status_code=201,
    responses={201: {"description": "kept", "model": schemas.Staged}, **problems(400, 404, 408, 413, 415)},
    openapi_extra=bodies({name: EXAMPLES[name] for name in (media.ARROW, "application/n-quads")}),
)
async def stage_body(
    request: Request, _: Ingester, iri: StreamIri, ingest: TheIngest, settings: TheSettings
) -> Response:
    """Store a body invisibly until a commit names its token or it expires."""
    form = media.format_of(request.headers.get("content-type"), media.STAGE_FORMATS)
    body = await read_body(request, settings.body_bytes_max)
    return JsonResponse({"token": await ingest.stage(iri, body, form)}, 201)


@router.post(
    "/streams/{iri}/commits",
    summary="Commit staged bodies",
    response_model=schemas.Ingested,
    responses=problems(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=json_body(schemas.CommitRequest, {"producer": "job-1", "batch": 7, "tokens": ["…"]}),
)
async def commit_bodies(
    request: Request, _: Ingester, iri: StreamIri, ingest: TheIngest, settings: TheSettings
) -> Response:
    """Turn staged bodies into events at once, in time order; a repeated batch changes nothing."""
    wanted = await read_json(request, schemas.CommitRequest, settings.message_bytes_max)
    reply = await ingest.commit(iri, wanted.producer, wanted.batch, tuple(wanted.tokens), wanted.watermark)
    return JsonResponse(reply)


# ---- parts ----


def base_of(request: Request) -> str:
    """The base URL of the API as the caller wrote it, without a trailing slash."""
    return str(request.base_url).rstrip("/")


def address(request: Request, iri: str) -> str:
    """The path of a stream."""
    return f"{request.scope.get('root_path', '')}/streams/{quote(iri, safe='')}"
