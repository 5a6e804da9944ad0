"""RDF whose events or times are not marked the way streams mark them: cut and timestamped here, with pyoxigraph.

The output is N-Quads: a graph for each event, and its time beside it. An event is one named graph, one line, or one
subject with the adjacent triples that it leads to. Its time is the value of a predicate: of the graph's name, or of any
of its own triples. If there is none, events are spaced by `--every`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from whorl.cli.events.piece import Piece
from whorl.cli.events.stamps import GENERATED_AT, Stamps
from whorl.cli.faults import CommandError, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyoxigraph import Quad

# pyoxigraph's names of our formats. A line of N-Triples may hold several triples, which Turtle allows.
_FORMATS = {"turtle": "TURTLE", "ntriples": "TURTLE", "nquads": "N_QUADS", "trig": "TRIG", "jsonld": "JSON_LD"}
READ_HERE = tuple(_FORMATS)


@dataclass(slots=True)
class _Event:
    """Triples that happened together."""

    graph: str | None = None
    triples: list[str] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    time: object = None
    # Its line number, if it is a line.
    line: int | None = None

    def add(self, quad: Quad, predicate: str) -> None:
        """Add one triple, which may carry the time."""
        self.triples.append(f"{quad.subject} {quad.predicate} {_term(quad.object)}")
        self.nodes.update((str(quad.subject), str(quad.object)))
        if quad.predicate.value == predicate:
            self.time = _value(quad)


def _term(term: object) -> str:
    """The term in N-Quads; pyoxigraph writes a triple term as if it were a statement."""
    from pyoxigraph import Triple

    if not isinstance(term, Triple):
        return str(term)
    return f"<<( {term.subject} {term.predicate} {_term(term.object)} )>>"


def _value(quad: Quad) -> object:
    return getattr(quad.object, "value", None)


def read(name: str, form: str, file: BinaryIO, at: int | None, stamps: Stamps) -> Iterator[Piece]:
    """The events of a document, in document order."""
    text = file.read()
    by_line = stamps.event_per == "line"
    events = _lines(name, form, text, stamps) if by_line else _cut(_quads(name, form, text, stamps.base), form, stamps)
    for number, event in enumerate(events):
        try:
            yield _piece(name, number, event, at, stamps)
        except CommandError as fault:
            fault.place = _place_of(event, name, text)
            raise


def _place_of(event: _Event, name: str, text: bytes) -> Place | None:
    """The line of the document that has the event's time; pyoxigraph does not tell where a quad stands."""
    lines = text.decode("utf-8", "replace").splitlines()
    number = event.line
    if number is None and event.time is not None:
        having = [at for at, line in enumerate(lines, 1) if str(event.time) in line]
        quoted = [at for at in having if f'"{event.time}"' in lines[at - 1]]
        number = next(iter(quoted or having), None)
    return None if number is None else Place(name, "\n".join(lines), number)


def _quads(name: str, form: str, text: bytes, base: str | None, first_line: int = 1) -> Iterator[Quad]:
    try:
        import pyoxigraph
    except ImportError:
        raise CommandError("cutting RDF into events needs pyoxigraph", hint="pip install 'whorl[pyoxigraph]'") from None
    try:
        # Blank nodes get new names: events of several files may be sent together.
        form_known = getattr(pyoxigraph.RdfFormat, _FORMATS[form])
        yield from pyoxigraph.parse(text, form_known, base_iri=base, rename_blank_nodes=True)
    except SyntaxError as error:
        line = None if error.lineno is None else error.lineno + first_line - 1
        shown = "\n" * (first_line - 1) + text.decode("utf-8", "replace")
        place = None if line is None else Place(name, shown, line, error.offset)
        raise CommandError(f"this is not {form}: {error.msg}", place=place) from None


def _lines(name: str, form: str, text: bytes, stamps: Stamps) -> Iterator[_Event]:
    predicate = stamps.predicate or GENERATED_AT
    for number, line in enumerate(text.splitlines(), 1):
        event = _Event(line=number)
        for quad in _quads(name, form, line, stamps.base, number):
            event.add(quad, predicate)
        if event.triples:
            yield event


def _cut(quads: Iterable[Quad], form: str, stamps: Stamps) -> Iterator[_Event]:
    per = stamps.event_per or ("graph" if form in ("nquads", "trig", "jsonld") else "subject")
    return _subjects(quads, stamps) if per == "subject" else _graphs(quads, stamps)


def _subjects(quads: Iterable[Quad], stamps: Stamps) -> Iterator[_Event]:
    event = _Event()
    for quad in quads:
        if event.triples and str(quad.subject) not in event.nodes:
            yield event
            event = _Event()
        event.add(quad, stamps.predicate or GENERATED_AT)
    if event.triples:
        yield event


def _graphs(quads: Iterable[Quad], stamps: Stamps) -> Iterator[_Event]:
    """One event per named graph, timed by the default graph. A document without named graphs is cut by subject."""
    from pyoxigraph import DefaultGraph

    predicate = stamps.predicate or GENERATED_AT
    events: dict[str, _Event] = {}
    default: list[Quad] = []
    for quad in quads:
        if isinstance(quad.graph_name, DefaultGraph):
            default.append(quad)
        else:
            name = str(quad.graph_name)
            events.setdefault(name, _Event(name)).add(quad, predicate)
    for graph, time in _times(default, predicate).items():
        if graph in events:
            events[graph].time = time
    yield from events.values() if events else _subjects(default, stamps)


def _times(quads: list[Quad], predicate: str) -> dict[str, object]:
    """The time of each subject; a node may be in between, as in `:g :during [ time:hasBeginning "…" ]`."""
    own = {str(quad.subject): _value(quad) for quad in quads if quad.predicate.value == predicate}
    behind = {str(quad.subject): own[str(quad.object)] for quad in quads if str(quad.object) in own}
    return {**behind, **own}


def _piece(name: str, number: int, event: _Event, at: int | None, stamps: Stamps) -> Piece:
    t = _time(name, number, event, at, stamps)
    graph = event.graph or f"_:event{zlib.crc32(name.encode()):08x}n{number}"
    stamp = f'{graph} <{GENERATED_AT}> "{t}" .\n'
    body = stamp + "".join(f"{triple} {graph} .\n" for triple in event.triples)
    return Piece(body.encode(), "nquads", t=t, source=name)


def _time(name: str, number: int, event: _Event, at: int | None, stamps: Stamps) -> int:
    if event.time is not None:
        t = stamps.instant(event.time)
        if t is None:
            raise CommandError(f"{str(event.time)!r}, the time of event {number + 1} in {name}, is not a time")
        return t
    if stamps.every_ms is not None:
        return (at or 0) + number * stamps.every_ms
    if at is not None:
        return at
    what = event.graph or event.triples[0].partition(" ")[0]
    hint = "add --timestamp-predicate IRI if the data has one, --every 1s to space events evenly, or --t"
    raise CommandError(f"event {number + 1} in {name}, about {what}, has no time", hint=hint)
