"""The conference scenario of CQELS 2011: one query, or many instances, beside publications of any number.

The 10,303 triples that come with the data are used as they are; beyond them publications are generated: works with one
to four creators and a title, part of proceedings with editors, names of persons. How many works a person has follows a
power law, as in SP2Bench.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice

from whorl_workloads import conference
from whorl_workloads.data import Static, Triple, data_path, iri, ntriples

from whorl_bench.case import Case, QueryText
from whorl_bench.sources.texts import case, query_of
from whorl_bench.workload import Parameters

_NAME = "Paul Erdoes"
_DC = "http://purl.org/dc/elements/1.1/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_DBLP = "http://deri.org/dblp/"
_WORKS_PER_PROCEEDINGS = 40


def single(parameters: Parameters) -> Case:
    """One query of `examples/conference`."""
    events = conference.events(sum(int(parameters.get(key, 0)) for key in ("skip", "warm", "events")))
    return case(parameters, events, _static(parameters), [query_of(parameters)])


def many(parameters: Parameters) -> Case:
    """`instances` instances of a query, each for a different author."""
    query = query_of(parameters)
    names = list(islice(_names(), int(parameters["instances"])))
    queries = [QueryText(query.text.replace(_NAME, name), query.dialect) for name in names]
    events = conference.events(sum(int(parameters.get(key, 0)) for key in ("skip", "warm", "events")))
    return case(parameters, events, _static(parameters), queries)


def _names() -> Iterator[str]:
    """Authors, beginning with the one of the examples; some occur twice in the file."""
    lines = data_path("cqels-conference", "authors.text").read_text(encoding="utf-8").splitlines()
    yield from dict.fromkeys([_NAME, *(line.strip() for line in lines if line.strip())])


def _static(parameters: Parameters) -> Static:
    return _static_of(int(parameters.get("static_triples", 0)))


@cache
def _static_of(wanted: int) -> Static:
    known = conference.static()
    publications = known[conference.PUBLICATIONS]
    missing = wanted - publications.count(b"\n")
    more = ntriples(islice(publications_of(missing), missing)) if missing > 0 else b""
    return {**known, conference.PUBLICATIONS: publications + more}


def publications_of(triples: int) -> Iterator[Triple]:
    """Endless publications, by about as many persons as that number of triples would have."""
    draw = random.Random(2011)
    persons = max(triples // 8, 4)
    for number in range(triples):
        work = iri(f"{_DBLP}generated/work{number}")
        creators = {min(int(draw.paretovariate(0.8)), persons) for _ in range(draw.randint(1, 4))}
        yield work, iri(f"{_DC}title"), f'"title {number}"'
        for creator in sorted(creators):
            yield work, iri(f"{_DC}creator"), _person(creator)
        proceedings = iri(f"{_DBLP}generated/proceedings{number // _WORKS_PER_PROCEEDINGS}")
        yield work, iri("http://purl.org/dc/terms/partOf"), proceedings
        if number % _WORKS_PER_PROCEEDINGS == 0:
            yield proceedings, iri("http://swrc.ontoware.org/ontology#editor"), _person(draw.randint(1, persons))
        yield _person(number % persons), iri(f"{_FOAF}name"), f'"Person {number % persons}"'


def _person(number: int) -> str:
    return iri(f"{_DBLP}persons/Generated_{number}")
