"""Static graphs by the SPARQL 1.1 Graph Store HTTP Protocol; running queries follow their changes.

A graph is named by `?graph=IRI` or `?default`, or directly: `/graphs/people` is the graph whose IRI is that address.
"""

import secrets
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from whorl._engine import Copied
from whorl.server import errors, media
from whorl.server.routes.bodies import read_body
from whorl.server.routes.deps import Reader, Registrar, TheAsking, TheGraphs, TheSettings
from whorl.server.routes.multipart import parts_of
from whorl.server.routes.openapi import bodies, problems, text_answer
from whorl.server.routes.responses import JsonResponse
from whorl.server.runtime.core import Core
from whorl.server.services.names import checked_iri

router = APIRouter(tags=["graphs"])

_EXAMPLES = {"text/turtle": "@prefix ex: <http://ex.org/> . ex:room1 ex:floor 3 ."}
_NEW = "new"


async def _graph_of(
    request: Request,
    graph: Annotated[
        str | None,
        Query(
            description="IRI of the graph; either this or `default`",
            examples=["http://ex.org/rooms"],
            json_schema_extra={"format": "iri"},
        ),
    ] = None,
    default: Annotated[
        Literal[""] | None, Query(description="the default graph; a parameter without a value, as in `?default`")
    ] = None,
) -> str | None:
    """The graph of a request: an IRI, None for the default graph, or a marker for a new one."""
    name = request.path_params.get("name")
    if name:
        return checked_iri(str(request.url.replace(query="", fragment="")), "graph")
    if (graph is None) == (default is None):
        if request.method == "POST" and graph is None:
            return _NEW
        hint = "use ?graph=IRI or ?default"
        raise errors.GraphNotNamedError("the request must name exactly one graph", hint=hint)
    return None if graph is None else checked_iri(graph, "graph")


Graph = Annotated[str | None, Depends(_graph_of)]
_READ = {200: text_answer("the graph", *media.GRAPH_ANSWERS), **problems(400, 404, 406)}


@router.get(
    "/graphs",
    summary="Read a static graph",
    responses=_READ,
)
@router.get("/graphs/{name:path}", include_in_schema=False)
@router.head("/graphs", summary="Check that a static graph exists", responses=_READ)
@router.head("/graphs/{name:path}", include_in_schema=False)
async def read_graph(request: Request, _: Reader, graph: Graph, asking: TheAsking) -> Response:
    """The triples of a graph."""
    wanted = media.negotiate(request.headers.get("accept"), tuple(media.GRAPH_ANSWERS))
    text = await asking.document(lambda core: _copied(core, graph, media.GRAPH_ANSWERS[wanted]))
    return Response(text, media_type=media.content_type(wanted), headers={"Vary": "Accept"})


@router.put(
    "/graphs",
    summary="Replace a static graph",
    status_code=204,
    responses={201: {"description": "made"}, **problems(400, 408, 409, 413, 415, 422)},
    openapi_extra=bodies(_EXAMPLES),
)
@router.put("/graphs/{name:path}", include_in_schema=False)
async def replace_graph(
    request: Request,
    _: Registrar,
    graph: Graph,
    graphs: TheGraphs,
    settings: TheSettings,
) -> Response:
    """Replace the content of a graph by the triples of a document."""
    form = media.format_of(request.headers.get("content-type"), media.GRAPH_FORMATS)
    body = await read_body(request, settings.graphs_bytes_max)
    changed = await graphs.replace(graph, body, form)
    return Response(status_code=201 if changed.created else 204)


@router.post(
    "/graphs",
    summary="Add to a static graph",
    responses={
        201: {"description": "created; `Location` names a graph without a name"},
        **problems(400, 408, 409, 413, 415, 422),
    },
    openapi_extra=bodies(_EXAMPLES),
)
@router.post("/graphs/{name:path}", include_in_schema=False)
async def add_to_graph(
    request: Request,
    _: Registrar,
    graph: Graph,
    graphs: TheGraphs,
    settings: TheSettings,
) -> Response:
    """Add the triples of a document to a graph; without a graph, to a new one."""
    parts = await _parts_of(request, settings.graphs_bytes_max)
    headers: dict[str, str] = {}
    if graph == _NEW:
        graph = f"{str(request.base_url).rstrip('/')}/graphs/{secrets.token_hex(8)}"
        headers["Location"] = graph
    changed = await graphs.add(graph, parts)
    reply = {"created": changed.created, "inserted": changed.inserted}
    return JsonResponse(reply, 201 if changed.created else 200, headers=headers)


@router.delete("/graphs", summary="Delete a static graph", status_code=204, responses=problems(400, 404, 409))
@router.delete("/graphs/{name:path}", include_in_schema=False)
async def drop_graph(_: Registrar, graph: Graph, graphs: TheGraphs) -> Response:
    """Delete a graph; the default graph is emptied."""
    await graphs.drop(graph)
    return Response(status_code=204)


def _copied(core: Core, graph: str | None, form: str) -> Copied:
    if graph is not None and not any(name == graph for name, _ in core.engine.graphs()):
        raise errors.UnknownGraphError(f"graph <{graph}> does not exist")
    return core.engine.copy_graph(graph, form)


async def _parts_of(request: Request, bytes_max: int) -> list[tuple[bytes, str]]:
    """The documents of a body, each with its format: the body itself, or the parts of a form."""
    header = request.headers.get("content-type", "")
    if media.media_type_of(header)[0] != media.MULTIPART:
        form = media.format_of(header, media.GRAPH_FORMATS)
        return [(await read_body(request, bytes_max), form)]
    parts = parts_of(header, await read_body(request, bytes_max))
    return [(part.body, media.format_of(part.content_type, media.GRAPH_FORMATS)) for part in parts]
