"""How a query is written.

One tree renders as RSP-QL, C-SPARQL or CQELS-QL for the engine, and as plain SPARQL for the oracle: with a named
graph per window (set semantics), or with a named graph per stream element (bag semantics), where every triple
pattern looks through the elements on its own and so finds each occurrence.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from itertools import count
from typing import TYPE_CHECKING

from whorl_oracle.model import AllSoFar, Dialect, Elements, Now, Past, Sliding, Step, Triples, Window
from whorl_oracle.paths import expanded, parsed
from whorl_oracle.query import (
    HERE,
    Bind,
    Block,
    Element,
    Exists,
    Filter,
    Form,
    Group,
    Minus,
    Nested,
    Optional,
    Pattern,
    Place,
    Query,
    Scope,
    Select,
    SubSelect,
    Text,
    Timestamp,
    Union,
    Values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

EX = "http://ex/"
PROLOGUE = "PREFIX : <http://ex/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
TRIPLE_TIME = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"
GRAPH_TIME = "urn:whorl:fn:timestamp"
# The static named graphs that a pair can have.
GRAPHS = (f"{EX}g1", f"{EX}g2")
# A path that is a set of pairs, whatever the copies of its steps.
CLOSURE = re.compile(r"[*+?]")


def streaming_text(query: Query) -> str:
    """The text the engine is given."""
    return _Streaming(query).text()


def plain_text(query: Query) -> str:
    """SPARQL over the dataset that `snapshot` makes of the windows."""
    return (_Bag if query.options.bag else _Set)(query).text()


class _Writer(ABC):
    """Writes the parts that all spellings share."""

    def __init__(self, query: Query) -> None:
        self.query = query
        # The window around what is being written.
        self.around: str | None = None

    def text(self) -> str:
        return f"{PROLOGUE}\n{self.query_text()}"

    @abstractmethod
    def block(self, block: Block) -> str:
        """A block as this spelling writes it."""

    @abstractmethod
    def scope(self, scope: Scope) -> str:
        """A window or a graph as this spelling names it."""

    @abstractmethod
    def timestamp(self, timestamp: Timestamp) -> str:
        """The time of a triple or of a graph."""

    def query_text(self, dataset: str = "") -> str:
        query = self.query
        if query.form is Form.SELECT:
            return self.select(query.select, dataset)
        what = {
            Form.CONSTRUCT: f"{{ {patterns_text(query.template)} }}",
            Form.DESCRIBE: " ".join(query.described),
        }
        return " ".join([query.form.value, what.get(query.form, ""), dataset, *self.tail(query.select)])

    def select(self, select: Select, dataset: str = "") -> str:
        parts = ["SELECT", "DISTINCT" if select.distinct else "REDUCED" if select.reduced else ""]
        parts += [*map(self.words, select.projection), dataset, *self.tail(select)]
        return " ".join(part for part in parts if part)

    def tail(self, select: Select) -> list[str]:
        """All behind the dataset."""
        parts = ["WHERE", self.group(select.where)]
        if select.group_by:
            parts.append("GROUP BY " + " ".join(map(self.words, select.group_by)))
        if select.having is not None:
            parts.append(f"HAVING ({self.words(select.having)})")
        if select.order_by:
            parts.append("ORDER BY " + " ".join(map(self.words, select.order_by)))
        if select.limit is not None:
            parts.append(f"LIMIT {select.limit}")
        if select.offset is not None:
            parts.append(f"OFFSET {select.offset}")
        if select.values is not None:
            parts.append(self.element(select.values))
        return parts

    def words(self, text: Text) -> str:
        if isinstance(text, str):
            return text
        return "".join(part if isinstance(part, str) else self.part(part) for part in text.parts)

    def part(self, part: Exists | Timestamp) -> str:
        if isinstance(part, Timestamp):
            return self.timestamp(part)
        return f"{'NOT ' if part.negated else ''}EXISTS {self.group(part.group)}"

    def group(self, group: Group) -> str:
        return "{ " + " ".join(self.element(element) for element in group.elements) + " }"

    def inside(self, group: Group, window: str | None) -> str:
        """A group with a window around it."""
        before, self.around = self.around, window
        text = self.group(group)
        self.around = before
        return text

    def element(self, element: Element) -> str:
        match element:
            case Block():
                return self.block(element)
            case Scope():
                return self.scope(element)
            case Filter(expression):
                return f"FILTER({self.words(expression)})"
            case Exists():
                return f"FILTER {self.part(element)}"
            case Optional(group):
                return f"OPTIONAL {self.group(group)}"
            case Minus(group):
                return f"MINUS {self.group(group)}"
            case Union(branches):
                return " UNION ".join(self.group(branch) for branch in branches)
            case Nested(group):
                return self.group(group)
            case Bind(expression, variable):
                return f"BIND({self.words(expression)} AS {variable})"
            case Values(variables, rows):
                lines = " ".join(f"({' '.join(row)})" for row in rows)
                return f"VALUES ({' '.join(variables)}) {{ {lines} }}"
            case SubSelect(select):
                return "{ " + self.select(select) + " }"

    def is_bare(self, window: str | None) -> bool:
        """Whether patterns on this window stand by themselves."""
        merged = self.query.dialect is Dialect.CSPARQL
        return window in (None, HERE) or merged or window == self.query.default_window


class _Plain(_Writer):
    """Plain SPARQL; a function gives the times."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.fresh = count()

    def patterns(self, patterns: tuple[Pattern, ...], write: Callable[[str, str, str], str]) -> str:
        """Patterns whose paths are taken apart."""
        return " ".join(
            expanded(s, parsed(p), o, self.between, write) if is_path(p) else write(s, p, o) for s, p, o in patterns
        )

    def between(self) -> str:
        return f"?_step{next(self.fresh)}"

    def timestamp(self, timestamp: Timestamp) -> str:
        return f"<{time_function(self.around, len(timestamp.arguments))}>({', '.join(timestamp.arguments)})"


