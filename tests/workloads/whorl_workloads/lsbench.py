"""LSBench: a social network of 1,000 users, its posts, photos, likes and positions.

Posts, comments, albums, photos and fixes are events at the time they carry. Likes carry none: the n-th like of a thing
is put n paces behind its creation. The generator wrote every like ten times; `copies` says how many are kept.

The files are Turtle with one triple per line. They are cut by lines first, and only what is wanted is parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import NamedTuple

import pyoxigraph as ox

from whorl_workloads.data import Event, Static, Triple, data_path, gzip_lines, in_order, ntriples, parse, to_ms

POSTS = "http://example.org/lsbench/posts"
POST_LIKES = "http://example.org/lsbench/postLikes"
PHOTOS = "http://example.org/lsbench/photos"
PHOTO_LIKES = "http://example.org/lsbench/photoLikes"
POSITIONS = "http://example.org/lsbench/positions"
NETWORK = "http://example.org/lsbench/network"

# The first line of a thing or of a fix, and the line that has its time.
BEGINNING = re.compile(
    r"\S+ (?:(?:a|rdf:type) (?:sib:Post|sib:Comment|sib:Photo|sioct:ImageGallery)|sib:trackedAt \S+) \."
)
TIME = re.compile(r'\S+ (?:dc:created|sib:trackedTime) "([^"]+)"')


class Chunk(NamedTuple):
    """The lines of one event."""

    t: int
    lines: list[str]

    @property
    def subject(self) -> str:
        """The thing that the lines are about, as the file spells it."""
        return self.lines[0].split(" ", 1)[0]


def lines(name: str) -> Iterator[str]:
    """The lines of a file of the benchmark."""
    return gzip_lines(data_path("lsbench", f"{name}-1000.ttl.gz"))


def chunks(name: str) -> Iterator[Chunk]:
    """A file of things or fixes, event by event, in its order."""
    pending: list[str] = []
    t = None
    for line in lines(name):
        if BEGINNING.match(line) is not None:
            if t is not None:
                yield Chunk(t, pending)
            pending, t = [], None
        elif (time := TIME.match(line)) is not None:
            t = to_ms(time[1])
        if not line.startswith("@prefix"):
            pending.append(line)
    if t is not None:
        yield Chunk(t, pending)


class Likes(NamedTuple):
    """Which likes there are, and when."""

    until: str
    copies: int = 2
    pace_ms: int = 60_000


def likes(name: str, liked: Iterable[Chunk], rule: Likes) -> Iterator[Chunk]:
    """One event per like of the given things, in the order of the file."""
    created = {chunk.subject: chunk.t for chunk in liked}
    seen: Counter[str] = Counter()
    ranks: Counter[str] = Counter()
    for line in lines(name):
        thing = line.split(" ")[2]
        if thing in created:
            seen[line] += 1
            if seen[line] <= rule.copies:
                ranks[thing] += 1
                yield Chunk(created[thing] + rule.pace_ms * ranks[thing], [line])


def posts(since: str, until: str, rule: Likes) -> list[Event]:
    """Posts and comments between two moments, and the likes of them."""
    made = _between("rdfPostStream", since, until)
    liked = _liked("rdfPostLikeStream", made, rule)
    return in_order([*_events(POSTS, "rdfPostStream", made), *_events(POST_LIKES, "rdfPostLikeStream", liked)])


def photos(since: str, until: str, rule: Likes) -> list[Event]:
    """Albums and photos between two moments, and the likes of them."""
    made = _between("rdfPhotoStream", since, until)
    liked = _liked("rdfPhotoLikeStream", made, rule)
    return in_order([*_events(PHOTOS, "rdfPhotoStream", made), *_events(PHOTO_LIKES, "rdfPhotoLikeStream", liked)])


def positions(since: str, until: str, one_in: int = 1) -> list[Event]:
    """Every n-th fix between two moments."""
    return in_order(_events(POSITIONS, "gpsStream", _between("gpsStream", since, until)[::one_in]))


def static(*, whole: bool = False) -> Static:
    """The network. Unless it is wanted as a `whole`: accounts, names of persons, friendships and subscriptions."""
    asked = ("sioc:account_of", "foaf:firstName", "foaf:lastName", "foaf:knows", "sioc:subscriber_of")
    wanted = (
        line for line in lines("sibdataset") if whole or line.startswith("@prefix") or line.split(" ", 2)[1] in asked
    )
    return {NETWORK: ntriples(parse("\n".join(wanted).encode(), ox.RdfFormat.TURTLE))}


def _between(name: str, since: str, until: str) -> list[Chunk]:
    first, end = to_ms(since), to_ms(until)
    return [chunk for chunk in chunks(name) if first <= chunk.t < end]


def _liked(name: str, made: Iterable[Chunk], rule: Likes) -> list[Chunk]:
    end = to_ms(rule.until)
    return [like for like in likes(name, made, rule) if like.t < end]


def _events(stream: str, name: str, wanted: list[Chunk]) -> list[Event]:
    """The chunks as events; all of them are parsed at one go."""
    prefixes = takewhile(lambda line: line.startswith("@prefix"), lines(name))
    text = "\n".join([*prefixes, *(line for chunk in wanted for line in chunk.lines)])
    triples: Iterator[Triple] = iter(parse(text.encode(), ox.RdfFormat.TURTLE))
    return [Event(stream, chunk.t, tuple(islice(triples, len(chunk.lines)))) for chunk in wanted]
