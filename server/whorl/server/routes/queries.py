"""Queries: register, inspect, pause, restart and delete them."""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

import orjson
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import errors, media, plans, schemas
from whorl.server.routes.bodies import parse_json, read_body, utf8
from whorl.server.routes.deps import QueryName, ReaderOrRegistrar, Registrar, TheIngest, TheRegistry, TheRuntime
from whorl.server.routes.openapi import form, json_body, problems
from whorl.server.routes.responses import JsonResponse
from whorl.server.services.registry import Registered
from whorl.server.services.why import why

if TYPE_CHECKING:
    from whorl.server.settings import Settings

router = APIRouter(tags=["queries"])
Replace = Annotated[bool, Query(description="replace the query of this name if the text differs")]

_TEXT = (
    "PREFIX ex: <http://ex.org/>\n"
    "REGISTER RSTREAM <hot> AS SELECT ?room ?t\n"
    "FROM NAMED WINDOW ex:w ON ex:s [RANGE PT10S STEP PT5S]\n"
    "WHERE { WINDOW ex:w { ?room ex:temperature ?t FILTER(?t > 25) } }"
)
_BODY = json_body(
    schemas.QueryRequest, {"query": _TEXT, "r2s": "RSTREAM"}, also={media.RSP_QL: _TEXT, media.PLAIN: _TEXT}
)
_ACTION = json_body(schemas.QueryAction, {"action": "pause"})
_ACTION["requestBody"]["content"][media.FORM] = form(
    {"action": "restart"}, required=("action",), action={"enum": ["pause", "restart"]}
)
_REGISTERED: dict[int | str, dict[str, Any]] = {
    200: {"description": "registered already, with this text and these options", "model": schemas.QueryDocument},
    201: {"description": "registered; `Location` is its address", "model": schemas.QueryDocument},
    **problems(400, 408, 409, 413, 415, 422),
}


@router.put("/queries/{name}", summary="Register a query", status_code=201, responses=_REGISTERED, openapi_extra=_BODY)
async def register_query(
    request: Request, caller: Registrar, name: QueryName, registry: TheRegistry, *, replace: Replace = False
) -> Response:
    """Register a query under a name. Repeating the request is harmless; another text under the name is refused.

    With `replace=true`, another text ends the query of that name, tells its subscribers, and starts the new one.
    """
    wanted = await _query_of(request)
    if wanted.name not in {None, name}:
        raise errors.InvalidNameError("the name in the body differs from the name in the path")
    start = registry.replace if replace else registry.register
    return _answer(request, await start(name, wanted, caller))


@router.post("/queries", summary="Register a query", status_code=201, responses=_REGISTERED, openapi_extra=_BODY)
async def add_query(request: Request, caller: Registrar, registry: TheRegistry) -> Response:
    """Register a query under the name in the body, or under a generated one."""
    wanted = await _query_of(request)
    return _answer(request, await registry.register(wanted.name, wanted, caller))


@router.post(
    "/queries/validate",
    summary="Validate a query without registering it",
    response_model=plans.ValidationDocument,
    responses=problems(400, 408, 413, 415, 422),
    openapi_extra=_BODY,
)
async def validate_query(request: Request, caller: Registrar, registry: TheRegistry) -> Response:
    """The dialect, windows, streams and plan that the query would have, and warnings."""
    return JsonResponse(await registry.validate(await _query_of(request), caller))


@router.get("/queries", summary="All queries", response_model=schemas.QueryList, responses=problems())
async def list_queries(_: ReaderOrRegistrar, registry: TheRegistry) -> Response:
    """All queries, in the order of their names."""
    return JsonResponse(schemas.QueryList(queries=await registry.queries()).document())


@router.get("/queries/{name}", summary="One query", response_model=schemas.QueryDocument, responses=problems(400, 404))
async def get_query(_: ReaderOrRegistrar, name: QueryName, registry: TheRegistry) -> Response:
    """A query and its progress."""
    return JsonResponse((await registry.query(name)).document())


