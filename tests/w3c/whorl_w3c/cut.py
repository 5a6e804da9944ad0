"""The ways in which the data of a test becomes a stream.

All of them leave the same set of triples in the window when the last event is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

if TYPE_CHECKING:
    from collections.abc import Sequence

XSD = "http://www.w3.org/2001/XMLSchema#"
GENERATED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
ALL = "[ALL]"
# Noise comes in the first five seconds. At 64 s the window that began with the sixth is the oldest that is open.
SLIDING = "[RANGE 60s STEP 1s]"
NOISE_UNTIL = 5_000
NOISE_GONE_AT = 64_000
FALLBACK = Triple(NamedNode("urn:noise:s"), NamedNode("urn:noise:p"), NamedNode("urn:noise:o"))


@dataclass(frozen=True, slots=True)
class Event:
    """Triples with one time, in milliseconds."""

    at: int
    triples: tuple[Triple, ...]


class Mode(Enum):
    """How the data is cut."""

    ONE_EVENT = "M1"
    TRIPLE_BY_TRIPLE = "M2"
    RANDOM_CUT = "M3"
    NOISE_THAT_EXPIRES = "M4"
    EVERYTHING_TWICE = "M5"


@dataclass(frozen=True, slots=True)
class Stream:
    """Events in order, the window that shows them, when it reports, and until when time has to go on."""

    events: tuple[Event, ...]
    window: str = ALL
    report: str = "change"
    advance_to: int | None = None

    def document(self) -> str:
        """The stream as one N-Quads document, in which a blank node is the same in all events."""
        lines = []
        for number, event in enumerate(self.events):
            graph = f"<urn:event:{number}>"
            lines.append(f'{graph} <{GENERATED_AT}> "{event.at}"^^<{XSD}integer> .\n')
            lines.extend(f"{triple} {graph} .\n" for triple in event.triples)
        return "".join(lines)

    def messages(self) -> list[tuple[int, str]]:
        """Each event for itself, as N-Triples."""
        return [(event.at, "".join(f"{triple} .\n" for triple in event.triples)) for event in self.events]

    def has_blank_nodes(self) -> bool:
        """Whether events have to be sent together to keep their blank nodes."""
        return any(
            isinstance(term, BlankNode)
            for event in self.events
            for triple in event.triples
            for term in (triple.subject, triple.object)
        )


def cut(mode: Mode, data: Sequence[Triple], pool: Sequence[Triple], seed: str) -> Stream:
    """The data as a stream. Noise is made of the terms of the data and of `pool`."""
    random = Random(f"{mode.value} {seed}")
    triples = list(dict.fromkeys(data))
    # Without data nothing changes: an event without triples is what makes the query speak.
    report = "change" if triples else "close"
    match mode:
        case Mode.ONE_EVENT:
            return Stream((Event(0, tuple(triples)),), report="close")
        case Mode.TRIPLE_BY_TRIPLE:
            singles = tuple(Event(1_000 * n, (triple,)) for n, triple in enumerate(triples))
            return Stream(singles or (Event(0, ()),), report=report)
        case Mode.RANDOM_CUT:
            return Stream(_cut(triples, range(10_000), random), report=report)
        case Mode.NOISE_THAT_EXPIRES:
            noise = _noise(triples, [*triples, *pool] or [FALLBACK], random)
            early = random.sample(triples, random.randint(0, len(triples)))
            events = (
                *_cut([*noise, *early], range(NOISE_UNTIL), random),
                *_cut(triples, range(NOISE_UNTIL, 2 * NOISE_UNTIL), random),
            )
            return Stream(events, SLIDING, "change", NOISE_GONE_AT + 1)
        case Mode.EVERYTHING_TWICE:
            copies = [*_cut(triples, range(10_000), random), *_cut(triples, range(10_000), random)]
            return Stream(tuple(sorted(copies, key=lambda event: event.at)), report=report)


def _cut(triples: Sequence[Triple], times: range, random: Random) -> tuple[Event, ...]:
    """Shuffled, in events of one to four triples at rising times, some of which are equal."""
    shuffled = random.sample(triples, len(triples))
    parts = []
    while shuffled:
        size = random.randint(1, 4)
        parts.append(tuple(shuffled[:size]))
        del shuffled[:size]
    ats = sorted(random.choice(times[:: max(1, len(times) // 20)]) for _ in parts or [()])
    return tuple(Event(at, part) for at, part in zip(ats, parts or [()], strict=True))


def _noise(data: Sequence[Triple], pool: Sequence[Triple], random: Random) -> list[Triple]:
    """Triples that are not in the data and join with it.

    Some are mixed of its subjects, predicates and objects; one subject is there again under another name.
    """
    objects: list[Any] = [*(triple.object for triple in pool), NamedNode("urn:noise:o"), Literal("noise")]
    original = random.choice(pool).subject
    made = [Triple(NamedNode("urn:noise:s"), one.predicate, one.object) for one in pool if one.subject == original]
    made.extend(
        Triple(random.choice(pool).subject, random.choice(pool).predicate, random.choice(objects))
        for _ in range(2 * min(len(pool), 10) + 2)
    )
    return [triple for triple in dict.fromkeys(made) if triple not in data]
