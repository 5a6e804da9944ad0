"""The CQELS conference scenario: people seen at places of a building, a floor plan, and publications.

The detections carry no time; they are replayed at an even pace.
"""

from __future__ import annotations

import gzip
from itertools import islice

import pyoxigraph as ox

from whorl_workloads.data import Event, Static, data_path, gzip_lines, iri, ntriples, parse

DETECTIONS = "http://deri.org/streams/rfid"
FLOORPLAN = "http://deri.org/floorplan/"
PUBLICATIONS = "http://deri.org/dblp/"


def events(count: int, pace_ms: int = 200) -> list[Event]:
    """The first detections, `pace_ms` apart."""
    lines = islice(gzip_lines(data_path("cqels-conference", "rfid_1-7000.stream.gz")), count)
    found = []
    for number, line in enumerate(lines):
        person, predicate, place = line.split()
        found.append(Event(DETECTIONS, number * pace_ms, ((iri(person), iri(predicate), iri(place)),)))
    return found


def static() -> Static:
    """The floor plan and the publications, each in its graph."""
    floorplan = data_path("cqels-conference", "floorplan.rdf").read_bytes()
    publications = gzip.decompress(data_path("cqels-conference", "10k.rdf.gz").read_bytes())
    return {
        FLOORPLAN: ntriples(parse(floorplan, ox.RdfFormat.RDF_XML)),
        PUBLICATIONS: ntriples(parse(publications, ox.RdfFormat.RDF_XML)),
    }
