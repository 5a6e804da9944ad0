"""Queries: registering, looking at, pausing, restarting and deleting them."""

import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson
from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from whorl.errors import WhorlError
from whorl.server import media, schemas
from whorl.server.bodies import invalid_members, parse_json, read_body, utf8
from whorl.server.deps import (
    QueryName,
    ReaderOrRegistrar,
    Registrar,
    TheRings,
    TheRuntime,
    TheSettings,
    checked_name,
)
from whorl.server.errors import Problem, problem_of
from whorl.server.responses import JsonResponse
from whorl.server.routes.openapi import json_body, problems
from whorl.server.runtime import commands as c
from whorl.server.runtime.core import Core
from whorl.server.runtime.runtime import Runtime
from whorl.server.security import Principal
from whorl.server.services import descriptors
from whorl.server.services.rings import Rings
from whorl.server.settings import Settings

if TYPE_CHECKING:
    from whorl.server.services.buckets import Buckets

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
async def put_query(request: Request, caller: Registrar, name: QueryName) -> Response:
    """Register a query under a name. Saying the same again is harmless; another text under the name is refused."""
    wanted = await _query_of(request, caller)
    if wanted.name not in {None, name}:
        raise Problem("name-invalid", 400, "the name in the body is not the name in the path")
    return await _registered(request, name, wanted, caller)


@router.post("/queries", summary="Register a query", status_code=201, responses=_REGISTERED, openapi_extra=_BODY)
async def post_query(request: Request, caller: Registrar) -> Response:
    """Register a query under the name in the body, or under one that the server makes."""
    wanted = await _query_of(request, caller)
    name = f"q-{secrets.token_hex(6)}" if wanted.name is None else checked_name(wanted.name)
    return await _registered(request, name, wanted, caller)


@router.post(
    "/queries/validate",
    summary="Look at a query without registering it",
    responses={200: {"description": "dialect, windows, plan and warnings"}, **problems(400, 408, 413, 415, 422)},
    openapi_extra=_BODY,
)
async def validate(request: Request, caller: Registrar, runtime: TheRuntime) -> Response:
    """What the query would do: its dialect, windows and streams, its plan, and warnings."""
    wanted = await _query_of(request, caller)
    return JsonResponse(await runtime.read(lambda core: _validated(core, wanted)))


@router.get("/queries", summary="All queries", response_model=schemas.QueryList, responses=problems())
async def list_queries(_: ReaderOrRegistrar, runtime: TheRuntime, rings: TheRings) -> Response:
    """All queries, in the order of their names."""
    subscribers = readers(rings)
    found = await runtime.read(lambda core: descriptors.queries(core, subscribers))
    return JsonResponse(schemas.QueryList(queries=found).document())


@router.get("/queries/{name}", summary="One query", response_model=schemas.QueryDocument, responses=problems(400, 404))
async def get_query(_: ReaderOrRegistrar, name: QueryName, runtime: TheRuntime, rings: TheRings) -> Response:
    """A query and how far it has come."""
    return JsonResponse(await _document(name, runtime, rings))


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
async def act(
    request: Request,
    caller: Registrar,
    name: QueryName,
    runtime: TheRuntime,
    rings: TheRings,
    settings: TheSettings,
) -> Response:
    """Pause: stop it, keep its text. Restart: start it anew, with empty windows and a new incarnation."""
    action = await _action_of(request, settings)
    await _check_owner(runtime, name, caller)
    command = c.Pause(name) if action == "pause" else c.Restart(name, secrets.token_hex(8))
    await runtime.run(command)
    return JsonResponse(await _document(name, runtime, rings))


@router.delete("/queries/{name}", summary="Delete a query", status_code=204, responses=problems(400, 404, 409))
async def delete(caller: Registrar, name: QueryName, runtime: TheRuntime) -> Response:
    """Stop a query and forget it; its subscribers are told."""
    await _check_owner(runtime, name, caller)
    await runtime.run(c.Unregister(name))
    return Response(status_code=204)


# ---- parts ----


