"""Generated joins: chains of patterns over streams of their own, and a star whose selectivities rotate."""

from __future__ import annotations

import random

from whorl_oracle.model import Dialect
from whorl_workloads.data import Event, iri

from whorl_bench.case import Case, QueryText
from whorl_bench.sources.texts import case
from whorl_bench.workload import Parameters

_EX = "http://example.org/"


def _stream(number: int) -> str:
    return f"{_EX}s{number}"


def _event(t: int, stream: int, subject: int, value: int) -> Event:
    triple = (iri(f"{_EX}k{subject}"), iri(f"{_EX}p{stream}"), iri(f"{_EX}k{value}"))
    return Event(_stream(stream), t, (triple,))


def chain(parameters: Parameters) -> Case:
    """`ways` patterns, each in a window of `width` triples of a stream of its own, keys uniform over `keys`."""
    ways, width = int(parameters.get("ways", 3)), int(parameters["width"])
    keys = int(parameters.get("keys", width))
    draw = random.Random(42)
    warm = int(parameters.get("warm", ways * width))
    count = warm + int(parameters["events"])
    events = [_event(t, t % ways, draw.randrange(keys), draw.randrange(keys)) for t in range(count)]
    blocks = "\n".join(f"  STREAM :s{n} [TRIPLES {width}] {{ ?v{n} :p{n} ?v{n + 1} }}" for n in range(ways))
    text = f"PREFIX : <{_EX}>\nSELECT * WHERE {{\n{blocks}\n}}"
    shown = " ".join(f"?v{n}" for n in range(ways + 1))
    query = QueryText(text.replace("*", shown), Dialect.CQELS)
    return case({**parameters, "warm": warm}, events, {}, [query])


def rotating(parameters: Parameters) -> Case:
    """A centre with two arms of two streams. In each phase one arm is thin and mostly ends nowhere, the other is thick.

    Probing the thin arm first ends the search at its second stream; probing the thick one first makes `fan_out`²
    combinations, nearly always to no avail. `phase` keeps one of the two phases; without it they alternate four times.
    """
    width, fan_out = int(parameters["width"]), int(parameters.get("fan_out", 8))
    draw = random.Random(7)
    warm = int(parameters.get("warm", 5 * width))
    count = warm + int(parameters["events"])
    keys = max(width // fan_out, 1)
    fixed = parameters.get("phase")
    events = []
    for t in range(count):
        phase = int(fixed) if fixed is not None else t * 4 // count % 2
        events.append(_arm_event(t, phase, keys, fan_out, draw))
    blocks = "\n".join(f"  STREAM :s{n} [TRIPLES {width}] {{ {pattern} }}" for n, pattern in enumerate(_ARMS))
    text = f"PREFIX : <{_EX}>\nSELECT ?k ?c ?a ?x ?b ?y WHERE {{\n{blocks}\n}}"
    return case({**parameters, "warm": warm}, events, {}, [QueryText(text, Dialect.CQELS)])


_ARMS = ("?k :p0 ?c", "?k :p1 ?a", "?a :p2 ?x", "?k :p3 ?b", "?b :p4 ?y")


def _arm_event(t: int, phase: int, keys: int, fan_out: int, draw: random.Random) -> Event:
    """Streams 1 and 2 are one arm, 3 and 4 the other; a thin stream has one key in `fan_out` that others have."""
    stream = t % 5
    is_thin = stream > 0 and (stream - 1) // 2 == phase
    subject = draw.randrange(keys)
    # Behind the thin stream hardly anything is found: nearly all keys of its second stream are others.
    rarity = fan_out if stream % 2 else 4 * fan_out
    if is_thin and draw.randrange(rarity):
        subject += keys * (1 + draw.randrange(fan_out))
    value = draw.randrange(keys) if stream % 2 else t
    return _event(t, stream, subject, value)
