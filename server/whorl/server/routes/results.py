"""Results over HTTP: the current result for any SPARQL client, long polls, NDJSON and server-sent events."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from whorl.errors import DurationError
from whorl.server import errors, media
from whorl.server.routes.deps import QueryName, Reader, TheAsking, TheTokens
from whorl.server.routes.feeds import FeedResponse, poll
from whorl.server.routes.openapi import problems, text_answer
from whorl.server.services.answers import current_answer, is_graph
from whorl.server.services.asking import Asking
from whorl.server.services.feeds import Ndjson, ServerSentEvents, lenient_feed, strict_feed
from whorl.server.services.rings import Rings, Start
from whorl.server.services.times import parse_duration

router = APIRouter(tags=["results"])

EVENT_STREAM = "text/event-stream"
_WAIT_S_MAX = 60.0
_POLL_BYTES_MAX = 1024 * 1024

After = Annotated[str | None, Query(description="token of the last result that the client has", max_length=256)]
From = Annotated[
    Literal["earliest", "latest"] | None,
    Query(alias="from", description="without a token: start at the oldest kept result, or with new ones only"),
]
Wait = Annotated[
    str | None,
    Query(
        description="how long to wait for a result, such as '30s'; at most a minute",
        json_schema_extra={"format": "whorl-duration"},
    ),
]
Limit = Annotated[int | None, Query(description="maximum number of results of a poll", ge=1)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which results are requested; without any parameter, the current one."""

    after: str | None
    start: Start | None
    wait: str | None
    limit: int | None

    @property
    def is_polling(self) -> bool:
        return not (self.after is None and self.start is None and self.wait is None)


async def _asked(after: After = None, start: From = None, wait: Wait = None, limit: Limit = None) -> _Asked:
    return _Asked(after, start, wait, limit)


Asked = Annotated[_Asked, Depends(_asked)]

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: text_answer(
        "the current result; with `after`, `from` or `wait`, `{results, next}`; as NDJSON, an endless feed",
        *(name for name in (*media.TABLE_ANSWERS, *media.GRAPH_ANSWERS, media.NDJSON)),
    ),
    **problems(400, 404, 406, 409, 410),
}


@router.get("/queries/{name}/results", summary="Read the current result, or follow", responses=_ANSWERS)
async def get_results(
    request: Request, name: QueryName, caller: Reader, asking: TheAsking, tokens: TheTokens, asked: Asked
) -> Response:
    """Without parameters: the full result of the last evaluation. With a token: the results after it."""
    offers = [media.JSON] if asked.is_polling else await _answer_types(asking, name)
    chosen = media.negotiate(request.headers.get("accept"), [*offers, media.NDJSON])
    if not asked.is_polling and chosen != media.NDJSON:
        return await _answer(asking, name, chosen)
    rings = _rings(request)
    feed = strict_feed(rings, rings.ring(name), asked.after, _start(asked.start))
    held = tokens.held(caller, feed.end)
    if chosen == media.NDJSON:
        return FeedResponse(feed, Ndjson(), request.app.state.settings, held)
    with held:
        text = await poll(feed, request.receive, _wait_s(asked.wait), _POLL_BYTES_MAX, asked.limit)
    return Response(text, media_type=media.JSON, headers={"Cache-Control": "no-store"})


@router.get(
    "/queries/{name}/events",
    summary="Follow by server-sent events",
    responses={200: text_answer("events: `id` is the token, `data` the envelope", EVENT_STREAM), **problems(400, 404)},
)
async def follow_events(
    request: Request, name: QueryName, caller: Reader, tokens: TheTokens, after: After = None, start: From = None
) -> Response:
    """An EventSource resumes automatically: it sends the last id as `Last-Event-ID`. An event `gap` reports losses."""
    rings = _rings(request)
    last = request.headers.get("last-event-id") or after
    feed = lenient_feed(rings, rings.ring(name), last, _start(start))
    return FeedResponse(feed, ServerSentEvents(), request.app.state.settings, tokens.held(caller, feed.end))


async def _answer_types(asking: Asking, name: str) -> list[str]:
    graph = await asking.turn(lambda core: is_graph(core, name))
    return list(media.GRAPH_ANSWERS if graph else media.TABLE_ANSWERS)


async def _answer(asking: Asking, name: str, media_type: str) -> Response:
    form = {**media.TABLE_ANSWERS, **media.GRAPH_ANSWERS}[media_type]
    body = await asking.document(lambda core: current_answer(core, name, form))
    return Response(body, headers={"Content-Type": media.content_type(media_type), "Cache-Control": "no-store"})


def _rings(request: Request) -> Rings:
    rings: Rings = request.app.state.runtime.rings
    return rings


def _start(start: Start | None) -> Start:
    return "latest" if start is None else start


def _wait_s(wait: str | None) -> float:
    if wait is None:
        return 0.0
    try:
        return min(parse_duration(wait) / 1000, _WAIT_S_MAX)
    except DurationError as error:
        raise errors.InvalidDurationError(error.message, hint=error.hint) from None
