"""Generated joins: chains of patterns over separate streams, and a star whose selectivities rotate."""

from __future__ import annotations

import random

from whorl_oracle.model import Dialect
from whorl_workloads.data import Event, iri

from whorl_bench.case import Case, QueryText
from whorl_bench.sources.texts import case
from whorl_bench.workload import Parameters, WorkloadError

_EX = "http://example.org/"
_INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


def _stream(number: int) -> str:
    return f"{_EX}s{number}"


def _event(t: int, stream: int, subject: int, value: int) -> Event:
    triple = (iri(f"{_EX}k{subject}"), iri(f"{_EX}p{stream}"), iri(f"{_EX}k{value}"))
    return Event(_stream(stream), t, (triple,))


def chain(parameters: Parameters) -> Case:
    """`ways` patterns, each in a window of `width` triples over a separate stream, keys uniform over `keys`."""
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


def hopping(parameters: Parameters) -> Case:
    """A chain in one window of ten seconds that steps by one, `width` events wide, on one stream, in RSP-QL.

    Nothing but the first event, which no pattern matches, is at the edge of a step: engines differ in which of two
    windows such an event is in.
    """
    ways, width = int(parameters.get("ways", 3)), int(parameters["width"])
    keys, every = max(width // ways, 1), 10_000 // width
    if every % 2:
        raise WorkloadError("10,000 divided by the width is to be even, so that no event is at the edge of a step")
    draw = random.Random(42)
    warm = int(parameters.get("warm", width))
    begin = 100_000
    events = [Event(f"{_EX}s", begin, ((iri(f"{_EX}k0"), iri(f"{_EX}start"), iri(f"{_EX}k0")),))]
    for n in range(warm + int(parameters["events"]) - 1):
        triple = (iri(f"{_EX}k{draw.randrange(keys)}"), iri(f"{_EX}p{n % ways}"), iri(f"{_EX}k{draw.randrange(keys)}"))
        events.append(Event(f"{_EX}s", begin + 1 + n * every, (triple,)))
    patterns = " ".join(f"?v{n} :p{n} ?v{n + 1} ." for n in range(ways))
    shown = " ".join(f"?v{n}" for n in range(ways + 1))
    text = (
        f"PREFIX : <{_EX}>\nREGISTER RSTREAM :out AS\nSELECT {shown}\n"
        f"FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S]\nWHERE {{\nWINDOW :w {{ {patterns} }}\n}}"
    )
    return case({**parameters, "warm": warm}, events, {}, [QueryText(text, Dialect.RSPQL)])


def groups(parameters: Parameters) -> Case:
    """Means by group in one window of ten seconds, `width` events wide, that steps by `step_s`, in RSP-QL."""
    width, keys, step_s = int(parameters["width"]), int(parameters["groups"]), int(parameters["step_s"])
    draw, every = random.Random(42), 10_000 / width
    count = int(parameters.get("warm", 0)) + int(parameters["events"])
    stream, predicate = f"{_EX}s", iri(f"{_EX}value")
    events = [
        Event(
            stream,
            1 + int(n * every),
            ((iri(f"{_EX}g{draw.randrange(keys)}"), predicate, f'"{n % 1000}"^^{_INTEGER}'),),
        )
        for n in range(count)
    ]
    text = (
        f"PREFIX : <{_EX}>\nREGISTER RSTREAM :out AS\nSELECT ?g (AVG(?v) AS ?mean)\n"
        f"FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT{step_s}S]\n"
        "WHERE { WINDOW :w { ?g :value ?v } } GROUP BY ?g"
    )
    return case(parameters, events, {}, [QueryText(text, Dialect.RSPQL)])


def values(parameters: Parameters) -> Case:
    """A window of readings whose values never come again: `datatype` says as what they are written."""
    width = int(parameters["width"])
    warm = int(parameters.get("warm", width))
    suffix = {"integer": f"^^{_INTEGER}", "string": ""}[parameters["datatype"]]
    predicate = iri(f"{_EX}value")
    events = [
        Event(f"{_EX}s", n, ((iri(f"{_EX}k{n % 100}"), predicate, f'"{10_000_000 + n}"{suffix}'),))
        for n in range(warm + int(parameters["events"]))
    ]
    text = f"PREFIX : <{_EX}>\nSELECT ?k ?v WHERE {{ STREAM :s [TRIPLES {width}] {{ ?k :value ?v }} }}"
    return case({**parameters, "warm": warm}, events, {}, [QueryText(text, Dialect.CQELS)])


def rotating(parameters: Parameters) -> Case:
    """A centre with two arms of two streams each, whose selectivities rotate.

    For half of the keys the arm a is thick, `fan_out` rows with `fan_out` behind each, and the arm b has one row with
    nothing behind; for the other half it is the other way round. In a phase the centre has keys of one half. Entering
    the thin arm first ends the search at its second stream; finishing the thick one first makes `fan_out`² combinations
    to no avail. `phase` keeps one of the two; without it they alternate eight times. One key in fifty has a result.
    """
    fan_out, keys = int(parameters["fan_out"]), int(parameters.get("keys", 50))
    arms = [_arm(stream, thick, keys, fan_out) for thick, stream in enumerate((1, 3))]
    rows = {1: arms[0][0], 2: arms[0][1], 3: arms[1][0], 4: arms[1][1]}
    filling = [(stream, row) for stream, found in rows.items() for row in found]
    count, fixed = int(parameters["events"]), parameters.get("phase")
    draw = random.Random(7)
    sent = [(stream, subject, value) for stream, (subject, value) in filling]
    for number in range(count):
        phase = int(fixed) if fixed is not None else number * 8 // count % 2
        # What is in the arms is said again now and then, so that they are streams and not tables.
        again = filling[number // 50 % len(filling)]
        centre = (0, phase * keys + draw.randrange(keys), number)
        sent.append((again[0], *again[1]) if number % 50 == 49 else centre)
    events = [_event(t, *one) for t, one in enumerate(sent)]
    widths = [int(parameters["width"]), *(len(found) for found in rows.values())]
    blocks = "\n".join(f"  STREAM :s{n} [TRIPLES {widths[n]}] {{ {pattern} }}" for n, pattern in enumerate(_ARMS))
    text = f"PREFIX : <{_EX}>\nSELECT ?k ?c ?a ?x ?b ?y WHERE {{\n{blocks}\n}}"
    warm = {"warm": len(filling), **parameters}
    return case({**warm, "events": count}, events, {}, [QueryText(text, Dialect.CQELS)])


_ARMS = ("?k :p0 ?c", "?k :p1 ?a", "?a :p2 ?x", "?k :p3 ?b", "?b :p4 ?y")
# Values of the streams behind the arms, by arm, away from all keys.
_BEHIND = 1_000_000


def _arm(stream: int, thick: int, keys: int, fan_out: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The rows of an arm's two streams. The last key of each half has one row in either arm, with one behind."""
    live, dead = _BEHIND * stream, _BEHIND * (stream + 1)
    near = [(thick * keys + key, live + n) for key in range(keys - 1) for n in range(1, fan_out + 1)]
    near += [((1 - thick) * keys + key, dead + key) for key in range(keys - 1)]
    near += [(half * keys + keys - 1, live) for half in range(2)]
    far = [(live + n, live + m) for n in range(1, fan_out + 1) for m in range(fan_out)]
    return near, [*far, (live, live)]
