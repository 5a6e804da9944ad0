"""The files that type checkers read name every public call of both packages."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest
import whorl
import whorl_client

HERE = Path(__file__).parent


def attributes_of(path: Path, *, is_async: bool) -> set[str]:
    """All attribute names in the functions of one of the two kinds."""
    functions = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    nodes = [node for one in functions if isinstance(one, ast.AsyncFunctionDef) == is_async for node in ast.walk(one)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def public_members(package: ModuleType) -> dict[str, set[str]]:
    """Public methods, properties and fields of the classes of a package, by class."""
    kinds = {name: value for name in package.__all__ if inspect.isclass(value := getattr(package, name))}
    return {name: members_of(kind) for name, kind in kinds.items()}


def members_of(kind: type) -> set[str]:
    own = [part for part in kind.__mro__ if part.__module__.partition(".")[0] in {"whorl", "whorl_client"}]
    named = {name for part in own for name in (*vars(part), *getattr(part, "__annotations__", ()))}
    return {name for name in named if not name.startswith("_")}


@pytest.mark.parametrize(("package", "script"), [(whorl_client, "typed_client.py"), (whorl, "typed_engine.py")])
def test_no_public_call_is_missing(package: ModuleType, script: str) -> None:
    missing = {
        name: lacking
        for name, members in public_members(package).items()
        if (lacking := members - attributes_of(HERE / script, is_async=name.startswith("Async")))
    }
    # The members of a TypedDict are its keys.
    for keys in ("Limits", "QueryOptions"):
        missing.pop(keys, None)
    assert missing == {}
