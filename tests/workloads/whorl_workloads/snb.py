"""LDBC Social Network Benchmark, test scale: messages, with who wrote them, where, and in reply to what.

A message (post or comment) is one event at its creation, about two dozen triples that stand for themselves: the places
and the creator's place come with it. `weeks` puts the messages of a week into one event, as the CGPM paper does;
`copies` repeats each message under other names, where larger events are wanted than the test scale has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby

from whorl_workloads.data import TYPE, Event, Term, Triple, data_path, in_order, iri, tar_members, typed

MESSAGES = "http://example.org/snb/messages"
SNVOC = "http://www.ldbc.eu/ldbc_socialnet/1.0/vocabulary/"
SN = "http://www.ldbc.eu/ldbc_socialnet/1.0/data/"
FOAF = "http://xmlns.com/foaf/0.1/"
WEEK_MS = 7 * 24 * 3_600_000
ARCHIVE = "social_network-csv.tar.gz"

Row = Sequence[str]


@cache
def tables() -> dict[str, tuple[Row, ...]]:
    """The rows of every table, by its name without number and extension."""
    found: dict[str, tuple[Row, ...]] = {}
    for name, body in tar_members(data_path("snb", ARCHIVE)).items():
        lines = body.decode().splitlines()[1:]
        found[name.rpartition("/")[2].removesuffix("_0_0.csv")] = tuple(line.split("|") for line in lines)
    return found


@dataclass(frozen=True)
class Links:
    """Who wrote a message, where, about what, in reply to what; and the places."""

    creator: dict[str, str]
    place: dict[str, str]
    tags: dict[str, list[str]]
    reply_of: dict[str, str]
    home: dict[str, str]
    part_of: dict[str, str]
    names: dict[str, str] = field(default_factory=dict)


@cache
def links() -> Links:
    """The relations between the tables."""
    known = tables()

    def one(*names: str) -> dict[str, str]:
        return {row[0]: row[1] for name in names for row in known[name]}

    tags: dict[str, list[str]] = defaultdict(list)
    for kind in ("post", "comment"):
        for message, tag in known[f"{kind}_hasTag_tag"]:
            tags[message].append(tag)
    return Links(
        creator=one("post_hasCreator_person", "comment_hasCreator_person"),
        place=one("post_isLocatedIn_place", "comment_isLocatedIn_place"),
        tags=tags,
        reply_of=one("comment_replyOf_post", "comment_replyOf_comment"),
        home=one("person_isLocatedIn_place"),
        part_of=one("place_isPartOf_place"),
        names=one("place"),
    )


def messages(copies: int = 1) -> list[Event]:
    """Every post and comment, in order of creation."""
    known = tables()
    found = []
    for row in known["post"]:
        content = row[6] or row[1]
        found += [_event("Post", row[0], int(row[2]), content, copy) for copy in range(copies)]
    for row in known["comment"]:
        found += [_event("Comment", row[0], int(row[1]), row[4], copy) for copy in range(copies)]
    return in_order(found)


def weeks(copies: int = 1) -> list[Event]:
    """The messages of each week as one event, at the end of the week."""
    found = []
    for week, group in groupby(messages(copies), lambda event: event.t // WEEK_MS):
        triples = dict.fromkeys(triple for event in group for triple in event.triples)
        found.append(Event(MESSAGES, (week + 1) * WEEK_MS, tuple(triples)))
    return found


def _event(kind: str, number: str, created_at: int, content: str, copy: int) -> Event:
    return Event(MESSAGES, created_at, tuple(dict.fromkeys(_message(kind, number, created_at, content, copy))))


def _message(kind: str, number: str, created_at: int, content: str, copy: int) -> Iterator[Triple]:
    known, message = links(), _thing("message", number, copy)
    yield message, TYPE, _word(kind)
    yield message, _word("id"), typed(number, "integer")
    yield message, _word("creationDate"), typed(created_at, "integer")
    yield message, _word("content"), _text(content)
    yield message, _word("length"), typed(len(content), "integer")
    for tag in known.tags.get(number, ()):
        yield message, _word("hasTag"), _thing("tag", tag)
    if number in known.reply_of:
        yield message, _word("replyOf"), _thing("message", known.reply_of[number], copy)
    creator = known.creator[number]
    yield message, _word("hasCreator"), _thing("person", creator, copy)
    yield message, _word("isLocatedIn"), _thing("place", known.place[number])
    if creator in known.home:
        yield _thing("person", creator, copy), _word("isLocatedIn"), _thing("place", known.home[creator])
        yield from _places(known.home[creator])
    yield from _places(known.place[number])


def _places(place: str) -> Iterator[Triple]:
    """A place and those around it."""
    known = links()
    yield _thing("place", place), iri(f"{FOAF}name"), _text(known.names[place])
    if place in known.part_of:
        yield _thing("place", place), _word("isPartOf"), _thing("place", known.part_of[place])
        yield from _places(known.part_of[place])


def _word(name: str) -> Term:
    return iri(SNVOC + name)


def _thing(kind: str, number: str, copy: int = 0) -> Term:
    return iri(f"{SN}{kind}{number}" + (f"_{copy}" if copy else ""))


def _text(text: str) -> Term:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def sizes(events: Iterable[Event]) -> tuple[int, int, int]:
    """The fewest and the most triples of an event, and those of all."""
    counts = [len(event.triples) for event in events]
    return min(counts), max(counts), sum(counts)
