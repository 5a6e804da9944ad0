"""The options of a query have the same names wherever they are listed: engine, binding, library, server, client."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = "server/whorl/engine.py"
STUB = "server/whorl/_engine.pyi"


def engine_options() -> set[str]:
    """The fields of `ParseOptions`, which all others follow."""
    source = (ROOT / "engine-rs/src/parse/query.rs").read_text()
    found = re.search(r"^pub struct ParseOptions \{\n(.*?)^\}", source, re.MULTILINE | re.DOTALL)
    assert found is not None
    return set(re.findall(r"^    pub (\w+):", found[1], re.MULTILINE))


def class_named(path: str, name: str) -> ast.ClassDef:
    nodes = ast.parse((ROOT / path).read_text()).body
    (found,) = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
    return found


def keywords(path: str, method: str) -> set[str]:
    """The keyword-only parameters of a method of `Engine`."""
    (found,) = [
        node for node in class_named(path, "Engine").body if isinstance(node, ast.FunctionDef) and node.name == method
    ]
    return {argument.arg for argument in found.args.kwonlyargs}


def fields(path: str, name: str) -> set[str]:
    body = class_named(path, name).body
    return {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}


def server_names() -> dict[str, str]:
    """The names in JSON, and the engine's."""
    source = (ROOT / "server/whorl/server/runtime/core.py").read_text()
    found = re.search(r"^_QUERY_OPTIONS = (\{.*?^\})", source, re.MULTILINE | re.DOTALL)
    assert found is not None
    return dict(ast.literal_eval(found[1]))


@pytest.mark.parametrize("path", [STUB, LIBRARY])
@pytest.mark.parametrize("method", ["register", "validate"])
def test_the_library_takes_every_option(path: str, method: str) -> None:
    assert keywords(path, method) == engine_options()


def test_the_server_takes_every_option() -> None:
    assert fields("server/whorl/server/schemas.py", "QueryOptions") == engine_options()
    assert set(server_names().values()) == engine_options()


def test_the_names_in_json_follow_from_those_of_the_engine() -> None:
    assert server_names() == {re.sub(r"_(\w)", lambda found: found[1].upper(), name): name for name in engine_options()}


def test_the_client_takes_every_option() -> None:
    assert fields("clients/python/src/whorl_client/_keywords.py", "QueryKeywords") == engine_options()
