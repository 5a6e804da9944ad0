"""Events in the formats that the engine reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whorl_oracle.values import XSD, is_iri, parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl import Engine, IngestReport

    from whorl_oracle.model import Push, Triple

TIME = "http://www.w3.org/ns/prov#generatedAtTime"
# One event at a time, or many in one body.
SINGLE = ("ntriples", "turtle")
MANY = ("nquads", "trig", "ndjson", "table", "arrow")


def send(engine: Engine, events: Sequence[Push], form: str) -> list[IngestReport]:
    """Offer events of one stream in one format."""
    if not events:
        return []
    stream = events[0].stream
    if form in SINGLE:
        return [engine.push(stream, one.at, ntriples(one.triples), form) for one in events]  # type: ignore[arg-type]  # formats of the oracle
    if form == "table":
        return [engine.push(stream, None, table(events))]
    body = {"nquads": nquads, "trig": trig, "ndjson": ndjson, "arrow": arrow}[form](events)
    return [engine.push(stream, None, body, form)]  # type: ignore[arg-type]  # formats of the oracle


def ntriples(triples: Sequence[Triple]) -> str:
    return "".join(f"{s} {p} {o} .\n" for s, p, o in triples)


def nquads(events: Sequence[Push]) -> str:
    lines = []
    for number, event in enumerate(events):
        graph = f"<http://ex/event/{number}>"
        lines.append(f'{graph} <{TIME}> "{event.at}"^^<{XSD}integer> .')
        lines += [f"{s} {p} {o} {graph} ." for s, p, o in event.triples]
    return "\n".join(lines)


def trig(events: Sequence[Push]) -> str:
    lines = []
    for number, event in enumerate(events):
        graph = f"<http://ex/event/{number}>"
        lines.append(f'{graph} <{TIME}> "{event.at}"^^<{XSD}integer> . {graph} {{ {ntriples(event.triples)} }}')
    return "\n".join(lines)


def ndjson(events: Sequence[Push]) -> str:
    return "\n".join(json.dumps({"t": event.at, "data": ntriples(event.triples)}) for event in events)


def table(events: Sequence[Push]) -> pa.Table:
    rows = [(event.at, number, *columns(triple)) for number, event in enumerate(events) for triple in event.triples]
    kinds = [pa.int64(), pa.int64(), *[pa.string()] * 5]
    names = ["t", "event", "s", "p", "o", "datatype", "lang"]
    values: list[Any] = list(zip(*rows, strict=True))
    return pa.table({name: pa.array(column, kind) for name, column, kind in zip(names, values, kinds, strict=True)})


def columns(triple: Triple) -> tuple[str, str, str, str | None, str | None]:
    s, p, o = triple
    if is_iri(o):
        return s[1:-1], p[1:-1], o[1:-1], None, None
    text, kind, lang = parts(o)
    return s[1:-1], p[1:-1], text, None if lang else kind, lang or None


def arrow(events: Sequence[Push]) -> bytes:
    rows = table(events)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=7)
    body: bytes = sink.getvalue().to_pybytes()
    return body