async def _query_of(request: Request, caller: Principal) -> schemas.QueryRequest:
    """The query of a request, which counts as one of the caller's registrations."""
    settings: Settings = request.app.state.settings
    registrations: Buckets = request.app.state.registrations
    registrations.take(caller.id)
    media_type = media.text_type_of(request.headers.get("content-type"))
    # JSON writes some characters with six bytes; the limit on the text comes after.
    bytes_max = settings.query_bytes_max * (2 if media_type == media.JSON else 1)
    body = await read_body(request, bytes_max)
    if media_type == media.JSON:
        wanted = parse_json(body, schemas.QueryRequest)
        if len(wanted.query.encode("utf-8", "surrogatepass")) > settings.query_bytes_max:
            raise Problem("body-too-large", 413, f"the query is longer than {settings.query_bytes_max} bytes")
        return wanted
    if media_type not in {media.RSP_QL, media.PLAIN, media.SPARQL_QUERY, ""}:
        said = f"a query is not '{media_type[:80]}'"
        raise Problem("media-type-not-supported", 415, said, hint=f"send {media.RSP_QL}, {media.PLAIN} or {media.JSON}")
    return _with_options(utf8(body), dict(request.query_params))


def _with_options(text: str, options: dict[str, str]) -> schemas.QueryRequest:
    """A query that came as text: its options may stand in the address."""
    if not text.strip():
        raise Problem("query-syntax", 400, "the query is empty")
    known = {field.alias or name for name, field in schemas.QueryOptions.model_fields.items()}
    given: dict[str, Any] = {name: value for name, value in options.items() if name in known}
    if "report" in given:
        given["report"] = [part.strip() for part in given["report"].split(",")]
    try:
        return schemas.QueryRequest.model_validate({**given, "query": text})
    except ValidationError as error:
        raise invalid_members(error) from error


async def _registered(request: Request, name: str, wanted: schemas.QueryRequest, caller: Principal) -> Response:
    if name == "validate":
        raise Problem("name-invalid", 400, "'validate' names an operation", hint="choose another name")
    runtime: Runtime = request.app.state.runtime
    settings: Settings = request.app.state.settings
    await runtime.read(lambda core: _check_room(core, name, settings.queries_max))
    reply = await runtime.run(c.Register(name, wanted.query, wanted.options(), secrets.token_hex(8), caller.id))
    document = await _document(name, runtime, request.app.state.rings)
    location = {"Location": f"{request.scope.get('root_path', '')}/queries/{name}"}
    return JsonResponse(document, 201 if reply["created"] else 200, headers=location)


async def _document(name: str, runtime: Runtime, rings: Rings) -> dict[str, Any]:
    subscribers = readers(rings)
    found = await runtime.read(lambda core: descriptors.query(core, name, subscribers))
    return found.document()


def readers(rings: Rings) -> dict[str, int]:
    """How many read each query."""
    return {ring.query: len(ring.readers) for ring in rings}


async def _action_of(request: Request, settings: Settings) -> str:
    media_type = media.text_type_of(request.headers.get("content-type"))
    body = await read_body(request, settings.query_bytes_max)
    if media_type == media.FORM:
        body = orjson.dumps({name: values[0] for name, values in parse_qs(utf8(body)).items()})
    elif media_type not in {media.JSON, ""}:
        raise Problem("media-type-not-supported", 415, f"an action is not '{media_type[:80]}'", hint="send JSON")
    return parse_json(body, schemas.QueryAction).action


def _validated(core: Core, wanted: schemas.QueryRequest) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = orjson.loads(
            core.engine.validate(wanted.query, **core.engine_keywords(wanted.options()))
        )
    except WhorlError as error:
        raise problem_of(error, wanted.query) from error
    core.check_streams(facts)
    facts["windows"] = descriptors.windows(facts)
    return facts


def _check_room(core: Core, name: str, queries_max: int) -> None:
    if len(core.queries) >= queries_max and name not in core.queries:
        detail = f"there are {queries_max} queries already"
        raise Problem("too-many-queries", 429, detail, hint="delete queries that are not in use")


async def _check_owner(runtime: Runtime, name: str, caller: Principal) -> None:
    """Who may register may change what it has registered; an admin may change all."""
    entry = await runtime.read(lambda core: core.query(name))
    if entry.owner not in {caller.id, ""} and not caller.may("admin"):
        raise Problem("forbidden", 403, f"query '{name}' was registered with another token", hint="use that token")
