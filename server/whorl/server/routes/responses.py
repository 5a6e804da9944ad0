"""Responses shared by several routes: JSON, problems, and lines sent while the request is still being read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response, StreamingResponse

from whorl.server import problems

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from whorl.server.errors import DomainError


class JsonResponse(Response):
    """A JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        """The bytes of a JSON value."""
        return orjson.dumps(content)


class DuplexResponse(StreamingResponse):
    """A response whose content is produced while the request body is read.

    The usual streaming response reads messages to notice a disconnect, and would swallow the body.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the content; the code that reads the request notices a disconnect."""
        del scope, receive
        await self.stream_response(send)


class ProblemResponse(Response):
    """A problem document."""

    media_type = problems.MEDIA_TYPE

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        """The bytes of a problem document."""
        return orjson.dumps(content, default=str)


def problem_response(problem: DomainError) -> Response:
    """The response to a refused request."""
    status = problems.problem_type(problem).status
    fields: dict[str, str] = {}
    if problem.retry_after_s is not None:
        fields["Retry-After"] = str(problem.retry_after_s)
    if status == 401:
        fields["WWW-Authenticate"] = 'Bearer realm="whorl"'
    return ProblemResponse(problems.document(problem), status, headers=fields)
