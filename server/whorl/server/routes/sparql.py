"""The SPARQL 1.1 Protocol over static graphs and the current contents of windows."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from whorl._engine import Copied
from whorl.server import errors, media
from whorl.server.errors import engine_refusals
from whorl.server.routes.bodies import read_text
from whorl.server.routes.deps import Anybody, Reader, TheAsking, TheGraphs, TheSettings
from whorl.server.routes.openapi import bodies, form, problems, text_answer
from whorl.server.routes.responses import JsonResponse
from whorl.server.runtime.core import Core
from whorl.server.security import require
from whorl.server.services.asking import COPY_MS, TURN_MS, Asking
from whorl.server.services.graphs import Graphs
from whorl.server.services.names import checked_iri

router = APIRouter(tags=["sparql"])

_FORMS_OF_TABLES = frozenset({"select", "ask"})
_DATASET = {"query": ("default-graph-uri", "named-graph-uri"), "update": ("using-graph-uri", "using-named-graph-uri")}
_ANSWERS = {
    200: text_answer("the answer", *media.TABLE_ANSWERS, *media.GRAPH_ANSWERS),
    **problems(400, 404, 406, 422),
}


def _parameter(name: str, description: str, *, many: bool = True) -> dict[str, Any]:
    one = {"type": "string", "format": "iri" if many else "sparql-query"}
    schema: dict[str, Any] = {"type": "array", "items": one} if many else one
    return {"name": name, "in": "query", "required": not many, "description": description, "schema": schema}


_UPDATE = "INSERT DATA { <http://ex.org/room1> <http://ex.org/floor> 3 }"
_OPERATIONS = bodies({media.SPARQL_QUERY: "ASK { ?s ?p ?o }", media.SPARQL_UPDATE: _UPDATE})
_OPERATIONS["requestBody"]["content"][media.FORM] = form(
    {"query": "ASK {}"},
    query={"type": "string", "format": "sparql-query"},
    update={"type": "string", "format": "sparql-update"},
)


@dataclass(frozen=True, slots=True)
class _Operation:
    """One operation of the protocol: a query or an update, with its base IRI and dataset."""

    text: str
    base_iri: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]

    def dataset(self) -> dict[str, list[str] | None]:
        """The dataset that the request names, if any."""
        return {"default_graphs": list(self.default_graphs) or None, "named_graphs": list(self.named_graphs) or None}


@router.get(
    "/sparql",
    summary="Run an ad-hoc SPARQL query",
    responses=_ANSWERS,
    openapi_extra={
        "parameters": [
            {**_parameter("query", "the query", many=False), "example": "SELECT * WHERE { ?s ?p ?o } LIMIT 10"},
            _parameter("default-graph-uri", "graphs to merge into the default graph"),
            _parameter("named-graph-uri", "graphs available to GRAPH"),
        ]
    },
)
async def ask_sparql(request: Request, _: Reader, asking: TheAsking, settings: TheSettings) -> Response:
    """A query in the query string. `GRAPH <window>` reads the current content of a window."""
    operation = _operation(request, "query", None, request.query_params.multi_items())
    _check_length(operation.text, settings.query_bytes_max)
    return await _answer(request, operation, asking)


@router.post(
    "/sparql",
    summary="Run an ad-hoc SPARQL query, or update static graphs",
    responses={204: {"description": "the update is done"}, **_ANSWERS, **problems(400, 406, 408, 413, 415, 422)},
    openapi_extra=_OPERATIONS,
)
async def post_sparql(
    request: Request, caller: Anybody, asking: TheAsking, graphs: TheGraphs, settings: TheSettings
) -> Response:
    """A query (scope `subscribe`) or an update (scope `register`), as a form or as the body itself."""
    media_type = media.text_type_of(request.headers.get("content-type"))
    addressed = request.query_params.multi_items()
    if media_type == media.SPARQL_QUERY:
        require(caller, "subscribe")
        text = await read_text(request, settings.query_bytes_max)
        return await _answer(request, _operation(request, "query", text, addressed), asking)
    if media_type == media.SPARQL_UPDATE:
        require(caller, "register")
        text = await read_text(request, settings.body_bytes_max)
        return await _update(request, _operation(request, "update", text, addressed), graphs)
    if media_type != media.FORM:
        said = (
            f"the media type '{media_type[:80]}' is not supported for an operation"
            if media_type
            else "the body has no Content-Type"
        )
        hint = f"send {media.SPARQL_QUERY}, {media.SPARQL_UPDATE} or {media.FORM}"
        raise errors.MediaTypeError(said, hint=hint)
    fields = addressed + _fields(await read_text(request, settings.body_bytes_max))
    if any(name == "update" for name, _ in fields):
        require(caller, "register")
        return await _update(request, _operation(request, "update", None, fields), graphs)
    require(caller, "subscribe")
    operation = _operation(request, "query", None, fields)
    _check_length(operation.text, settings.query_bytes_max)
    return await _answer(request, operation, asking)


def _fields(form: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(form, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as error:
        raise errors.BrokenFormError("the form cannot be read", hint="encode it as UTF-8") from error


def _operation(request: Request, kind: str, text: str | None, fields: list[tuple[str, str]]) -> _Operation:
    """The operation described by these fields; its text is one of them, or the body."""
    texts = [value for name, value in fields if name in {"query", "update"}]
    texts += [] if text is None else [text]
    if len(texts) != 1 or any(name in {"query", "update"} and name != kind for name, _ in fields):
        said = "no operation was sent" if not texts else "more than one operation was sent"
        raise errors.OperationCountError(said, hint="send one 'query' or one 'update'")
    default, named = (
        tuple(checked_iri(value, "graph") for name, value in fields if name == parameter)
        for parameter in _DATASET[kind]
    )
    # Relative IRIs resolve against the URL of the endpoint, as in any document.
    return _Operation(texts[0], str(request.url.replace(query="", fragment="")), default, named)


def _check_length(text: str, bytes_max: int) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > bytes_max:
        raise errors.BodyTooLargeError(f"the query is longer than {bytes_max} bytes", limit=bytes_max)


async def _answer(request: Request, operation: _Operation, asking: Asking) -> Response:
    media_type, body = await asking.turn(lambda core: _asked(core, operation, request.headers.get("accept")))
    if body is None:
        body = await asking.answer(lambda core: _copied(core, operation, media_type), operation.text)
    return Response(body, media_type=media.content_type(media_type), headers={"Vary": "Accept"})


def _asked(core: Core, operation: _Operation, accept: str | None) -> tuple[str, bytes | None]:
    """The response in the caller's preferred format for the query form; None if the query takes longer."""
    with engine_refusals(operation.text):
        form = core.engine.query_form(operation.text, operation.base_iri)
        offers = media.TABLE_ANSWERS if form in _FORMS_OF_TABLES else media.GRAPH_ANSWERS
        media_type = media.negotiate(accept, tuple(offers))
        return media_type, core.engine.ask_for(
            operation.text, offers[media_type], TURN_MS, base_iri=operation.base_iri, **operation.dataset()
        )


def _copied(core: Core, operation: _Operation, media_type: str) -> Copied:
    form = {**media.TABLE_ANSWERS, **media.GRAPH_ANSWERS}[media_type]
    with engine_refusals(operation.text):
        return core.engine.copy_for_question(
            operation.text, form, COPY_MS, base_iri=operation.base_iri, **operation.dataset()
        )


async def _update(request: Request, operation: _Operation, graphs: Graphs) -> Response:
    changed = await graphs.update(operation.text, operation.base_iri, operation.default_graphs, operation.named_graphs)
    wants_json = media.JSON in request.headers.get("accept", "")
    return JsonResponse(changed._asdict()) if wants_json else Response(status_code=204)
