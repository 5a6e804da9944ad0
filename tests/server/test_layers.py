"""The layers of the server: who may import whom, and where HTTP, SQL and the choice of a status are known."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fastapi.routing import APIRoute
from whorl.server import errors, problems
from whorl.server.app import _PARTS
from whorl.server.errors import DomainError, EngineRefusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi.dependencies.models import Dependant

SERVER = Path(errors.__file__).parent
# Lowest first; a module imports from its own layer and from those before it. A name with a slash is a package.
LAYERS = (
    ("errors", "settings", "durations"),
    ("store/",),
    ("runtime/",),
    ("problems", "security", "config"),
    ("services/", "schemas", "plans"),
    ("routes/", "middleware/", "media"),
    ("app", "serve", "sockets", "connections", "probe", "__main__"),
)
# Socket classes that routes name in their types; uvicorn's side of them is wired in `serve`.
ALLOWED = {("routes/ws", "sockets")}
WEB = {"fastapi", "starlette", "uvicorn", "websockets", "httptools"}


def modules() -> list[str]:
    found = [path.relative_to(SERVER).with_suffix("").as_posix() for path in SERVER.rglob("*.py")]
    return sorted(name for name in found if not name.endswith("__init__"))


def layer(module: str) -> int:
    places = [at for at, names in enumerate(LAYERS) for name in names if module == name or _is_in(module, name)]
    assert len(places) == 1, f"{module} belongs to one layer"
    return places[0]


def _is_in(module: str, package: str) -> bool:
    return package.endswith("/") and module.startswith(package)


def imports(module: str) -> set[str]:
    """Everything that a module names in an import, for types or not."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((SERVER / f"{module}.py").read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def of_the_server(names: set[str]) -> set[str]:
    known = set(modules())
    paths = {name.removeprefix("whorl.server.").replace(".", "/") for name in names if name.startswith("whorl.server.")}
    return paths & known


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_from_its_own_layer_and_below(module: str) -> None:
    above = {name for name in of_the_server(imports(module)) if layer(name) > layer(module)}
    assert {(module, name) for name in above} <= ALLOWED


@pytest.mark.parametrize("module", [name for name in modules() if layer(name) < layer("routes/queries")])
def test_no_web_framework_below_routes_and_middleware(module: str) -> None:
    assert not {name.partition(".")[0] for name in imports(module)} & WEB


@pytest.mark.parametrize("module", [name for name in modules() if not name.startswith("store/")])
def test_no_database_outside_the_store(module: str) -> None:
    assert "sqlite3" not in imports(module)


def test_no_route_executes_a_command() -> None:
    """Services do, because they know the rules; a route may name the parts of a command in its types."""
    commands = {name for name in modules() if "whorl.server.runtime.commands" in imports(name)}
    assert {name for name in commands if name.startswith("routes/")} == {"routes/deps"}
    executing = {name for name in modules() if ".execute(" in (SERVER / f"{name}.py").read_text()}
    assert {name.partition("/")[0] for name in executing} == {"runtime", "services", "store"}


def test_only_routes_make_responses() -> None:
    making = {name for name in modules() if any(one.startswith("starlette.responses") for one in imports(name))}
    # The gate answers preflights, which reach no route; the application names the type in its handlers.
    assert {name for name in making if not name.startswith("routes/")} == {"middleware/gate", "app"}


def test_every_refusal_is_in_the_table() -> None:
    classes = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, DomainError)]
    assert set(problems.TABLE) == set(classes) - {DomainError, EngineRefusal}


def test_no_status_is_chosen_below_the_table() -> None:
    """A refusal says what is wrong. Numbers such as 404 belong to the table."""
    statuses = {kind.status for kind in problems.TABLE.values()}
    below = [name for name in modules() if layer(name) <= layer("runtime/core")]
    trees = {name: ast.parse((SERVER / f"{name}.py").read_text()) for name in below}
    found = {
        (name, node.value)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value in statuses
    }
    assert found == set()


def test_the_table_is_in_the_reference() -> None:
    reference = (SERVER.parents[2] / "docs" / "reference" / "http.md").read_text()
    rows = {
        (int(status), slug) for status, slug in re.findall(r"^\| (\d{3}) \| `([a-z0-9-]+)` \|", reference, re.MULTILINE)
    }
    assert rows == {(kind.status, kind.slug) for kind in problems.all_types()}


def test_no_dependency_of_a_route_goes_through_a_thread_pool() -> None:
    """The framework calls a plain function in a thread, which costs more than the function itself."""
    routes = [route for part in _PARTS for route in part.router.routes if isinstance(route, APIRoute)]
    assert len(routes) > 30
    plain = {
        inner.call
        for route in routes
        for inner in _dependants(route.dependant)
        if inner.call is not None and not _is_coroutine(inner.call)
    }
    assert plain == set()


def _dependants(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for inner in dependant.dependencies:
        yield from _dependants(inner)


def _is_coroutine(call: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
