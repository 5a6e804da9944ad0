"""A small syntax tree of queries, and its spellings.

One tree renders as RSP-QL, C-SPARQL or CQELS-QL for the engine, and as plain SPARQL for the oracle: with a named
graph per window (set semantics), or with a named graph per stream element (bag semantics), where every triple
pattern looks through the elements on its own and so finds each occurrence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from whorl_oracle.model import AllSoFar, Dialect, Elements, Now, Options, Past, Sliding, Step, Triples, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

# Variables are written `?x`, constants as Turtle with the prefix of PROLOGUE.
Pattern = tuple[str, str, str]
PROLOGUE = "PREFIX : <http://ex/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"


@dataclass(frozen=True)
class Block:
    """Triple patterns on a window, or on the static data when `window` is None."""

    window: str | None
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Filter:
    expression: str


@dataclass(frozen=True)
class Exists:
    group: Group
    negated: bool = False


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
class Bind:
    expression: str
    variable: str


@dataclass(frozen=True)
class Values:
    variable: str
    terms: tuple[str, ...]


@dataclass(frozen=True)
class SubSelect:
    select: Select


Element = Block | Filter | Exists | Optional | Minus | Union | Bind | Values | SubSelect


@dataclass(frozen=True)
class Group:
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class Select:
    """`SELECT` with what may stand around the pattern; `projection` holds variables and `(expr AS ?v)`."""

    projection: tuple[str, ...]
    where: Group
    distinct: bool = False
    group_by: tuple[str, ...] = ()
    having: str | None = None
    order_by: tuple[str, ...] = ()
    limit: int | None = None
    offset: int | None = None

    def variables(self) -> tuple[str, ...]:
        """The projected variables, without question marks."""
        return tuple(item.rstrip(")").split("?")[-1] for item in self.projection)


@dataclass(frozen=True)
class Query:
    """A continuous query with everything an answer depends on, but for the streams."""

    select: Select
    windows: tuple[Window, ...]
    options: Options = field(default_factory=Options)
    dialect: Dialect = Dialect.RSPQL

    def window(self, name: str) -> Window:
        return next(window for window in self.windows if window.name == name)

    def streaming_text(self) -> str:
        """The text the engine is given."""
        return _Streaming(self).text()

    def plain_text(self) -> str:
        """SPARQL over the dataset `snapshot` makes of the windows."""
        return (_Bag if self.options.bag else _Set)(self).text()

    def used_windows(self) -> tuple[Window, ...]:
        names = {block.window for block in blocks(self.select.where)}
        return tuple(window for window in self.windows if window.name in names)

    def without_unused_windows(self) -> Query:
        return replace(self, windows=self.used_windows())


def blocks(group: Group) -> Iterator[Block]:
    """All blocks of a group, also of the groups inside."""
    for element in group.elements:
        match element:
            case Block():
                yield element
            case Exists(inner) | Optional(inner) | Minus(inner):
                yield from blocks(inner)
            case Union(branches):
                for branch in branches:
                    yield from blocks(branch)
            case SubSelect(select):
                yield from blocks(select.where)


class _Writer(ABC):
    """Writes the parts that all spellings share."""

    def __init__(self, query: Query) -> None:
        self.query = query

    def text(self) -> str:
        return f"{PROLOGUE}\n{self.select(self.query.select)}"

    @abstractmethod
    def block(self, block: Block) -> str:
        """A block as this spelling writes it."""

    def dataset(self) -> str:
        return ""

    def select(self, select: Select, dataset: str = "") -> str:
        parts = ["SELECT", "DISTINCT" if select.distinct else "", *select.projection, dataset]
        parts += ["WHERE", self.group(select.where)]
        if select.group_by:
            parts.append("GROUP BY " + " ".join(select.group_by))
        if select.having is not None:
            parts.append(f"HAVING ({select.having})")
        if select.order_by:
            parts.append("ORDER BY " + " ".join(select.order_by))
        if select.limit is not None:
            parts.append(f"LIMIT {select.limit}")
        if select.offset is not None:
            parts.append(f"OFFSET {select.offset}")
        return " ".join(part for part in parts if part)

    def group(self, group: Group) -> str:
        return "{ " + " ".join(self.element(element) for element in group.elements) + " }"

    def element(self, element: Element) -> str:
        match element:
            case Block():
                return self.block(element)
            case Filter(expression):
                return f"FILTER({expression})"
            case Exists(group, negated):
                return f"FILTER {'NOT ' if negated else ''}EXISTS {self.group(group)}"
            case Optional(group):
                return f"OPTIONAL {self.group(group)}"
            case Minus(group):
                return f"MINUS {self.group(group)}"
            case Union(branches):
                return " UNION ".join(self.group(branch) for branch in branches)
            case Bind(expression, variable):
                return f"BIND({expression} AS {variable})"
            case Values(variable, terms):
                return f"VALUES {variable} {{ {' '.join(terms)} }}"
            case SubSelect(select):
                return "{ " + self.select(select) + " }"


class _Set(_Writer):
    """Each window is a named graph; C-SPARQL has them all in the default graph."""

    def block(self, block: Block) -> str:
        body = patterns_text(block.patterns)
        if block.window is None or self.query.dialect is Dialect.CSPARQL:
            return body
        return f"GRAPH <{block.window}> {{ {body} }}"


class _Bag(_Writer):
    """Each element of each window is a named graph `<window#number>`."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.fresh = count()

    def block(self, block: Block) -> str:
        if block.window is None:
            return patterns_text(block.patterns)
        return " ".join(self.occurrence(block.window, pattern) for pattern in block.patterns)

    def occurrence(self, window: str, pattern: Pattern) -> str:
        graph = f"?_occ{next(self.fresh)}"
        inside = f'STRSTARTS(STR({graph}), "{element_graph(window, "")}")'
        return f"{{ GRAPH {graph} {{ {patterns_text((pattern,))} }} FILTER({inside}) }}"