@router.get(
    "/queries/{name}/plan",
    summary="Explain how a query is evaluated",
    response_model=plans.PlanDocument,
    responses=problems(400, 404, 409),
)
async def get_plan(_: ReaderOrRegistrar, name: QueryName, runtime: TheRuntime) -> Response:
    """The tree of operators: cardinalities, sizes of indexes, probing orders and how often each was chosen."""
    plan = await runtime.read(lambda core: core.engine.explain_json(core.running(name)[1]))
    return Response(plan, media_type=media.JSON)


@router.get(
    "/queries/{name}/why",
    summary="Explain why a query has no solutions",
    response_model=schemas.WhyDocument,
    responses=problems(400, 404),
)
async def get_why(_: ReaderOrRegistrar, name: QueryName, runtime: TheRuntime, ingest: TheIngest) -> Response:
    """The first reason that holds: failed, paused, no events, refused, late, no window closed, no match, filtered."""
    return JsonResponse((await runtime.read(lambda core: why(core, name, ingest))).document())


@router.post(
    "/queries/{name}",
    summary="Pause or restart a query",
    response_model=schemas.QueryDocument,
    responses=problems(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=_ACTION,
)
async def pause_or_restart_query(
    request: Request, caller: Registrar, name: QueryName, registry: TheRegistry
) -> Response:
    """Pause: stop it and keep its text. Restart: start it again with empty windows and a new incarnation."""
    action = await _action_of(request)
    change = registry.pause if action == "pause" else registry.restart
    return JsonResponse((await change(name, caller)).document())


@router.delete("/queries/{name}", summary="Delete a query", status_code=204, responses=problems(400, 404, 409))
async def delete_query(caller: Registrar, name: QueryName, registry: TheRegistry) -> Response:
    """Delete a query and tell its subscribers."""
    await registry.unregister(name, caller)
    return Response(status_code=204)


# ---- parts ----


async def _query_of(request: Request) -> schemas.QueryRequest:
    """The query of a request."""
    settings: Settings = request.app.state.settings
    media_type = media.text_type_of(request.headers.get("content-type"))
    # JSON may need six bytes per character; the registry limits the text itself.
    bytes_max = settings.query_bytes_max * (2 if media_type == media.JSON else 1)
    body = await read_body(request, bytes_max)
    if media_type == media.JSON:
        return parse_json(body, schemas.QueryRequest)
    if media_type not in {media.RSP_QL, media.PLAIN, media.SPARQL_QUERY, ""}:
        said = f"the media type '{media_type[:80]}' is not supported for a query"
        raise errors.MediaTypeError(said, hint=f"send {media.RSP_QL}, {media.PLAIN} or {media.JSON}")
    return _with_options(utf8(body), dict(request.query_params))


def _with_options(text: str, options: dict[str, str]) -> schemas.QueryRequest:
    """A query sent as text, with its options in the query string."""
    known = {field.alias or name for name, field in schemas.QueryOptions.model_fields.items()}
    given: dict[str, Any] = {name: value for name, value in options.items() if name in known}
    if "report" in given:
        given["report"] = [part.strip() for part in given["report"].split(",")]
    return schemas.checked(schemas.QueryRequest, {**given, "query": text})


def _answer(request: Request, found: Registered) -> Response:
    location = {"Location": f"{request.scope.get('root_path', '')}/queries/{found.document.id}"}
    return JsonResponse(found.document.document(), 201 if found.created else 200, headers=location)


async def _action_of(request: Request) -> str:
    settings: Settings = request.app.state.settings
    media_type = media.text_type_of(request.headers.get("content-type"))
    body = await read_body(request, settings.query_bytes_max)
    if media_type == media.FORM:
        body = orjson.dumps({name: values[0] for name, values in parse_qs(utf8(body)).items()})
    elif media_type not in {media.JSON, ""}:
        raise errors.MediaTypeError(
            f"the media type '{media_type[:80]}' is not supported for an action", hint="send JSON"
        )
    return parse_json(body, schemas.QueryAction).action
