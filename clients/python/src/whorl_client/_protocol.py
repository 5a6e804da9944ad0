"""The calls of the protocol, without I/O: each builds a request and decodes its response. `_flow` performs them."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Literal, TypeVar, cast
from urllib.parse import quote

from ._exceptions import (
    ProtocolError,
)
from ._flow import Call, Response
from ._json import JsonObject, inner, member, objects, strings
from ._keywords import QueryKeywords, StreamKeywords, document_of
from ._models import (
    Ack,
    Answer,
    MadeToken,
    Plan,
    QueryInfo,
    Result,
    StreamInfo,
    Time,
    TokenInfo,
    Validation,
    Why,
    query_warnings,
    required,
    time_ms,
)
from ._payload import Body, Format, body_of, media_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")

_SPARQL_ACCEPT = "application/sparql-results+json, application/n-triples;q=0.9, application/n-quads;q=0.8"


# --- streams ----------------------------------------------------------------------------------------------------------


def create_stream(iri: str, options: StreamKeywords) -> Call[StreamInfo]:
    """`PUT /streams/{iri}`."""
    members = document_of(options, StreamKeywords.__optional_keys__)
    return _json_call("PUT", _stream_path(iri), lambda response: _stream_info(response.json(), iri), members)


def list_streams() -> Call[list[StreamInfo]]:
    """`GET /streams`."""
    return Call("GET", "/streams", lambda response: [_stream_info(item, "") for item in _items(response, "streams")])


def get_stream(iri: str) -> Call[StreamInfo]:
    """`GET /streams/{iri}`."""
    return Call("GET", _stream_path(iri), lambda response: _stream_info(response.json(), iri))


def delete_stream(iri: str, *, cascade: bool) -> Call[None]:
    """`DELETE /streams/{iri}`."""
    return Call("DELETE", _stream_path(iri), _nothing, params={"cascade": "true"} if cascade else {})


def advance_stream(iri: str, t: Time) -> Call[int | None]:
    """`POST /streams/{iri}/watermark`. Not retried: the watermark may have been advanced further meanwhile."""
    return _json_call("POST", _stream_path(iri) + "/watermark", _watermark, {"t": time_ms(t)}, is_repeatable=False)


def close_stream(iri: str) -> Call[int | None]:
    """`POST /streams/{iri}/close`."""
    return Call("POST", _stream_path(iri) + "/close", _watermark)


def reopen_stream(iri: str) -> Call[None]:
    """`POST /streams/{iri}/reopen`. A second one changes nothing."""
    return Call("POST", _stream_path(iri) + "/reopen", _nothing)


def map_stream(iri: str, construct: str, time_column: str) -> Call[None]:
    """`PUT /streams/{iri}/mapping`."""
    headers = {"content-type": "application/sparql-query"}
    params = {} if time_column == "t" else {"timeColumn": time_column}
    return Call("PUT", _stream_path(iri) + "/mapping", _nothing, params, headers, construct.encode())


def send(iri: str, body: Body, t: Time | None, *, atomic: bool, producer: str | None = None) -> Call[Ack]:
    """`POST /streams/{iri}`: retried with a producer's number; without one only if it was certainly not applied."""
    params = ({} if t is None else {"t": str(time_ms(t))}) | ({} if atomic else {"atomic": "false"})
    headers = {"content-type": body.media_type} | ({} if producer is None else {"rsp-producer": producer})
    return Call("POST", _stream_path(iri), _ack, params, headers, body.content, is_repeatable=producer is not None)


def stage(iri: str, body: Body) -> Call[str]:
    """`POST /streams/{iri}/stages`: returns a token. If the response is lost, it is staged again."""
    headers = {"content-type": body.media_type}
    return Call("POST", _stream_path(iri) + "/stages", _token, headers=headers, content=body.content)


def commit(iri: str, producer: str, batch: int, tokens: Sequence[str], watermark: Time | None) -> Call[Ack]:
    """`POST /streams/{iri}/commits`: idempotent, because the server knows the batches of a producer."""
    at = None if watermark is None else time_ms(watermark)
    members = {"producer": producer, "batch": batch, "tokens": list(tokens), "watermark": at}
    return _json_call("POST", _stream_path(iri) + "/commits", _ack, members)


# --- queries ----------------------------------------------------------------------------------------------------------


_QUERY_TEXT = re.compile(
    r"\s*(\#[^\n]*\n\s*)*(PREFIX|BASE|REGISTER|SELECT|CONSTRUCT|DESCRIBE|ASK|INSERT|DELETE|WITH)(\s[^{]*[{?$*]|\s*\{)",
    re.IGNORECASE,
)


def query_name(name: str) -> str:
    """Return the name of a query; refuse query text, which is easily passed in its place.

    >>> query_name("hot")
    'hot'
    >>> query_name("SELECT ?room { ?room a :Room }")
    Traceback (most recent call last):
    ValueError: this is query text, not a query name; call register(text) to start it or sparql(text) to run it once
    """
    if _QUERY_TEXT.match(name):
        raise ValueError(
            "this is query text, not a query name; call register(text) to start it or sparql(text) to run it once"
        )
    return name


