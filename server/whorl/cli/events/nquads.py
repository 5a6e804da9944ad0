"""N-Quads: each named graph is an event; its time is `<g> prov:generatedAtTime "…"` in the default graph.

The file is read once. An event is complete when its time is known and another graph has begun, so memory is bounded by
the largest event if the quads of each graph are adjacent, and by the file if all times are at its end. A graph that
continues after it was sent would be two events where the file has one: that is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.cli.events.piece import Piece
from whorl.cli.faults import CommandError, Place
from whorl.cli.times import date_time_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GENERATED_AT = "<http://www.w3.org/ns/prov#generatedAtTime>"

# A term without its inner structure, which the engine checks.
_TERM = r"""<[^>]*>|_:[^\s<>"]+|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[A-Za-z0-9-]+)?"""
_QUAD = re.compile(rf"\s*({_TERM})\s*({_TERM})\s*({_TERM})\s*({_TERM})?\s*\.\s*(?:#.*)?$")
_BLANK = re.compile(r"\s*(?:#.*)?$")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(slots=True)
class _Event:
    """An event that is being read."""

    graph: str
    t: int | None = None
    body: list[bytes] = field(default_factory=list)
    stamp: bytes = b""
    n_quads: int = 0
    stamp_line: int = 0
    lines: list[int] = field(default_factory=list)


class _Splitter:
    """The events that are not complete yet, in the order in which their graphs began."""

    def __init__(self, name: str, at: int | None, *, is_own: bool) -> None:
        self.name = name
        self.is_own = is_own
        self.at = at
        self.waiting: dict[str, _Event] = {}
        self.current: str | None = None
        self.sent: set[int] = set()
        # Triples of the default graph that are not times: one event, if a time was given for it.
        self.default: list[bytes] = []
        self.default_lines: list[int] = []

    def take(self, number: int, line: bytes) -> Iterator[Piece]:
        """Add one line; yields the events that it completes."""
        quad = _QUAD.match(line.decode("utf-8", "replace"))
        if quad is None:
            yield from self._other(number, line)
            return
        subject, predicate, value, graph = quad.groups()
        if graph is None and predicate == GENERATED_AT:
            self._stamp(number, line, subject, value)
        elif graph is None:
            self.default.append(line)
            self.default_lines.append(number)
        else:
            yield from self._quad(number, line, graph)

    def _other(self, number: int, line: bytes) -> Iterator[Piece]:
        text = line.decode("utf-8", "replace")
        if _BLANK.match(text) is None:
            place = Place(self.name, "\n" * (number - 1) + text, number)
            raise CommandError("this line is not a quad", place=place, hint="<s> <p> <o> <graph> . on one line")
        yield from ()

    def _stamp(self, number: int, line: bytes, graph: str, value: str) -> None:
        event = self._event(number, graph)
        literal = _LITERAL.match(value)
        text = literal[1] if literal else ""
        event.t = int(text) if re.fullmatch(r"-?\d+", text) else date_time_ms(text)
        event.stamp, event.stamp_line = line, number

    def _event(self, number: int, graph: str) -> _Event:
        if hash(graph) in self.sent:
            place = Place(self.name, "", number)
            hint = "sort the file so that the quads of each graph are adjacent"
            raise CommandError(f"graph {graph} continues after its event was sent", place=place, hint=hint)
        return self.waiting.setdefault(graph, _Event(graph))

    def _quad(self, number: int, line: bytes, graph: str) -> Iterator[Piece]:
        event = self._event(number, graph)
        event.body.append(line)
        event.lines.append(number)
        event.n_quads += 1
        if graph != self.current:
            self.current = graph
            yield from self._complete()

    def _complete(self) -> Iterator[Piece]:
        """The oldest complete events, in file order."""
        for graph in list(self.waiting):
            event = self.waiting[graph]
            if graph == self.current or event.t is None or event.n_quads == 0:
                return
            yield self._piece(event)

    def _piece(self, event: _Event) -> Piece:
        del self.waiting[event.graph]
        self.sent.add(hash(event.graph))
        # A time from the file is in the body; one from the command line is sent beside it.
        at, t = (None, event.t) if event.stamp else (self.at, self.at)
        lines = [event.stamp_line, *event.lines] if event.stamp else event.lines
        body = event.stamp + b"".join(event.body)
        return Piece(body, "nquads", t=t, at=at, source=self.name, lines=self._lines(lines))

    def _lines(self, lines: list[int]) -> list[int]:
        return lines if self.is_own else []

    def rest(self) -> Iterator[Piece]:
        """The remaining events at the end of the file."""
        for event in list(self.waiting.values()):
            if event.n_quads:
                yield self._piece(event)
        if self.default:
            body, lines = b"".join(self.default), self._lines(self.default_lines)
            yield Piece(body, "nquads", t=self.at, at=self.at, source=self.name, lines=lines)


def read(name: str, lines: Iterable[bytes], at: int | None, *, is_own: bool = True) -> Iterator[Piece]:
    """The events of N-Quads, in the order of the file; `is_own` says that the user has written these lines."""
    splitter = _Splitter(name, at, is_own=is_own)
    for number, line in enumerate(lines, 1):
        yield from splitter.take(number, line if line.endswith(b"\n") else line + b"\n")
    yield from splitter.rest()
