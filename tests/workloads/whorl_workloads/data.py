"""Where the files are, and what a loader gives: events in order of time, and static graphs.

Files are looked for in `$WHORL_TEST_DATA`, or else in `shared/data` beside the checkout.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox
from reference_data import reference_path

# A term is its N-Triples text; a triple is three of them.
Term: TypeAlias = str
Triple: TypeAlias = tuple[Term, Term, Term]
# Static data: N-Triples by the name of their graph, None for the default graph.
Static: TypeAlias = Mapping[str | None, bytes]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = f"<{RDF}type>"


class DataMissingError(FileNotFoundError):
    """The data of a benchmark is not on this machine."""


class Event(NamedTuple):
    """A graph that a stream carries at an instant, in milliseconds since the Unix epoch."""

    stream: str
    t: int
    triples: tuple[Triple, ...]


def data_path(*parts: str) -> Path:
    """A file or folder of the data; it is there, or `DataMissingError` says what to do."""
    path = reference_path("data", *parts)
    if path is None:
        raise DataMissingError(f"data/{'/'.join(parts)} is absent: WHORL_TEST_DATA says where data and queries are")
    return path


def is_long() -> bool:
    """Whether larger slices are asked for."""
    return os.environ.get("WHORL_CAMPAIGN") == "long"


def gzip_lines(path: Path) -> Iterator[str]:
    """The lines of a compressed text, without line ends."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


def tar_members(path: Path, names: Sequence[str] | None = None) -> dict[str, bytes]:
    """The files of an archive by name, all of them or those with the given names."""
    with tarfile.open(path) as archive:
        return {
            member.name: content.read()
            for member in archive
            if (names is None or member.name in names) and (content := archive.extractfile(member)) is not None
        }


def parse(body: bytes, rdf_format: ox.RdfFormat, base_iri: str | None = None) -> list[Triple]:
    """The triples of an RDF document as N-Triples terms."""
    quads = ox.parse(body, rdf_format, base_iri=base_iri)
    return [(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads]


def ntriples(triples: Iterable[Triple]) -> bytes:
    """An N-Triples document."""
    return "".join(f"{s} {p} {o} .\n" for s, p, o in triples).encode()


def iri(text: str) -> Term:
    """An IRI as a term."""
    return f"<{text}>"


def typed(value: object, datatype: str) -> Term:
    """A literal with a datatype of XML Schema. The value holds no quotes."""
    return f'"{value}"^^<{XSD}{datatype}>'


def to_ms(text: str) -> int:
    """An ISO date and time, in UTC unless it says otherwise, in milliseconds."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def in_order(events: Iterable[Event]) -> list[Event]:
    """By time; events of one instant stay in the order they are in."""
    return sorted(events, key=lambda event: event.t)
