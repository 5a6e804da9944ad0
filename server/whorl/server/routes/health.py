"""Liveness, readiness, and metrics."""

import asyncio

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import schemas
from whorl.server.routes.deps import Anybody, TheIngest, TheRings, TheRuntime, TheTraffic
from whorl.server.routes.openapi import problems, text_answer
from whorl.server.routes.responses import JsonResponse
from whorl.server.services.numbers import Numbers, Reading

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Is the server alive?", response_model=schemas.Health)
async def health() -> Response:
    """Responds as long as the event loop runs; needs no token."""
    return JsonResponse({"status": "alive"})


@router.get(
    "/readyz",
    summary="Is the server ready?",
    response_model=schemas.Health,
    responses={503: {"description": "the server is starting, stopping or has failed", "model": schemas.Health}},
)
async def readiness(runtime: TheRuntime) -> Response:
    """200 once the state is recovered and commands are accepted; needs no token."""
    if runtime.state == "ready":
        return JsonResponse({"status": "ready"})
    return JsonResponse({"status": runtime.state}, 503, headers={"Retry-After": "1"})


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    responses={200: text_answer("the numbers", "text/plain"), **problems()},
)
async def get_metrics(
    _: Anybody, runtime: TheRuntime, rings: TheRings, ingest: TheIngest, traffic: TheTraffic
) -> Response:
    """Counters, gauges and histograms in the text format of Prometheus."""
    reading = await runtime.read(Reading.of)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Numbers(runtime, rings, ingest, traffic, reading))
    # Memory, processor time and open files of this process.
    registry.register(ProcessCollector(registry=None))
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/openapi.json", summary="This description", responses=problems())
async def describe_api(request: Request, _: Anybody) -> Response:
    """The API as OpenAPI."""
    # Generated once; it takes long enough to delay others on the event loop.
    return JsonResponse(await asyncio.to_thread(request.app.openapi))
