"""Parts of the OpenAPI description that routes share."""

from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}

_MEANINGS = {
    400: "the request cannot be parsed: `rdf-syntax`, `query-syntax`, `json-syntax`, `iri-invalid` … with its position",
    401: "`unauthenticated`: no token, or an unknown one",
    403: "`forbidden`: the token lacks the scope",
    404: "the resource does not exist",
    406: "`not-acceptable`: none of the asked media types is offered",
    408: "`body-too-slow`",
    409: "the request conflicts with the current state",
    410: "`token-expired`",
    413: "`body-too-large` or `inflates-too-much`",
    415: "`media-type-not-supported`, `encoding-not-supported` or `charset-not-supported`",
    421: "`host-not-allowed`",
    422: "the request can be parsed, but is invalid",
    429: "a limit is reached; `Retry-After` says when to retry",
    503: "`not-ready`: the server is starting or stopping, or cannot write its log",
}


def operation_id(route: APIRoute) -> str:
    """The name of an operation for generated clients: that of its function, as in `declareStream`."""
    name = to_camel(route.name)
    # HEAD and GET share a function.
    return f"check{name[0].upper()}{name[1:]}" if route.methods == {"HEAD"} else name


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of the problems of a route, beside those of every route."""
    return {status: problem(status) for status in sorted({*statuses, 401, 403, 421, 429, 503})}


def problem(status: int) -> dict[str, Any]:
    """The description of one problem."""
    return {"description": _MEANINGS[status], "content": {"application/problem+json": {"schema": PROBLEM_REF}}}


def text_answer(description: str, *media_types: str) -> dict[str, Any]:
    """The description of a text response of one of these types."""
    return {"description": description, "content": {name: {"schema": {"type": "string"}} for name in media_types}}


def settle(description: dict[str, Any]) -> None:
    """Correct the framework's assumptions: that all responses but text are JSON, and that an address can hold null."""
    for path in description["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                _settle_parameter(parameter["schema"])
            for answer in operation["responses"].values():
                _settle_content(answer.get("content", {}))


def _settle_parameter(schema: dict[str, Any]) -> None:
    kinds = schema.get("anyOf", [])
    if len(kinds) == 2 and kinds[1] == {"type": "null"}:
        del schema["anyOf"]
        schema.update(kinds[0])


def _settle_content(content: dict[str, Any]) -> None:
    if len(content) > 1 and content.get("application/json") == {"schema": {}}:
        del content["application/json"]
    for name, described in content.items():
        if name.endswith("json") and described.get("schema") == {"type": "string"}:
            described["schema"] = {}


def bodies(examples: dict[str, str], *, required: bool = True) -> dict[str, Any]:
    """The description of a body of text in one of several media types, with an example of each."""
    content = {name: {"schema": {"type": "string"}, "example": example} for name, example in examples.items()}
    return {"requestBody": {"required": required, "content": content}}


def form(example: dict[str, str], *, required: tuple[str, ...] = (), **fields: dict[str, Any]) -> dict[str, Any]:
    """The description of a form; without required names, one of them is needed, and further ones are ignored."""
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    if required:
        schema |= {"required": list(required), "additionalProperties": False}
    else:
        schema |= {"oneOf": [{"required": [name]} for name in fields], "additionalProperties": {"type": "string"}}
    return {"schema": schema, "example": example}


def json_body(
    model: type[BaseModel],
    example: dict[str, Any],
    also: dict[str, str] | None = None,
    *,
    required: bool = True,
) -> dict[str, Any]:
    """The description of a JSON body, and of the text accepted instead."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    described = bodies(also or {}, required=required)
    described["requestBody"]["content"]["application/json"] = {"schema": schema, "example": example}
    return described
