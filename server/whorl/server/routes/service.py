"""The service document: links to all resources. It holds no data, so it needs no token."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import media
from whorl.server.routes import console
from whorl.server.routes.openapi import problem, text_answer
from whorl.server.routes.responses import JsonResponse

router = APIRouter(tags=["service"])

_LINKS = {
    "streams": "/streams",
    "queries": "/queries",
    "sparql": "/sparql",
    "graphs": "/graphs",
    "webSocket": "/ws",
    "health": "/healthz",
    "ready": "/readyz",
    "metrics": "/metrics",
    "description": "/openapi.json",
    "documentation": "/docs",
}


@router.get(
    "/",
    summary="The service document",
    responses={200: text_answer("links to everything", media.JSON, media.TURTLE, media.HTML), 406: problem(406)},
)
async def get_service(request: Request) -> Response:
    """Links to all resources: as JSON, Turtle (a SPARQL service description), or HTML."""
    wanted = media.negotiate(request.headers.get("accept"), (media.JSON, media.TURTLE, media.HTML))
    base = str(request.base_url).rstrip("/")
    if wanted == media.HTML:
        return console.page()
    if wanted == media.TURTLE:
        return Response(_description(base), media_type=media.content_type(media.TURTLE), headers={"Vary": "Accept"})
    return JsonResponse(_document(base), headers={"Vary": "Accept"})


def _document(base: str) -> dict[str, Any]:
    links = {name: base + path for name, path in _LINKS.items()}
    links["webSocket"] = links["webSocket"].replace("http", "ws", 1)
    return {
        "service": "whorl",
        "title": "continuous SPARQL over RDF streams",
        "links": links,
        "subProtocols": ["rsp.v1.json"],
        "authentication": "Authorization: Bearer <token>",
    }


def _description(base: str) -> str:
    return (
        "@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .\n"
        "@prefix vsd: <http://w3id.org/rsp/vocals-sd#> .\n"
        "@prefix format: <http://www.w3.org/ns/formats/> .\n\n"
        f"<{base}/> a sd:Service, vsd:StreamingService ;\n"
        f"    sd:endpoint <{base}/sparql> ;\n"
        "    sd:supportedLanguage sd:SPARQL11Query, sd:SPARQL11Update ;\n"
        "    sd:resultFormat format:SPARQL_Results_JSON, format:SPARQL_Results_XML, format:SPARQL_Results_CSV,\n"
        "        format:SPARQL_Results_TSV, format:Turtle, format:N-Triples, format:JSON-LD ;\n"
        "    sd:inputFormat format:Turtle, format:N-Triples, format:N-Quads, format:TriG, format:JSON-LD .\n"
    )
