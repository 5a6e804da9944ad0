"""Pieces of the API's description that routes share."""

from typing import Any

from pydantic import BaseModel

PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}

_MEANINGS = {
    400: "the request cannot be read: `rdf-syntax`, `query-syntax`, `json-syntax`, `iri-invalid` … with its position",
    401: "`unauthenticated`: no token, or an unknown one",
    403: "`forbidden`: the token lacks the scope",
    404: "there is no such thing",
    406: "`not-acceptable`: none of the asked media types is offered",
    408: "`body-too-slow`",
    409: "it does not go with what is there",
    410: "`token-expired`",
    413: "`body-too-large` or `inflates-too-much`",
    415: "`media-type-not-supported`, `encoding-not-supported` or `charset-not-supported`",
    421: "`host-not-allowed`",
    422: "it can be read, but makes no sense here",
    429: "too much at once; `Retry-After` says when to come back",
    503: "`not-ready`: starting, stopping, or the log cannot be written",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of the problems that a route may answer, beside those that every route may."""
    return {status: problem(status) for status in sorted({*statuses, 401, 403, 421, 429, 503})}


def problem(status: int) -> dict[str, Any]:
    """The description of one problem."""
    return {"description": _MEANINGS[status], "content": {"application/problem+json": {"schema": PROBLEM_REF}}}


def text_answer(description: str, *media_types: str) -> dict[str, Any]:
    """The description of an answer that is text of one of these types."""
    return {"description": description, "content": {name: {"schema": {"type": "string"}} for name in media_types}}


def bodies(examples: dict[str, str], *, required: bool = True) -> dict[str, Any]:
    """The description of a body of text in one of several media types, with an example of each."""
    content = {name: {"schema": {"type": "string"}, "example": example} for name, example in examples.items()}
    return {"requestBody": {"required": required, "content": content}}


def json_body(
    model: type[BaseModel],
    example: dict[str, Any],
    also: dict[str, str] | None = None,
    *,
    required: bool = True,
) -> dict[str, Any]:
    """The description of a JSON body, and of text that may stand in its place."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    described = bodies(also or {}, required=required)
    described["requestBody"]["content"]["application/json"] = {"schema": schema, "example": example}
    return described
