"""Answers that several routes give: JSON, problems, and lines that are sent while the request is still read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response, StreamingResponse

from whorl.server import errors

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class JsonResponse(Response):
    """JSON as it goes over the wire."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        """The bytes of a JSON value."""
        return orjson.dumps(content)


class DuplexResponse(StreamingResponse):
    """A response whose content is made while the request's body is read.

    The usual streaming response listens for the end of the connection by reading messages, and would swallow the body.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the content; who reads the request notices when the client goes."""
        del scope, receive
        await self.stream_response(send)


def problem_response(problem: errors.Problem, headers: dict[str, str] | None = None) -> Response:
    """A problem as a response."""
    fields = dict(headers or {})
    if problem.retry_after_s is not None:
        fields["Retry-After"] = str(problem.retry_after_s)
    if problem.status == 401:
        fields["WWW-Authenticate"] = 'Bearer realm="whorl"'
    return Response(
        orjson.dumps(problem.document(), default=str), problem.status, headers=fields, media_type=errors.MEDIA_TYPE
    )
