"""Refusal of unknown and repeated query-string parameters: a mistyped one would otherwise be ignored silently."""

import difflib
from collections.abc import Iterable, Iterator

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from whorl.server import errors, schemas

# Every route accepts a ticket in the query string instead of a token.
_EVERYWHERE = frozenset({"ticket"})
# Routes that parse the query string themselves: the SPARQL Protocol has its own rules for repeated parameters, and its
# clients send parameters of other products, such as `format` and `timeout`, to every endpoint.
_OWN_RULES = frozenset({"/sparql"})
_QUERY_OPTIONS = frozenset(field.alias or name for name, field in schemas.QueryOptions.model_fields.items())
_WITH_OPTIONS = frozenset({"/queries", "/queries/{name}", "/queries/validate"})
# By the id of the route: routes do not change, and every request asks.
_FOUND: dict[str, frozenset[str]] = {}


def known_parameters(connection: HTTPConnection) -> None:
    """Refuse a parameter that the route does not have, and suggest the one that was meant."""
    route = connection.scope.get("route")
    if not isinstance(route, APIRoute) or route.path in _OWN_RULES:
        return
    check_parameters(connection, parameters_of(route))


def check_parameters(connection: HTTPConnection, known: frozenset[str]) -> None:
    """Refuse a parameter that is not among these, and suggest the one that was meant."""
    given: set[str] = set()
    for name, _ in connection.query_params.multi_items():
        if name not in known:
            raise errors.UnknownOptionError(f"unknown parameter '{name[:80]}'", hint=_hint(name, known))
        if name in given:
            raise errors.UnknownOptionError(f"the parameter '{name}' is given twice", hint="give it once")
        given.add(name)


def invalid_parameters(faults: list[dict[str, str]]) -> errors.InvalidMembersError:
    """The refusal of parameters whose values are invalid, each with its reason."""
    return errors.InvalidMembersError("some request parameters are invalid", errors=faults)


def known_socket_parameters(connection: HTTPConnection, known: Iterable[str] = ()) -> None:
    """The same for the address of a WebSocket, whose close frame has one line for both."""
    allowed = _EVERYWHERE | frozenset(known)
    for name in connection.query_params:
        if name not in allowed:
            raise errors.UnknownOptionError(f"unknown parameter '{name[:30]}'; {_hint(name, allowed)}")


def parameters_of(route: APIRoute) -> frozenset[str]:
    """The query-string parameters of a route."""
    found = _FOUND.get(route.unique_id)
    if found is None:
        found = _FOUND[route.unique_id] = _parameters_of(route)
    return found


def _parameters_of(route: APIRoute) -> frozenset[str]:
    declared = frozenset(_declared(route.dependant))
    is_query = route.path in _WITH_OPTIONS and bool((route.methods or set()) & {"PUT", "POST"})
    return _EVERYWHERE | declared | (_QUERY_OPTIONS if is_query else frozenset())


def _declared(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _declared(inner)


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known parameters: {', '.join(sorted(known))}"
