"""The speed of the demo, if one runs."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from whorl.demo.pace import Pace
from whorl.server import errors, schemas
from whorl.server.routes.bodies import read_json
from whorl.server.routes.deps import Anybody, Registrar, TheSettings
from whorl.server.routes.openapi import json_body, problems
from whorl.server.routes.responses import JsonResponse

router = APIRouter(tags=["demo"])


@router.get("/demo", summary="The event rate of the demo", response_model=schemas.Demo, responses=problems(404))
async def get_demo(request: Request, _: Anybody) -> Response:
    """The pace of the demo that this server was started with."""
    return JsonResponse(schemas.Demo(rate=_pace(request).rate).document())


@router.put(
    "/demo",
    summary="Change the event rate of the demo",
    response_model=schemas.Demo,
    responses=problems(400, 404, 408, 413, 415, 422),
    openapi_extra=json_body(schemas.Demo, {"rate": 2.0}),
)
async def put_demo(request: Request, _: Registrar, settings: TheSettings) -> Response:
    """Set the rate, as a multiple of the usual number of events; 0 pauses. Event time follows the clock at any rate."""
    wanted = await read_json(request, schemas.Demo, settings.query_bytes_max)
    _pace(request).set_rate(wanted.rate)
    return JsonResponse(wanted.document())


def _pace(request: Request) -> Pace:
    pace: Pace | None = request.app.state.demo
    if pace is None:
        raise errors.NoDemoError("this server plays no demo", hint="start it with whorl serve --demo")
    return pace