def register_query(text: str, name: str | None, options: QueryKeywords, *, replace: bool = False) -> Call[str]:
    """`PUT /queries/{name}`, or `POST /queries` if the server chooses the name. Returns the name."""
    members = _query_document(text, options)
    if name is None:
        return _json_call("POST", "/queries", _given_name, members, is_repeatable=False)
    call = _json_call("PUT", _query_path(name), lambda _: name, members)
    return dataclasses.replace(call, params={"replace": "true"}) if replace else call


def validate_query(text: str, options: QueryKeywords) -> Call[Validation]:
    """`POST /queries/validate`."""
    return _json_call("POST", "/queries/validate", _validation, _query_document(text, options))


def _query_document(text: str, options: QueryKeywords) -> dict[str, object]:
    return {"query": text, **document_of(options, QueryKeywords.__optional_keys__)}


def query_members(options: QueryKeywords) -> JsonObject:
    """The given options, by their names in the protocol."""
    members = document_of(options, QueryKeywords.__optional_keys__)
    return cast("JsonObject", {name: value for name, value in members.items() if value is not None})


def list_queries() -> Call[list[QueryInfo]]:
    """`GET /queries`."""
    return Call("GET", "/queries", lambda response: [_query_info(item) for item in _items(response, "queries")])


def get_query(name: str) -> Call[QueryInfo]:
    """`GET /queries/{name}`."""
    return Call("GET", _query_path(name), lambda response: _query_info(response.json()))


def explain_query(name: str) -> Call[Plan]:
    """`GET /queries/{name}/plan`."""
    return Call("GET", _query_path(name) + "/plan", lambda response: Plan(response.json()))


def why_query(name: str) -> Call[Why]:
    """`GET /queries/{name}/why`."""
    return Call("GET", _query_path(name) + "/why", lambda response: _why(response.json()))


def act_on_query(name: str, action: Literal["pause", "restart"]) -> Call[None]:
    """`POST /queries/{name}`. Not retried: a second restart would discard the state since the first."""
    return _json_call("POST", _query_path(name), _nothing, {"action": action}, is_repeatable=action == "pause")


def delete_query(name: str) -> Call[None]:
    """`DELETE /queries/{name}`."""
    return Call("DELETE", _query_path(name), _nothing)


def read_answer(name: str, *, raw: bool) -> Call[Answer]:
    """`GET /queries/{name}/results`: the current result."""
    return Call(
        "GET",
        _query_path(name) + "/results",
        lambda response: _answer(response, raw=raw),
        headers={"accept": _SPARQL_ACCEPT},
    )


def poll_results(
    name: str, after: str | None, start: Literal["earliest", "latest"], wait_s: float, limit: int | None, *, raw: bool
) -> Call[tuple[list[Result], str]]:
    """`GET /queries/{name}/results?after=…`: returns results and the token for the next call."""
    params: dict[str, str] = {"from": start} if after is None else {"after": after}
    params["wait"] = f"{int(wait_s * 1000)}ms"
    if limit is not None:
        params["limit"] = str(limit)
    path = _query_path(name) + "/results"
    return Call("GET", path, lambda response: _polled(response, raw=raw), params, {"accept": "application/json"})


# --- tokens -----------------------------------------------------------------------------------------------------------


def list_tokens() -> Call[list[TokenInfo]]:
    """`GET /tokens`."""
    return Call("GET", "/tokens", lambda response: [_token_info(item) for item in _items(response, "tokens")])


def create_token(name: str, scopes: Sequence[str]) -> Call[MadeToken]:
    """`POST /tokens`. Not repeated: a second one would be another token."""
    members = {"name": name, "scopes": list(scopes)}
    return _json_call("POST", "/tokens", lambda response: _made_token(response.json()), members, is_repeatable=False)


def delete_token(token_id: str) -> Call[None]:
    """`DELETE /tokens/{id}`."""
    return Call("DELETE", "/tokens/" + quote(token_id, safe=""), _nothing)


# --- static data, SPARQL, the server itself ---------------------------------------------------------------------------


def ask_sparql(text: str, *, raw: bool) -> Call[Answer]:
    """`POST /sparql` with a query."""
    headers = {"content-type": "application/sparql-query", "accept": _SPARQL_ACCEPT}
    return Call("POST", "/sparql", lambda response: _answer(response, raw=raw), headers=headers, content=text.encode())


def update_sparql(text: str) -> Call[None]:
    """`POST /sparql` with an update."""
    headers = {"content-type": "application/sparql-update"}
    return Call("POST", "/sparql", _nothing, headers=headers, content=text.encode(), is_repeatable=False)


