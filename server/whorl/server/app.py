"""The application: wiring and lifespan. Importing it does nothing; `create_app` opens nothing before the lifespan."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from whorl.server import schemas
from whorl.server.errors import DomainError
from whorl.server.middleware.gate import Gate
from whorl.server.middleware.paths import Paths
from whorl.server.middleware.shares import Shares
from whorl.server.middleware.trace import Trace
from whorl.server.problems import head, of_status
from whorl.server.routes import (
    backup,
    console,
    demo,
    graphs,
    health,
    push_description,
    queries,
    results,
    service,
    sparql,
    streams,
    tokens,
    ws,
)
from whorl.server.routes.openapi import operation_id, settle
from whorl.server.routes.parameters import invalid_parameters
from whorl.server.routes.pushing import PushMiddleware
from whorl.server.routes.responses import ProblemResponse, problem_response
from whorl.server.runtime.clock import Clock
from whorl.server.runtime.runtime import Runtime
from whorl.server.security import Tokens, check_exposure
from whorl.server.services.asking import Asking
from whorl.server.services.graphs import Graphs
from whorl.server.services.ingest import Ingest
from whorl.server.services.registry import Registry
from whorl.server.services.rings import Rings
from whorl.server.services.room import Room
from whorl.server.services.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from types import ModuleType

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Lifespan

    from whorl.demo.pace import Pace
    from whorl.server.settings import Settings

_DESCRIPTION = """
Continuous SPARQL over RDF streams: declare a stream, register a query, push events, follow the results.

Every operation but the service document, `/healthz` and `/readyz` needs `Authorization: Bearer <token>`. Errors are
`application/problem+json` (RFC 9457) with a stable `type`. All paths exist under `/v1` as well.
"""

# Routes are tried in order, so specific paths come before general ones: /queries/validate before /queries/{name}.
_PARTS = (streams, service, console, health, demo, backup, tokens, queries, results, ws, graphs, sparql)
# The operations of the framework; `PushMiddleware` handles one more.
_DESCRIBED = (push_description, *_PARTS)


def create_app(settings: Settings, opened_tokens: Tokens | None = None, pace: Pace | None = None) -> FastAPI:
    """The server as an ASGI application; `pace` is that of the demo, if one runs."""
    check_exposure(settings)
    app = _framework(_PARTS, _life)
    rings = Rings(settings)
    runtime = Runtime(settings, rings)
    app.state.settings = settings
    app.state.rings = rings
    app.state.runtime = runtime
    app.state.ingest = Ingest(runtime, settings)
    app.state.asking = Asking(runtime, settings)
    app.state.room = _room(settings)
    app.state.traffic = Traffic()
    app.state.demo = pace
    app.state.graphs = Graphs(runtime)
    app.state.registry = Registry(runtime, rings, app.state.ingest, settings)
    if opened_tokens is not None:
        app.state.tokens = opened_tokens
    _handle_problems(app)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]  # FastAPI's way to extend the description
    # The last one added is the outermost.
    app.add_middleware(PushMiddleware)
    app.add_middleware(Paths)
    app.add_middleware(Shares, room=app.state.room)
    app.add_middleware(Gate, settings=settings)
    app.add_middleware(Trace, traffic=app.state.traffic)
    return app


def _framework(parts: Iterable[ModuleType], life: Lifespan[FastAPI] | None = None) -> FastAPI:
    """The framework with the routes of these modules."""
    app = FastAPI(
        title="Whorl",
        summary="Continuous SPARQL over RDF streams",
        description=_DESCRIPTION,
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        root_path_in_servers=False,
        lifespan=life,
        generate_unique_id_function=operation_id,
    )
    for part in parts:
        app.include_router(part.router)
    return app


@contextlib.asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    if not hasattr(app.state, "tokens"):
        app.state.tokens = Tokens.open(settings)
    runtime: Runtime = app.state.runtime
    clock = Clock(runtime)
    await runtime.start()
    await app.state.registry.drop_orphans()
    clock.start()
    try:
        yield
    finally:
        await clock.stop()
        await app.state.rings.stopped()
        await runtime.stop()


def _room(settings: Settings) -> Room:
    # A body that is allowed has to fit when it is alone.
    return Room(max(settings.bodies_bytes_max, settings.body_bytes_max, settings.graphs_bytes_max))


# ---- problems ----


def _handle_problems(app: FastAPI) -> None:
    app.add_exception_handler(DomainError, _on_problem)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)


async def _on_problem(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, DomainError)  # noqa: S101 - registered for this class
    return problem_response(error)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    detail = {404: "no resource exists at this path", 405: f"{request.method} is not allowed here"}
    said = {"detail": detail.get(error.status_code, "the request was refused"), "hint": "GET / lists the resources"}
    document = {**head(of_status(error.status_code)), **said}
    headers = {"Allow": _allowed(request)} if error.status_code == 405 else dict(error.headers or {})
    return ProblemResponse(document, error.status_code, headers=headers)


def _allowed(request: Request) -> str:
    """The methods of this path. Each has a route of its own, and the framework reports only the first one's."""
    routes = [route for part in _DESCRIBED for route in part.router.routes if isinstance(route, Route)]
    found = (route.methods or set() for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return ", ".join(sorted(set().union(*found)))


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class
    faults = [{"member": ".".join(str(step) for step in one["loc"]), "reason": one["msg"]} for one in error.errors()]
    return problem_response(invalid_parameters(faults))


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description: with the problem document, and without FastAPI's own error schema, which is unused."""
    if app.openapi_schema is None:
        description = _framework(_DESCRIBED).openapi()
        shapes = description.setdefault("components", {}).setdefault("schemas", {})
        shapes["Problem"] = schemas.ProblemDocument.model_json_schema()
        _replace_validation_errors(description)
        settle(description)
        shapes.pop("HTTPValidationError", None)
        shapes.pop("ValidationError", None)
        app.openapi_schema = description
    return app.openapi_schema


def _replace_validation_errors(description: dict[str, Any]) -> None:
    reference = {"$ref": "#/components/schemas/Problem"}
    for path in description["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            if "application/json" in responses.get("422", {}).get("content", {}):
                content = {"application/problem+json": {"schema": reference}}
                responses["422"] = {"description": "some request parameters are invalid", "content": content}