class _Set(_Plain):
    """Each window is a named graph; C-SPARQL has them all in the default graph."""

    def block(self, block: Block) -> str:
        body = self.patterns(block.patterns, plain_pattern)
        return body if self.is_bare(block.window) else f"GRAPH <{block.window}> {{ {body} }}"

    def scope(self, scope: Scope) -> str:
        if scope.place is Place.EVENT:
            return self.event(scope)
        window = scope.place is Place.WINDOW
        if window and self.is_bare(scope.name):
            return self.inside(scope.group, None)
        body = self.inside(scope.group, scope.name if window else None)
        if not scope.name.startswith("?"):
            return f"GRAPH <{scope.name}> {body}"
        # Windows and static graphs are named graphs alike: each variable ranges over its own kind.
        names = [one.name for one in self.query.windows] if window else GRAPHS
        return f"{{ GRAPH {scope.name} {body} FILTER({scope.name} IN ({', '.join(f'<{name}>' for name in names)})) }}"

    def event(self, scope: Scope) -> str:
        """Each window has its own copy of the graph, whose name is taken apart behind it."""
        assert self.around is not None
        body, start = self.group(scope.group), event_graph(self.around, "")
        if not scope.name.startswith("?"):
            return f"GRAPH <{start}{scope.name}> {body}"
        name = f"?_event{next(self.fresh)}"
        return (
            f'{{ GRAPH {name} {body} FILTER(STRSTARTS(STR({name}), "{start}"))'
            f' BIND(IRI(STRAFTER(STR({name}), "{start}")) AS {scope.name}) }}'
        )


class _Bag(_Plain):
    """Each element of each window is a named graph `<window#number>`; `<window>` is their union, for closures."""

    def block(self, block: Block) -> str:
        window = self.around if block.window == HERE else block.window
        if window is None:
            return self.patterns(block.patterns, plain_pattern)
        return self.patterns(block.patterns, lambda s, p, o: self.occurrence(window, (s, p, o)))

    def scope(self, scope: Scope) -> str:
        if scope.place is Place.WINDOW:
            return self.inside(scope.group, scope.name)
        assert scope.place is Place.GRAPH
        body = self.inside(scope.group, None)
        if not scope.name.startswith("?"):
            return f"GRAPH <{scope.name}> {body}"
        return f"{{ GRAPH {scope.name} {body} FILTER({scope.name} IN ({', '.join(f'<{name}>' for name in GRAPHS)})) }}"

    def occurrence(self, window: str, pattern: Pattern) -> str:
        body = plain_pattern(*pattern)
        if is_closed(pattern[1]):
            return f"GRAPH <{window}> {{ {body} }}"
        graph = f"?_occ{next(self.fresh)}"
        inside = f'STRSTARTS(STR({graph}), "{element_graph(window, "")}")'
        return f"{{ GRAPH {graph} {{ {body} }} FILTER({inside}) }}"


