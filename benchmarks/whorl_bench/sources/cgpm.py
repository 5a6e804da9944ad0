"""Continuous graph pattern matching: events that are graphs, from a dozen triples to a week of data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from whorl_oracle.model import Dialect
from whorl_workloads import lsbench as network
from whorl_workloads import lubm as universities
from whorl_workloads import snb as messages
from whorl_workloads import taxi as trips
from whorl_workloads.data import TYPE, Event, Triple, iri

from whorl_bench.case import Case, QueryText
from whorl_bench.sources.texts import case, query_of
from whorl_bench.workload import Parameters

# The properties of a post, the most queried first: a star uses the first of them.
_POST_PATTERNS = (
    "?post sioc:content ?text",
    "?post a sib:Post",
    "?user sioc:creator_of ?post",
    "?post dc:created ?date",
    "?forum sioc:container_of ?post",
    "?post sib:browser ?browser",
    "?post sioc:ip_address ?address",
    "?post dcterms:title ?title",
)
_POST_PREFIXES = """PREFIX sib: <http://www.ins.cwi.nl/sib/vocabulary/>
PREFIX sioc: <http://rdfs.org/sioc/ns#>
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX : <http://example.org/lsbench/>
"""


def taxi(parameters: Parameters) -> Case:
    """Trips as graphs of 24 triples."""
    events = trips.events(int(parameters.get("warm", 0)) + int(parameters["events"]))
    return case(parameters, events, {}, [query_of(parameters)])


def lsbench_posts(parameters: Parameters) -> Case:
    """Posts as graphs, and a star of `patterns` on them, in a window of the last post or of `posts` of them."""
    star = _star(int(parameters["patterns"]), int(parameters.get("posts", 1)))
    return case(parameters, _posts(), {}, [star])


@cache
def _posts() -> list[Event]:
    begin = "2010-02-01T00:00:00"
    events = network.posts(begin, "2010-02-11T00:00:00", network.Likes(begin))
    return [event for event in events if event.stream == network.POSTS]


def _star(patterns: int, posts: int) -> QueryText:
    chosen = _POST_PATTERNS[:patterns]
    where = " .\n    ".join(chosen)
    shown = " ".join(dict.fromkeys(word for pattern in chosen for word in pattern.split() if word.startswith("?")))
    text = f"{_POST_PREFIXES}\nSELECT {shown}\nWHERE {{\n  STREAM :posts [ELEMENTS {posts}] {{\n    {where} .\n  }}\n}}"
    return QueryText(text, Dialect.CQELS)


def snb(parameters: Parameters) -> Case:
    """Messages one by one, or a week of them together; `triples_per_event` divides them into updates of that size."""
    copies = int(parameters.get("copies", 1))
    events = messages.weeks(copies) if parameters.get("weekly") else messages.messages(copies)
    if "triples_per_event" in parameters:
        events = _cut(events, int(parameters["triples_per_event"]))
    return case(parameters, events, {}, [query_of(parameters)])


def _cut(events: Sequence[Event], size: int) -> list[Event]:
    """The same triples in graphs of about one size, a millisecond apart."""
    found: list[Event] = []
    pending: list[tuple[str, str, str]] = []
    for event in events:
        pending += event.triples
        if len(pending) >= size:
            found.append(Event(event.stream, len(found), tuple(dict.fromkeys(pending))))
            pending = []
    return found


def lubm(parameters: Parameters) -> Case:
    """The facts of universities in graphs of `per_event` triples: the first `triples` of them, or `events` events.

    `planted` adds a student of both kinds with a degree from their own university, whom q1 and q3 look for and the
    generator does not create.
    """
    per_event = int(parameters["per_event"])
    wanted = int(parameters.get("events", int(parameters["triples"]) // per_event))
    events = universities.events(per_event, wanted, int(parameters.get("universities", 1)))
    if parameters.get("planted"):
        events[-1] = events[-1]._replace(triples=(*events[-1].triples, *_planted()))
    return case(parameters, events, {}, [query_of(parameters)])


_UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"


def _planted() -> Iterator[Triple]:
    student, department, university = (iri(f"{universities.BASE}planted/{name}") for name in ("s", "d", "u"))
    kinds = [(student, "GraduateStudent"), (student, "UndergraduateStudent"), (department, "Department")]
    yield from ((thing, TYPE, iri(_UB + kind)) for thing, kind in [*kinds, (university, "University")])
    yield student, iri(f"{_UB}memberOf"), department
    yield department, iri(f"{_UB}subOrganizationOf"), university
    yield student, iri(f"{_UB}undergraduateDegreeFrom"), university
