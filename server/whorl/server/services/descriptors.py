"""Streams and queries as documents, from the catalogue and the engine's counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic.alias_generators import to_camel

from whorl.documents import shown_instant
from whorl.server import problems, schemas

if TYPE_CHECKING:
    from whorl.server.runtime.core import Core, QueryEntry, StreamEntry
    from whorl.server.services.ingest import Ingest

_VOCALS_PREFIXES = """\
@prefix vocals: <http://w3id.org/rsp/vocals#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix format: <http://www.w3.org/ns/formats/> .
"""


def streams(core: Core, ingest: Ingest) -> list[schemas.StreamDocument]:
    """All streams by IRI, including those that queries write."""
    numbers = _stream_numbers(core)
    declared = [_stream(core, entry, numbers, ingest) for entry in core.streams.values()]
    written = [_output(core, iri, name, numbers) for iri, name in core.outputs().items() if iri not in core.streams]
    return sorted(declared + written, key=lambda one: one.stream_iri)


def stream(core: Core, iri: str, ingest: Ingest) -> schemas.StreamDocument:
    """One stream."""
    writer = core.outputs().get(iri)
    if writer is not None and iri not in core.streams:
        return _output(core, iri, writer, _stream_numbers(core))
    return _stream(core, core.stream(iri), _stream_numbers(core), ingest)


def queries(core: Core, subscribers: dict[str, int]) -> list[schemas.QueryDocument]:
    """All queries, by name."""
    numbers = _query_numbers(core)
    found = [_query(entry, numbers, subscribers) for entry in core.queries.values()]
    return sorted(found, key=lambda one: one.id)


def query(core: Core, name: str, subscribers: dict[str, int]) -> schemas.QueryDocument:
    """One query."""
    return _query(core.query(name), _query_numbers(core), subscribers)


def windows(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The windows of a query."""
    return [_camel(window) for window in facts.get("windows", [])]


def vocals(document: schemas.StreamDocument, base: str) -> str:
    """A stream's VoCaLS descriptor: its format, and where to push events."""
    iri = document.stream_iri
    url = f"{base}/streams/{quote(iri, safe='')}"
    return (
        f"{_VOCALS_PREFIXES}\n"
        f"<{url}> a vocals:StreamDescriptor ;\n    dcat:dataset <{iri}> .\n\n"
        f"<{iri}> a vocals:RDFStream ;\n"
        f'    dcterms:identifier "{iri}" ;\n'
        "    vocals:hasEndpoint [\n"
        "        a vocals:StreamEndpoint ;\n"
        "        dcterms:format format:N-Quads, format:TriG, format:Turtle, format:N-Triples, format:JSON-LD ;\n"
        f"        dcat:accessURL <{url}>\n    ] .\n"
    )


def _stream_numbers(core: Core) -> dict[str, dict[str, Any]]:
    return {numbers["stream"]: dict(numbers) for numbers in core.engine.stats()["streams"]}


def _query_numbers(core: Core) -> dict[int, dict[str, Any]]:
    seconds = core.engine.evaluation_seconds()
    found = core.engine.stats()["queries"]
    return {numbers["query"]: {**numbers, "evaluation_seconds": seconds[numbers["query"]]} for numbers in found}


def _stream(
    core: Core, entry: StreamEntry, numbers: dict[str, dict[str, Any]], ingest: Ingest
) -> schemas.StreamDocument:
    counted = numbers.get(entry.iri, {})
    options, refusals = entry.options, ingest.refusals(entry.iri)
    return schemas.StreamDocument(
        stream_iri=entry.iri,
        status="closed" if entry.closed else "open",
        watermark=shown_instant(counted.get("watermark")),
        events=counted.get("events", 0),
        triples=counted.get("triples", 0),
        late=counted.get("late", 0),
        refused=refusals.refused,
        ahead=refusals.ahead,
        last_refusal=None if refusals.last is None else schemas.Refusal(**refusals.last),
        rate=ingest.rate(entry.iri),
        queries=core.readers_of(entry.iri),
        written_by=core.outputs().get(entry.iri),
        settings=schemas.StreamSettings(
            timestamp_predicate=options.timestamp_predicate,
            lateness=options.lateness_ms,
            idle_timeout=options.idle_timeout_ms,
            retention=options.retention_ms,
            time=options.time,
            assume_zone=options.assume_zone,
        ),
        mapping=entry.mapping,
        time_column=None if entry.mapping is None else entry.time_column,
    )


def _output(core: Core, iri: str, writer: str, numbers: dict[str, dict[str, Any]]) -> schemas.StreamDocument:
    counted = numbers.get(iri, {})
    return schemas.StreamDocument(
        stream_iri=iri,
        status="output",
        watermark=shown_instant(counted.get("watermark")),
        events=counted.get("events", 0),
        triples=counted.get("triples", 0),
        queries=core.readers_of(iri),
        written_by=writer,
    )


def _query(entry: QueryEntry, numbers: dict[int, dict[str, Any]], subscribers: dict[str, int]) -> schemas.QueryDocument:
    counted = {} if entry.number is None else dict(numbers.get(entry.number, {}))
    counted.pop("query", None)
    facts, refusal = entry.facts, entry.refusal()
    return schemas.QueryDocument(
        id=entry.name,
        streams=facts.get("streams", []),
        body=entry.text,
        dialect=facts.get("dialect"),
        form=facts.get("form"),
        variables=facts.get("variables") or [],
        r2s=facts.get("r2s"),
        status=entry.status,
        windows=windows(facts),
        output=facts.get("output"),
        options=entry.options,
        incarnation=entry.incarnation,
        watermark=shown_instant(counted.pop("clock", None)),
        last_seq=entry.last_seq,
        subscribers=subscribers.get(entry.name, 0),
        problem=None if refusal is None else problems.document(refusal),
        warnings=facts.get("warnings", []),
        stats={"results": entry.results, "lastResultAt": entry.last_result_at, **_camel(counted)},
    )


def _camel(members: dict[str, Any]) -> dict[str, Any]:
    """The engine's names as the server's documents spell them."""
    return {to_camel(name): value for name, value in members.items()}
