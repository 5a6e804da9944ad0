"""Queries: registering, looking at, pausing, restarting and deleting them."""

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import errors, media, schemas
from whorl.server.routes.bodies import parse_json, read_body, utf8
from whorl.server.routes.deps import QueryName, ReaderOrRegistrar, Registrar, TheRegistry, TheRuntime
from whorl.server.routes.openapi import json_body, problems
from whorl.server.routes.responses import JsonResponse
from whorl.server.services.registry import Registered

if TYPE_CHECKING:
    from whorl.server.settings import Settings

router = APIRouter(tags=["queries"])

_TEXT = (
    "PREFIX ex: <http://ex.org/>\n"
    "REGISTER RSTREAM <hot> AS SELECT ?room ?t\n"
    "FROM NAMED WINDOW ex:w ON ex:s [RANGE PT10S STEP PT5S]\n"
    "WHERE { WINDOW ex:w { ?room ex:temperature ?t FILTER(?t > 25) } }"
)
_BODY = json_body(
    schemas.QueryRequest, {"query": _TEXT, "r2s": "RSTREAM"}, also={media.RSP_QL: _TEXT, media.PLAIN: _TEXT}
)
_REGISTERED: dict[int | str, dict[str, Any]] = {
    200: {"description": "it is there, with this text and these options", "model": schemas.QueryDocument},
    201: {"description": "registered; `Location` is its address", "model": schemas.QueryDocument},
    **problems(400, 408, 409, 413, 415, 422),
}


@router.put("/queries/{name}", summary="Register a query", status_code=201, responses=_REGISTERED, openapi_extra=_BODY)
async def put_query(request: Request, caller: Registrar, name: QueryName, registry: TheRegistry) -> Response:
    """Register a query under a name. Saying the same again is harmless; another text under the name is refused."""
    wanted = await _query_of(request)
    if wanted.name not in {None, name}:
        raise errors.InvalidNameError("the name in the body is not the name in the path")
    return _answer(request, await registry.register(name, wanted, caller))


@router.post("/queries", summary="Register a query", status_code=201, responses=_REGISTERED, openapi_extra=_BODY)
async def post_query(request: Request, caller: Registrar, registry: TheRegistry) -> Response:
    """Register a query under the name in the body, or under one that the server makes."""
    wanted = await _query_of(request)
    return _answer(request, await registry.register(wanted.name, wanted, caller))


@router.post(
    "/queries/validate",
    summary="Look at a query without registering it",
    responses={200: {"description": "dialect, windows, plan and warnings"}, **problems(400, 408, 413, 415, 422)},
    openapi_extra=_BODY,
)
async def validate(request: Request, caller: Registrar, registry: TheRegistry) -> Response:
    """What the query would do: its dialect, windows and streams, its plan, and warnings."""
    return JsonResponse(await registry.validate(await _query_of(request), caller))


@router.get("/queries", summary="All queries", response_model=schemas.QueryList, responses=problems())
async def list_queries(_: ReaderOrRegistrar, registry: TheRegistry) -> Response:
    """All queries, in the order of their names."""
    return JsonResponse(schemas.QueryList(queries=await registry.queries()).document())


@router.get("/queries/{name}", summary="One query", response_model=schemas.QueryDocument, responses=problems(400, 404))
async def get_query(_: ReaderOrRegistrar, name: QueryName, registry: TheRegistry) -> Response:
    """A query and how far it has come."""
    return JsonResponse((await registry.query(name)).document())


@router.get(
    "/queries/{name}/plan",
    summary="How a query is carried out",
    responses={200: {"description": "the operators with live counters"}, **problems(400, 404, 409)},
)
async def get_plan(_: ReaderOrRegistrar, name: QueryName, runtime: TheRuntime) -> Response:
    """The tree of operators: cardinalities, sizes of indexes, probing orders and how often each was chosen."""
    plan = await runtime.read(lambda core: core.engine.explain_json(core.running(name)[1]))
    return Response(plan, media_type=media.JSON)


@router.post(
    "/queries/{name}",
    summary="Pause or restart a query",
    response_model=schemas.QueryDocument,
    responses=problems(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=json_body(schemas.QueryAction, {"action": "pause"}, also={media.FORM: "action=restart"}),
)
async def act(request: Request, caller: Registrar, name: QueryName, registry: TheRegistry) -> Response:
    """Pause: stop it, keep its text. Restart: start it anew, with empty windows and a new incarnation."""
    action = await _action_of(request)
    change = registry.pause if action == "pause" else registry.restart
    return JsonResponse((await change(name, caller)).document())


@router.delete("/queries/{name}", summary="Delete a query", status_code=204, responses=problems(400, 404, 409))
async def delete(caller: Registrar, name: QueryName, registry: TheRegistry) -> Response:
    """Stop a query and forget it; its subscribers are told."""
    await registry.unregister(name, caller)
    return Response(status_code=204)


# ---- parts ----


async def _query_of(request: Request) -> schemas.QueryRequest:
    """The query of a request."""
    settings: Settings = request.app.state.settings
    media_type = media.text_type_of(request.headers.get("content-type"))
    # JSON writes some characters with six bytes; the registry has the limit on the text.
    bytes_max = settings.query_bytes_max * (2 if media_type == media.JSON else 1)
    body = await read_body(request, bytes_max)
    if media_type == media.JSON:
        return parse_json(body, schemas.QueryRequest)
    if media_type not in {media.RSP_QL, media.PLAIN, media.SPARQL_QUERY, ""}:
        said = f"a query is not '{media_type[:80]}'"
        raise errors.MediaTypeError(said, hint=f"send {media.RSP_QL}, {media.PLAIN} or {media.JSON}")
    return _with_options(utf8(body), dict(request.query_params))


def _with_options(text: str, options: dict[str, str]) -> schemas.QueryRequest:
    """A query that came as text: its options may stand in the address."""
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
        raise errors.MediaTypeError(f"an action is not '{media_type[:80]}'", hint="send JSON")
    return parse_json(body, schemas.QueryAction).action
