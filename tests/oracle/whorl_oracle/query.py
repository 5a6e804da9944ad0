"""A small syntax tree of queries; `spelling` writes it down."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from whorl_oracle.model import Dialect, Options, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

# Variables are written `?x`, constants as Turtle with the prefix of the prologue; a predicate may be a path.
Pattern = tuple[str, str, str]
# The block reads what is around it: a window, a graph, or the default graph.
HERE = ""


@dataclass(frozen=True)
class Block:
    """Triple patterns on a window, on the static data when `window` is None, or on what is around when HERE."""

    window: str | None
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Exists:
    group: Group
    negated: bool = False


@dataclass(frozen=True)
class Timestamp:
    """The time of the newest copy of a triple (three arguments), or of an event's graph (one)."""

    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Parts:
    """Text with parts that each spelling writes in its own way."""

    parts: tuple[str | Exists | Timestamp, ...]


Text = str | Parts


@dataclass(frozen=True)
class Filter:
    expression: Text


@dataclass(frozen=True)
class Optional:
    group: Group


@dataclass(frozen=True)
class Minus:
    group: Group


@dataclass(frozen=True)
class Union:
    branches: tuple[Group, ...]


@dataclass(frozen=True)
class Nested:
    group: Group


@dataclass(frozen=True)
class Bind:
    expression: Text
    variable: str


@dataclass(frozen=True)
class Values:
    """Rows for some variables; a term may be UNDEF."""

    variables: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SubSelect:
    select: Select


class Place(Enum):
    """What a scope names."""

    WINDOW = "window"
    GRAPH = "graph"
    EVENT = "event"


@dataclass(frozen=True)
class Scope:
    """`WINDOW name { … }`, `GRAPH name { … }` of static data, or `GRAPH name { … }` inside a window.

    The name is an IRI without brackets or a variable.
    """

    place: Place
    name: str
    group: Group


Element = Block | Filter | Exists | Optional | Minus | Union | Nested | Bind | Values | SubSelect | Scope


@dataclass(frozen=True)
class Group:
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class Select:
    """`SELECT` with what may stand around the pattern; `projection` holds variables and `(expr AS ?v)`, or `*`."""

    projection: tuple[Text, ...]
    where: Group
    distinct: bool = False
    reduced: bool = False
    group_by: tuple[Text, ...] = ()
    having: Text | None = None
    order_by: tuple[Text, ...] = ()
    limit: int | None = None
    offset: int | None = None
    # VALUES behind everything.
    values: Values | None = None
    # Whether `order_by` leaves no two different rows beside each other in either order.
    total: bool = True

    def variables(self) -> tuple[str, ...]:
        """The projected variables, without question marks."""
        return tuple(variable_of(item)[1:] for item in self.projection)


class Form(Enum):
    """What a query asks for."""

    SELECT = "SELECT"
    CONSTRUCT = "CONSTRUCT"
    ASK = "ASK"
    DESCRIBE = "DESCRIBE"


@dataclass(frozen=True)
class Query:
    """A continuous query with everything an answer depends on, but for the streams and the static data."""

    select: Select
    windows: tuple[Window, ...]
    options: Options = field(default_factory=Options)
    dialect: Dialect = Dialect.RSPQL
    form: Form = Form.SELECT
    # Of CONSTRUCT.
    template: tuple[Pattern, ...] = ()
    # Of DESCRIBE: variables and constants.
    described: tuple[str, ...] = ()
    # The window that is the default graph, by the option of that name.
    default_window: str | None = None
    # FROM and FROM NAMED: which static graphs there are; None when the query does not say.
    from_graphs: tuple[str, ...] | None = None
    from_named: tuple[str, ...] | None = None

    def window(self, name: str) -> Window:
        return next(window for window in self.windows if window.name == name)

    def used_windows(self) -> tuple[Window, ...]:
        scopes = {name for name in names_read(self.select) if name is not None}
        if any(name.startswith("?") for name in scopes):
            return self.windows
        return tuple(window for window in self.windows if window.name in scopes)

    def without_unused_windows(self) -> Query:
        used = self.used_windows()
        default = self.default_window if any(one.name == self.default_window for one in used) else None
        return replace(self, windows=used, default_window=default)


def variable_of(item: Text) -> str:
    """The variable of a projected column, with its question mark."""
    text = item if isinstance(item, str) else str(item.parts[-1])
    return "?" + text.rstrip(")").split("?")[-1] if "?" in text else text


def groups_in_text(text: Text | None) -> Iterator[Group]:
    if isinstance(text, Parts):
        yield from (part.group for part in text.parts if isinstance(part, Exists))


def groups_in_select(select: Select) -> Iterator[Group]:
    yield select.where
    for text in (*select.projection, *select.group_by, select.having, *select.order_by):
        yield from groups_in_text(text)


def inner_groups(element: Element) -> Iterator[Group]:
    """The groups directly inside an element."""
    match element:
        case Exists(group) | Optional(group) | Minus(group) | Nested(group) | Scope(_, _, group):
            yield group
        case Union(branches):
            yield from branches
        case SubSelect(select):
            yield from groups_in_select(select)
        case Filter(text) | Bind(text):
            yield from groups_in_text(text)


def elements(group: Group) -> Iterator[Element]:
    """All elements of a group, also of the groups inside."""
    for element in group.elements:
        yield element
        for inner in inner_groups(element):
            yield from elements(inner)


def all_elements(select: Select) -> Iterator[Element]:
    for group in groups_in_select(select):
        yield from elements(group)


def blocks(group: Group) -> Iterator[Block]:
    """All blocks of a group, also of the groups inside."""
    return (element for element in elements(group) if isinstance(element, Block))


def names_read(select: Select) -> Iterator[str | None]:
    """The windows a query reads; a variable stands for all."""
    for element in all_elements(select):
        match element:
            case Block(window) if window != HERE:
                yield window
            case Scope(Place.WINDOW, name):
                yield name
