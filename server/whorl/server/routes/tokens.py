"""Tokens and tickets."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import schemas
from whorl.server.routes.bodies import read_json
from whorl.server.routes.deps import Administrator, Anybody, TheSettings, TheTokens
from whorl.server.routes.openapi import json_body, problems
from whorl.server.routes.responses import JsonResponse
from whorl.server.security import TICKET_SECONDS, TokenRecord

router = APIRouter(tags=["tokens"])


@router.post(
    "/tokens",
    summary="Create a token",
    status_code=201,
    responses={
        201: {"description": "created; its text is shown only this once", "model": schemas.MadeToken},
        **problems(400, 408, 413, 415, 422),
    },
    openapi_extra=json_body(schemas.TokenRequest, {"name": "sensor gateway", "scopes": ["ingest"]}),
)
async def make_token(request: Request, _: Administrator, tokens: TheTokens, settings: TheSettings) -> Response:
    """A new token with scopes: `ingest`, `subscribe`, `register`, `admin`. Only its hash is kept."""
    wanted = await read_json(request, schemas.TokenRequest, settings.query_bytes_max)
    record, token = tokens.create(wanted.name, wanted.scopes)
    return JsonResponse({**_document(record).document(), "token": token}, 201)


@router.get("/tokens", summary="All tokens", response_model=schemas.TokenList, responses=problems())
async def list_tokens(_: Administrator, tokens: TheTokens) -> Response:
    """The tokens created over this API, without their text."""
    found = [_document(record) for record in tokens.records.values()]
    return JsonResponse(schemas.TokenList(tokens=found).document())


@router.delete("/tokens/{token_id}", summary="Delete a token", status_code=204, responses=problems(404))
async def delete_token(token_id: str, _: Administrator, tokens: TheTokens) -> Response:
    """Delete a token; it is refused from now on."""
    tokens.delete(token_id)
    return Response(status_code=204)


@router.post(
    "/tickets",
    summary="Create a one-use ticket",
    status_code=201,
    responses={201: {"description": "made", "model": schemas.Ticket}, **problems()},
)
async def make_ticket(caller: Anybody, tokens: TheTokens) -> Response:
    """For a browser's WebSocket or EventSource, which cannot send headers: pass it once as `?ticket=`."""
    ticket = schemas.Ticket(ticket=tokens.issue_ticket(caller), expires_in_s=TICKET_SECONDS)
    return JsonResponse(ticket.document(), 201)


def _document(record: TokenRecord) -> schemas.TokenDocument:
    return schemas.TokenDocument(
        id=record.id, name=record.name, scopes=list(record.scopes), created_at=record.created_at
    )
