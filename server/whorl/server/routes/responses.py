"""Answers that several routes give: JSON, problems, and lines that are sent while the request is still read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response, StreamingResponse

from whorl.server import problems

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from whorl.server.errors import DomainError


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


class ProblemResponse(Response):
    """A problem document."""

    media_type = problems.MEDIA_TYPE

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        """The bytes of a problem document."""
        return orjson.dumps(content, default=str)


def problem_response(problem: DomainError) -> Response:
    """A refusal as a response."""
    status = problems.problem_type(problem).status
    fields: dict[str, str] = {}
    if problem.retry_after_s is not None:
        fields["Retry-After"] = str(problem.retry_after_s)
    if status == 401:
        fields["WWW-Authenticate"] = 'Bearer realm="whorl"'
    return ProblemResponse(problems.document(problem), status, headers=fields)
