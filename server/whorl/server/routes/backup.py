"""A backup of the running server."""

from collections.abc import Iterator
from typing import IO

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from whorl.server.routes.deps import Administrator, TheRuntime
from whorl.server.routes.openapi import problems

router = APIRouter(tags=["backup"])

MEDIA_TYPE = "application/x-tar"
_PIECE_BYTES = 1024 * 1024


@router.get(
    "/backup",
    summary="Back up the server",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "the store, and the hashes of the tokens",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
        **problems(),
    },
)
async def make_backup(_: Administrator, runtime: TheRuntime) -> Response:
    """The state at one moment, for `whorl restore`. Commits wait while it is copied. It has no admin token."""
    file = await runtime.backup()
    size = file.seek(0, 2)
    headers = {"Content-Length": str(size), "Content-Disposition": 'attachment; filename="whorl-backup.tar"'}
    return StreamingResponse(_pieces(file), media_type=MEDIA_TYPE, headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            yield piece