def get_graph(graph: str | None, format: Format) -> Call[str]:
    """`GET /graphs`."""
    return Call("GET", "/graphs", _text, _graph_params(graph), {"accept": media_type(format)})


def write_graph(method: Literal["PUT", "POST"], graph: str | None, data: object, format: Format | None) -> Call[None]:
    """`PUT /graphs` replaces, `POST /graphs` adds. Adding is not retried: it could add blank nodes twice."""
    body = body_of(data, format)
    headers = {"content-type": body.media_type}
    return Call(method, "/graphs", _nothing, _graph_params(graph), headers, body.content, is_repeatable=method == "PUT")


def delete_graph(graph: str | None) -> Call[None]:
    """`DELETE /graphs`."""
    return Call("DELETE", "/graphs", _nothing, _graph_params(graph))


def read_status() -> Call[JsonObject]:
    """`GET /`: the service document."""
    return Call("GET", "/", lambda response: response.json(), headers={"accept": "application/json"})


def read_metrics() -> Call[str]:
    """`GET /metrics`."""
    return Call("GET", "/metrics", _text)


# --- decoding ---------------------------------------------------------------------------------------------------------


def _token_info(document: JsonObject) -> TokenInfo:
    created_at = required(document, "createdAt", int)
    return TokenInfo(
        required(document, "id", str), required(document, "name", str), tuple(strings(document, "scopes")), created_at
    )


def _made_token(document: JsonObject) -> MadeToken:
    made = _token_info(document)
    return MadeToken(made.id, made.name, made.scopes, made.created_at, required(document, "token", str))


def _stream_path(iri: str) -> str:
    return "/streams/" + quote(iri, safe="")


def _query_path(name: str) -> str:
    return "/queries/" + quote(query_name(name), safe="")


def _graph_params(graph: str | None) -> dict[str, str]:
    return {"default": ""} if graph is None else {"graph": graph}


def _json_call(
    method: str,
    path: str,
    decode: Callable[[Response], T],
    members: Mapping[str, object],
    *,
    is_repeatable: bool = True,
) -> Call[T]:
    """A call whose body is JSON; members that are None are left out."""
    content = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
    headers = {"content-type": "application/json"}
    return Call(method, path, decode, headers=headers, content=content, is_repeatable=is_repeatable)


def _nothing(_: Response) -> None:
    return None


def _text(response: Response) -> str:
    return response.content.decode()


def _items(response: Response, name: str) -> list[JsonObject]:
    value = response.value()
    document: JsonObject = value if isinstance(value, dict) else {name: value}
    if not isinstance(document.get(name, []), list):
        raise ProtocolError(f"the server responded without a list of {name}")
    return objects(document, name)


def _stream_info(document: JsonObject, iri: str) -> StreamInfo:
    return StreamInfo(
        iri=member(document, "streamIRI", str) or iri,
        status=member(document, "status", str) or "",
        watermark=member(document, "watermark", int),
        document=document,
    )


def _query_info(document: JsonObject) -> QueryInfo:
    return QueryInfo(
        name=str(required(document, "id", object)),
        text=member(document, "body", str) or "",
        dialect=member(document, "dialect", str) or "",
        status=member(document, "status", str) or "",
        watermark=member(document, "watermark", int),
        last_seq=member(document, "lastSeq", int) or 0,
        document=document,
    )


def _why(document: JsonObject) -> Why:
    return Why(
        state=str(required(document, "state", object)),
        summary=member(document, "summary", str) or "",
        advice=member(document, "advice", str),
        document=document,
    )


def _validation(response: Response) -> Validation:
    document = response.json()
    return Validation(
        dialect=member(document, "dialect", str) or "",
        variables=tuple(name.lstrip("?") for name in strings(document, "variables")),
        warnings=query_warnings(document),
        plan=Plan(inner(document, "plan")),
        document=document,
    )


def _given_name(response: Response) -> str:
    return str(required(response.json(), "id", object))


def _watermark(response: Response) -> int | None:
    return member(response.json(), "watermark", int)


def _token(response: Response) -> str:
    return required(response.json(), "token", str)


def _polled(response: Response, *, raw: bool) -> tuple[list[Result], str]:
    document = response.json()
    return [Result(envelope, raw=raw) for envelope in objects(document, "results")], required(document, "next", str)


def _ack(response: Response) -> Ack:
    document = response.json()
    return Ack(
        accepted=member(document, "accepted", int) or 0,
        late=member(document, "late", int) or 0,
        duplicates=member(document, "duplicates", int) or 0,
        ahead=member(document, "ahead", int) or 0,
        offset=member(document, "offset", int),
        watermark=member(document, "watermark", int),
        refused=tuple(objects(document, "refused")),
        batch=member(document, "batch", int),
        warning=member(document, "warning", str),
    )


def _answer(response: Response, *, raw: bool) -> Answer:
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind in {"application/n-triples", "application/n-quads", "text/plain"}:
        return Answer(response.content.decode(), raw=raw)
    return Answer(response.json(), raw=raw)
