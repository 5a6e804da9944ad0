"""A program's data (text, triples, graphs, frames, events) as bytes and a media type for the server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from . import _tables
from ._models import Event, time_ms
from ._terms import ntriples_of

Format: TypeAlias = Literal["turtle", "ntriples", "nquads", "trig", "jsonld", "ndjson", "arrow"]

MEDIA_TYPES: dict[str, str] = {
    "turtle": "text/turtle",
    "ntriples": "application/n-triples",
    "nquads": "application/n-quads",
    "trig": "application/trig",
    "jsonld": "application/ld+json",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}


class Body(NamedTuple):
    """Bytes and their media type."""

    content: bytes
    media_type: str


def body_of(data: object, format: Format | None = None) -> Body:
    r"""One event (text, triples, a graph, a dict of JSON-LD) or many (`Event`s, dicts, a frame) as a body.

    >>> body_of("<a:s> <a:p> 1 .").media_type
    'text/turtle'
    >>> body_of([Event("<a:s> <a:p> 1 .", t=5)]).content
    b'{"t": 5, "data": "<a:s> <a:p> 1 ."}\n'
    """
    if isinstance(data, (str, bytes)):
        return Body(_bytes(data), media_type(format or "turtle"))
    if format == "arrow" or is_arrow(data):
        return Body(_tables.ipc_bytes(data), MEDIA_TYPES["arrow"])
    if isinstance(data, Event):
        return Body(event_line(data), MEDIA_TYPES["ndjson"])
    if isinstance(data, Mapping):
        return Body(_json(data), MEDIA_TYPES["jsonld"])
    if not isinstance(data, Iterable):
        raise TypeError(f"cannot send a {type(data).__name__}; send text, triples, a graph, a data frame or events")
    if _is_rdflib_graph(data):
        return _rdflib_body(data)
    return _items_body(list(data))


def event_line(event: Event) -> bytes:
    """A line of NDJSON: the event with its time."""
    time = {} if event.t is None else {"t": time_ms(event.t)}
    if isinstance(event.data, Mapping):
        return _json({**time, "event": event.data} if time else event.data) + b"\n"
    return _json({**time, "data": _text(event.data)}) + b"\n"


def watermark_line(t: int) -> bytes:
    """The line of NDJSON that advances the watermark."""
    return _json({"watermark": t}) + b"\n"


def is_arrow(data: object) -> bool:
    """Whether it supports Arrow: a table, a batch, a reader, a data frame."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def media_type(format: str) -> str:
    """The media type of a format."""
    if format not in MEDIA_TYPES:
        raise ValueError(f"unknown format {format!r}; one of {', '.join(get_args(Format))}")
    return MEDIA_TYPES[format]


def _items_body(items: list[Any]) -> Body:
    if all(isinstance(item, (Event, Mapping)) for item in items):
        events = (item if isinstance(item, Event) else Event(item) for item in items)
        return Body(b"".join(event_line(event) for event in events), MEDIA_TYPES["ndjson"])
    text, is_quads = _statements_text(items)
    return Body(text.encode(), MEDIA_TYPES["nquads" if is_quads else "ntriples"])


def _text(data: object) -> str:
    """The data of one event as Turtle."""
    if isinstance(data, (str, bytes)):
        return data if isinstance(data, str) else data.decode()
    body = body_of(data)
    if body.media_type != MEDIA_TYPES["ntriples"]:
        raise TypeError("one event is one graph: text, triples or a graph without named graphs")
    return body.content.decode()


def _statements_text(statements: list[Any]) -> tuple[str, bool]:
    lines = [_statement(statement) for statement in statements]
    is_quads = any(length == 4 for length, _ in lines)
    return "".join(line for _, line in lines), is_quads


def _statement(statement: Any) -> tuple[int, str]:
    if hasattr(statement, "subject") and hasattr(statement, "predicate") and not isinstance(statement, tuple):
        graph = str(getattr(statement, "graph_name", "DEFAULT"))
        terms = [str(statement.subject), str(statement.predicate), str(statement.object)]
        terms += [] if graph == "DEFAULT" else [graph]
    else:
        terms = [ntriples_of(term) for term in statement]
    if len(terms) not in {3, 4}:
        raise TypeError(f"a triple has three terms, not {len(terms)}: {statement!r}")
    return len(terms), " ".join(terms) + " .\n"


def _is_rdflib_graph(data: object) -> bool:
    return hasattr(data, "serialize") and hasattr(data, "namespace_manager")


def _rdflib_body(graph: Any) -> Body:
    is_dataset = hasattr(graph, "graphs") or hasattr(graph, "quads")
    text = graph.serialize(format="nquads" if is_dataset else "nt", encoding="utf-8")
    return Body(bytes(text), MEDIA_TYPES["nquads" if is_dataset else "ntriples"])


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data
