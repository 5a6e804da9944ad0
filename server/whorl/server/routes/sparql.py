"""The SPARQL 1.1 Protocol over static graphs and the current contents of windows."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import errors, media
from whorl.server.errors import engine_refusals
from whorl.server.routes.bodies import read_text
from whorl.server.routes.deps import Anybody, Reader, TheRuntime, TheSettings
from whorl.server.routes.openapi import bodies, problems, text_answer
from whorl.server.routes.responses import JsonResponse
from whorl.server.runtime import commands as c
from whorl.server.runtime.core import Core
from whorl.server.runtime.runtime import Runtime
from whorl.server.security import require
from whorl.server.services.names import checked_iri

router = APIRouter(tags=["sparql"])

_FORMS_OF_TABLES = frozenset({"select", "ask"})
_DATASET = {"query": ("default-graph-uri", "named-graph-uri"), "update": ("using-graph-uri", "using-named-graph-uri")}
_ANSWERS = {
    200: text_answer("the answer", *media.TABLE_ANSWERS, *media.GRAPH_ANSWERS),
    **problems(400, 404, 406, 422),
}


def _parameter(name: str, description: str, *, many: bool = True) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": {"type": "string"}} if many else {"type": "string"}
    return {"name": name, "in": "query", "required": not many, "description": description, "schema": schema}


@dataclass(frozen=True, slots=True)
class _Operation:
    """One operation of the protocol: a query or an update, with the base and the dataset that the protocol gives it."""

    text: str
    base_iri: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]


@router.get(
    "/sparql",
    summary="Ask a SPARQL query once",
    responses=_ANSWERS,
    openapi_extra={
        "parameters": [
            {**_parameter("query", "the query", many=False), "example": "SELECT * WHERE { ?s ?p ?o } LIMIT 10"},
            _parameter("default-graph-uri", "graphs that together are the default graph"),
            _parameter("named-graph-uri", "graphs that GRAPH may name"),
        ]
    },
)
async def get_query(request: Request, _: Reader, runtime: TheRuntime, settings: TheSettings) -> Response:
    """A query in the address. `GRAPH <window>` reads the current content of a window."""
    operation = _operation(request, "query", None, request.query_params.multi_items())
    _check_length(operation.text, settings.query_bytes_max)
    return await _answer(request, operation, runtime)


@router.post(
    "/sparql",
    summary="Ask a SPARQL query once, or update static graphs",
    responses={204: {"description": "the update is done"}, **_ANSWERS, **problems(400, 406, 408, 413, 415, 422)},
    openapi_extra=bodies(
        {
            media.SPARQL_QUERY: "ASK { ?s ?p ?o }",
            media.SPARQL_UPDATE: "INSERT DATA { <http://ex.org/room1> <http://ex.org/floor> 3 }",
            media.FORM: "query=ASK%20%7B%7D",
        }
    ),
)
async def post_operation(request: Request, caller: Anybody, runtime: TheRuntime, settings: TheSettings) -> Response:
    """A query (scope `subscribe`) or an update (scope `register`), as a form or as the body itself."""
    media_type = media.text_type_of(request.headers.get("content-type"))
    addressed = request.query_params.multi_items()
    if media_type == media.SPARQL_QUERY:
        require(caller, "subscribe")
        text = await read_text(request, settings.query_bytes_max)
        return await _answer(request, _operation(request, "query", text, addressed), runtime)
    if media_type == media.SPARQL_UPDATE:
        require(caller, "register")
        text = await read_text(request, settings.body_bytes_max)
        return await _update(request, _operation(request, "update", text, addressed), runtime)
    if media_type != media.FORM:
        said = f"an operation is not '{media_type[:80]}'" if media_type else "the body has no Content-Type"
        hint = f"send {media.SPARQL_QUERY}, {media.SPARQL_UPDATE} or {media.FORM}"
        raise errors.MediaTypeError(said, hint=hint)
    fields = addressed + _fields(await read_text(request, settings.body_bytes_max))
    if any(name == "update" for name, _ in fields):
        require(caller, "register")
        return await _update(request, _operation(request, "update", None, fields), runtime)
    require(caller, "subscribe")
    operation = _operation(request, "query", None, fields)
    _check_length(operation.text, settings.query_bytes_max)
    return await _answer(request, operation, runtime)


def _fields(form: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(form, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as error:
        raise errors.BrokenFormError("the form cannot be read", hint="encode it as UTF-8") from error


def _operation(request: Request, kind: str, text: str | None, fields: list[tuple[str, str]]) -> _Operation:
    """The operation of these fields; its text is in them, or was the body."""
    texts = [value for name, value in fields if name in {"query", "update"}]
    texts += [] if text is None else [text]
    if len(texts) != 1 or any(name in {"query", "update"} and name != kind for name, _ in fields):
        said = "no operation was sent" if not texts else "more than one operation was sent"
        raise errors.OperationCountError(said, hint="send one 'query' or one 'update'")
    default, named = (
        tuple(checked_iri(value, "graph") for name, value in fields if name == parameter)
        for parameter in _DATASET[kind]
    )
    # Relative IRIs resolve against the address of the endpoint, as those of any document do.
    return _Operation(texts[0], str(request.url.replace(query="", fragment="")), default, named)


def _check_length(text: str, bytes_max: int) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > bytes_max:
        raise errors.BodyTooLargeError(f"the query is longer than {bytes_max} bytes", limit=bytes_max)


async def _answer(request: Request, operation: _Operation, runtime: Runtime) -> Response:
    media_type, body = await runtime.read(lambda core: _asked(core, operation, request.headers.get("accept")))
    return Response(body, media_type=media.content_type(media_type), headers={"Vary": "Accept"})


def _asked(core: Core, operation: _Operation, accept: str | None) -> tuple[str, bytes]:
    """The answer in the format that the caller likes best, which depends on the form of the query."""
    with engine_refusals(operation.text):
        form = core.engine.query_form(operation.text, operation.base_iri)
        offers = media.TABLE_ANSWERS if form in _FORMS_OF_TABLES else media.GRAPH_ANSWERS
        media_type = media.negotiate(accept, tuple(offers))
        return media_type, core.engine.ask(
            operation.text,
            offers[media_type],
            base_iri=operation.base_iri,
            default_graphs=list(operation.default_graphs) or None,
            named_graphs=list(operation.named_graphs) or None,
        )


async def _update(request: Request, operation: _Operation, runtime: Runtime) -> Response:
    reply = await runtime.run(
        c.Update(operation.text, operation.base_iri, operation.default_graphs, operation.named_graphs)
    )
    wants_json = media.JSON in request.headers.get("accept", "")
    return JsonResponse(reply) if wants_json else Response(status_code=204)
