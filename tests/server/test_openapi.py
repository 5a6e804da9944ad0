"""What the description of the API says is what the server does: methods, statuses, media types, shapes, examples.

It walks the document, so a route that is added is held to its own description. It cannot see what a description leaves
out of a schema.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from server_process import ServerProcess

STREAM = "http://ex.org/described"
QUERY = "described"
GRAPH = "http://ex.org/described-graph"
_METHODS = ("get", "head", "put", "post", "delete")
# What stands in the place of a variable of a path.
_PLACES = {"{iri}": quote(STREAM, safe=""), "{name}": QUERY, "{token_id}": "no-such-token"}
# Operations that end what others need, or never end.
_LEFT_OUT = {("post", "/streams/{iri}/close"), ("get", "/queries/{name}/events")}
_TEXT = f"""REGISTER RSTREAM <out> AS SELECT ?s FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE 10s STEP 10s]
    WHERE {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"""

Described = dict[str, Any]


@pytest.fixture(scope="module")
def described(server: ServerProcess) -> Described:
    with server.client() as client:
        client.put(f"/streams/{STREAM}")
        client.put("/streams/http://ex.org/readings")
        client.put(f"/queries/{QUERY}", content=_TEXT, headers={"Content-Type": "application/rsp-ql"})
        document: Described = client.get("/openapi.json").json()
    return document


def place(path: str) -> str:
    for variable, value in _PLACES.items():
        path = path.replace(variable, value)
    return path


def operations(described: Described) -> list[tuple[str, str, Described]]:
    found = [(method, path, one) for path, item in described["paths"].items() for method, one in item.items()]
    # What deletes comes last.
    return sorted(found, key=lambda operation: operation[0] == "delete")


def fault(schema: Described, value: object, shapes: Described) -> str | None:
    """What of a value does not fit its schema, as far as the schemas of this API go."""
    if "$ref" in schema:
        return fault(shapes[schema["$ref"].rsplit("/", 1)[-1]], value, shapes)
    if "anyOf" in schema:
        faults = [fault(one, value, shapes) for one in schema["anyOf"]]
        return None if None in faults else f"{value!r} fits none of {schema['anyOf']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is not in {schema['enum']}"
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
    }
    kind = schema.get("type")
    if kind == "null" or (kind in kinds and not isinstance(value, kinds[kind])):
        return None if kind == "null" and value is None else f"{value!r} is no {kind}"
    if isinstance(value, dict):
        return fault_of_members(schema, value, shapes)
    if isinstance(value, list):
        return next((found for one in value if (found := fault(schema.get("items", {}), one, shapes))), None)
    return None


def fault_of_members(schema: Described, value: dict[str, Any], shapes: Described) -> str | None:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{missing} are missing in {value!r}"
    known = schema.get("properties", {})
    unknown = [name for name in value if name not in known] if schema.get("additionalProperties") is False else []
    if unknown:
        return f"{unknown} are not described"
    return next((found for name in known if name in value and (found := fault(known[name], value[name], shapes))), None)


def check_answer(answer: httpx.Response, operation: Described, shapes: Described) -> None:
    """The status, the media type and the shape of an answer are among those described."""
    said = f"{answer.request.method} {answer.request.url} {answer.status_code} {answer.text[:200]}"
    assert str(answer.status_code) in operation["responses"], said
    content = operation["responses"][str(answer.status_code)].get("content", {})
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    if answer.status_code == 204 or not (answer.content or content):
        return
    assert media_type in content, f"{said}: {media_type} is none of {list(content)}"
    if media_type.endswith("json") and answer.content:
        found = fault(content[media_type].get("schema", {}), answer.json(), shapes)
        assert found is None, f"{said}: {found}"


def test_a_method_that_is_not_described_is_refused_with_those_that_are(
    client: httpx.Client, described: Described
) -> None:
    documented = {place(path): item.keys() for path, item in described["paths"].items()}
    # This address is also that of a query's name.
    documented["/queries/validate"] |= described["paths"]["/queries/{name}"].keys()
    for path, methods in documented.items():
        for method in {*_METHODS, "patch", "options", "trace"} - methods:
            answer = client.request(method, path)
            assert answer.status_code == 405, f"{method} {path}"
            allowed = {one.strip().lower() for one in answer.headers["allow"].split(",")}
            assert allowed == set(methods), f"{method} {path}"


def test_examples_are_what_their_schemas_say(described: Described) -> None:
    shapes = described["components"]["schemas"]
    for method, path, operation in operations(described):
        for name, body in operation.get("requestBody", {}).get("content", {}).items():
            found = fault(body["schema"] | {"$defs": {}}, body["example"], shapes | body["schema"].get("$defs", {}))
            assert found is None, f"{method} {path} {name}: {found}"


def test_operations_have_readable_names_and_their_results_a_shape(described: Described) -> None:
    names = [one["operationId"] for _, _, one in operations(described)]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", name)] == []
    assert {"declareStream", "pushEvents", "registerQuery", "validateQuery", "getPlan"} <= set(names)
    for path, method, shape in (
        ("/queries/validate", "post", "ValidationDocument"),
        ("/queries/{name}/plan", "get", "PlanDocument"),
    ):
        answer = described["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
        assert answer == {"$ref": f"#/components/schemas/{shape}"}


def test_answers_are_those_described(client: httpx.Client, described: Described) -> None:
    shapes = described["components"]["schemas"]
    for method, path, operation in operations(described):
        if (method, path) in _LEFT_OUT:
            continue
        parameters: dict[str, str] = {"graph": GRAPH} if path == "/graphs" else {}
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "query" and "example" in parameter:
                parameters[parameter["name"]] = parameter["example"]
        contents = operation.get("requestBody", {}).get("content") or {None: {}}
        for media_type, body in contents.items():
            given: dict[str, Any] = {"params": parameters}
            if media_type is not None:
                example = body["example"]
                given["headers"] = {"Content-Type": media_type}
                kind = "data" if media_type == "application/x-www-form-urlencoded" else "json"
                given |= {kind: example} if isinstance(example, dict) else {"content": example}
            check_answer(client.request(method, place(path), **given), operation, shapes)


def test_every_described_media_type_is_offered(client: httpx.Client, described: Described) -> None:
    shapes = described["components"]["schemas"]
    client.put(
        "/graphs", params={"graph": GRAPH}, content="<urn:a> <urn:b> 1 .", headers={"Content-Type": "text/turtle"}
    )
    for path, parameters in {
        "/": {},
        "/graphs": {"graph": GRAPH},
        "/streams": {},
        "/sparql": {"query": "ASK {}"},
    }.items():
        operation = described["paths"][path]["get"]
        for media_type in operation["responses"]["200"]["content"]:
            answer = client.get(path, params=parameters, headers={"Accept": media_type})
            if path != "/sparql" or answer.status_code == 200:
                assert answer.headers["content-type"].partition(";")[0] == media_type
            check_answer(answer, operation, shapes)


def test_nothing_is_described_without_a_token(server: ServerProcess, described: Described) -> None:
    shapes = described["components"]["schemas"]
    with server.anonymous() as nobody:
        for method, path, operation in operations(described):
            if "security" in operation:
                answer = nobody.request(method, place(path))
                assert answer.status_code == 401
                check_answer(answer, operation, shapes)