class _Streaming(_Writer):
    """The dialect the query is written in."""

    def text(self) -> str:
        query = self.query
        match query.dialect:
            case Dialect.CQELS:
                return f"{PROLOGUE}\n{self.query_text(self.static_graphs())}"
            case Dialect.CSPARQL:
                return f"REGISTER QUERY q AS {PROLOGUE}\n{self.query_text(self.streams())}"
            case Dialect.RSPQL:
                head = f"REGISTER {query.options.r2s.value} :out AS"
                return f"{PROLOGUE}\n{head}\n{self.query_text(self.streams())}"

    def streams(self) -> str:
        lines = []
        for window in self.query.windows:
            spelling = window_text(window, self.query.dialect)
            if window.name == self.query.default_window:
                continue
            if self.query.dialect is Dialect.CSPARQL:
                lines.append(f"FROM STREAM <{window.stream}> [{spelling}]")
            else:
                lines.append(f"FROM NAMED WINDOW <{window.name}> ON <{window.stream}> [{spelling}]")
        return "\n" + "\n".join([*lines, self.static_graphs()]) + "\n"

    def static_graphs(self) -> str:
        query = self.query
        chosen = [f"FROM <{name}>" for name in query.from_graphs or ()]
        return " ".join(chosen + [f"FROM NAMED <{name}>" for name in query.from_named or ()])

    def block(self, block: Block) -> str:
        body = patterns_text(block.patterns)
        if self.is_bare(block.window):
            return body
        return f"{self.window_words(str(block.window))} {{ {body} }}"

    def scope(self, scope: Scope) -> str:
        if scope.place is Place.WINDOW:
            body = self.inside(scope.group, scope.name)
            return body if self.is_bare(scope.name) else f"{self.window_words(scope.name)} {body}"
        return f"GRAPH {name_text(scope.name)} {self.group(scope.group)}"

    def window_words(self, name: str) -> str:
        if self.query.dialect is Dialect.RSPQL:
            return f"WINDOW {name_text(name)}"
        window = self.query.window(name)
        return f"STREAM <{window.stream}> [{window_text(window, Dialect.CQELS)}]"

    def timestamp(self, timestamp: Timestamp) -> str:
        name = GRAPH_TIME if len(timestamp.arguments) == 1 else TRIPLE_TIME
        return f"<{name}>({', '.join(timestamp.arguments)})"


def name_text(name: str) -> str:
    return name if name.startswith("?") else f"<{name}>"


def is_path(predicate: str) -> bool:
    return not predicate.startswith("?") and not predicate[1:].isalnum()


def pattern_text(subject: str, predicate: str, value: str) -> str:
    return f"{subject} {predicate} {value} ."


def is_closed(predicate: str) -> bool:
    return bool(CLOSURE.search(predicate.lstrip("?")))


def plain_pattern(subject: str, predicate: str, value: str) -> str:
    """A pattern for pyoxigraph.

    It takes the subject of any path for no literal, and compares it by its term. A branch that never holds says that
    it may be one.
    """
    text = pattern_text(subject, predicate, value)
    if not is_closed(predicate):
        return text
    ends = list(dict.fromkeys((subject, value)))
    empty = " ".join(['""'] * len(ends))
    never = f"VALUES ({' '.join(ends)}) {{ ({empty}) }} FILTER(STRLEN(STR({subject})) > 0)"
    return f"{{ {{ {text} }} UNION {{ {never} }} }}"


def patterns_text(patterns: tuple[Pattern, ...]) -> str:
    return " ".join(pattern_text(*pattern) for pattern in patterns)


def element_graph(window: str, number: object) -> str:
    """The name of the graph of one stream element in one window."""
    return f"{window}#{number}"


def event_graph(window: str, graph: str) -> str:
    """The name of the graph of some events in one window."""
    return f"{window}!{graph}"


def time_function(window: str | None, arguments: int) -> str:
    """The function that knows the times in one window (None: in all)."""
    return f"urn:time:{arguments}:{window or ''}"


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