class _Streaming(_Writer):
    """The dialect the query is written in."""

    def text(self) -> str:
        query = self.query
        match query.dialect:
            case Dialect.CQELS:
                return f"{PROLOGUE}\n{self.select(query.select)}"
            case Dialect.CSPARQL:
                return f"REGISTER QUERY q AS {PROLOGUE}\n{self.select(query.select, self.streams())}"
            case Dialect.RSPQL:
                head = f"REGISTER {query.options.r2s.value} :out AS"
                return f"{PROLOGUE}\n{head}\n{self.select(query.select, self.streams())}"

    def streams(self) -> str:
        lines = []
        for window in self.query.windows:
            spelling = window_text(window, self.query.dialect)
            if self.query.dialect is Dialect.CSPARQL:
                lines.append(f"FROM STREAM <{window.stream}> [{spelling}]")
            else:
                lines.append(f"FROM NAMED WINDOW <{window.name}> ON <{window.stream}> [{spelling}]")
        return "\n" + "\n".join(lines) + "\n"

    def block(self, block: Block) -> str:
        body = patterns_text(block.patterns)
        if block.window is None or self.query.dialect is Dialect.CSPARQL:
            return body
        if self.query.dialect is Dialect.RSPQL:
            return f"WINDOW <{block.window}> {{ {body} }}"
        window = self.query.window(block.window)
        return f"STREAM <{window.stream}> [{window_text(window, Dialect.CQELS)}] {{ {body} }}"


def patterns_text(patterns: tuple[Pattern, ...]) -> str:
    return " ".join(" ".join(pattern) + " ." for pattern in patterns)


def element_graph(window: str, number: object) -> str:
    """The name of the graph of one stream element in one window."""
    return f"{window}#{number}"


def window_text(window: Window, dialect: Dialect) -> str:
    """What stands between the brackets."""
    match window.kind:
        case Step(width, slide):
            slide_word = "SLIDE" if dialect is Dialect.CQELS else "STEP"
            return f"RANGE {width}ms {slide_word} {slide}ms"
        case Sliding(width):
            return f"RANGE {width}ms"
        case Elements(size, step):
            return f"ELEMENTS {size} STEP {step}"
        case Triples(size):
            return f"{'RANGE ' if dialect is Dialect.CSPARQL else ''}TRIPLES {size}"
        case Now():
            return "NOW"
        case AllSoFar():
            return "ALL"
        case Past(since, until, slide):
            return f"FROM NOW-{since}ms TO NOW-{until}ms STEP {slide}ms"
