"""The options of a query have the same names wherever they are listed: engine, library, client.

The binding, snapshots and the server have no list of their own: the binding and snapshots go through the engine's, the
JSON of the server through the library's.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from whorl.options import NAMES_BY_JSON, QueryOptions
from whorl.server import schemas

ROOT = Path(__file__).parents[2]


def engine_options() -> list[str]:
    """The lines of `query_options!`, which all others follow."""
    source = (ROOT / "engine-rs/src/parse/options.rs").read_text()
    found = re.search(r"^query_options! \{\n(.*?)^\}", source, re.MULTILINE | re.DOTALL)
    assert found is not None
    return re.findall(r"^    (\w+):", found[1], re.MULTILINE)


def fields(path: str, name: str) -> set[str]:
    nodes = ast.parse((ROOT / path).read_text()).body
    (found,) = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
    body = found.body
    return {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}


def test_the_library_takes_every_option() -> None:
    assert list(QueryOptions.__annotations__) == engine_options()


def test_the_server_takes_every_option_by_its_name_in_json() -> None:
    taken = {field.alias: name for name, field in schemas.QueryOptions.model_fields.items()}
    assert taken == NAMES_BY_JSON
    assert list(taken.values()) == engine_options()
    assert all(name == re.sub(r"_(\w)", lambda found: found[1].upper(), taken[name]) for name in taken)


def test_the_client_takes_every_option() -> None:
    assert fields("clients/python/src/whorl_client/_query_keywords.py", "QueryKeywords") == set(engine_options())
