"""Why a query has no solutions now, or that it has some.

Reasons are checked in the order of processing: is the query running, have events arrived, were they on time,
has a window closed, has each pattern matched, are the matches still in the window, and did they join. The first that
holds is reported. It comes from counters that the engine keeps anyway; only the predicates are looked up, in a bounded
number of triples.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from whorl.documents import shown_instant
from whorl.errors import WhorlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl import _engine

# The maximum number of triples to search for predicates.
TRIPLES_MAX = 10_000
# Operators whose first input must have solutions, while the others may have none.
_WITNESSES = frozenset({"optional", "minus", "exists"})
_REFUSED_ADVICE = "correct what the producer sends; the response to each push names the place"
_AHEAD_ADVICE = "times are milliseconds since 1970: check their unit, and the clock of the producer"
_PREFIX = re.compile(r"\bPREFIX\s+([^\s:]*):\s*<([^>]*)>", re.IGNORECASE)


class Reason(NamedTuple):
    """A state in one word, a message about it, and what to do, if known."""

    state: str
    summary: str
    advice: str | None = None


class RefusedEvents(NamedTuple):
    """Events that a stream did not accept: refused, or set aside because they were too far ahead of the clock."""

    refused: int = 0
    ahead: int = 0
    reason: str = ""


@dataclass
class Subject:
    """The query to explain; `number` is None while it does not run."""

    engine: _engine.Engine
    number: int | None
    text: str
    facts: dict[str, Any]
    t0: int = 0
    results: int = 0
    failure: dict[str, Any] | None = None
    # By stream.
    turned_away: dict[str, RefusedEvents] = field(default_factory=dict)
    # Whether the input has ended, so that every window has reported.
    has_ended: bool = False
    # Returns the predicates in a window, with counts; by default those of its current content.
    look: Callable[[dict[str, Any]], dict[str, int]] | None = None


def why(subject: Subject) -> dict[str, Any]:
    """Why a query has no solutions now, with the windows and patterns that show it: the document of `GET …/why`."""
    case = _Case(subject)
    reason = next(found for tried in _REASONS if (found := tried(case)) is not None)
    return {
        "state": reason.state,
        "summary": reason.summary,
        "advice": reason.advice,
        "watermark": shown_instant(case.numbers.get("clock")),
        "windows": [_window(case, window) for window in case.windows],
        "patterns": [_pattern(case, leaf) for leaf in case.leaves],
        "late": sum(stream.get("late", 0) for stream in case.streams.values()),
        "filtered": sum(case.kept_out(leaf) for leaf in case.leaves),
        "results": subject.results,
    }


@dataclass
class _Leaf:
    """A triple pattern over a window, and its counters."""

    pattern: str
    window: str
    matched: int
    live: int
    condition: str | None
    required: bool


@dataclass
class _Case:
    """A query, with the counters that determine the reason."""

    subject: Subject
    _seen: dict[str, dict[str, int]] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        stats = self.subject.engine.stats()
        return next((dict(one) for one in stats["queries"] if one["query"] == self.subject.number), {})

    @cached_property
    def streams(self) -> dict[str, dict[str, Any]]:
        stats = {one["stream"]: dict(one) for one in self.subject.engine.stats()["streams"]}
        return {iri: stats.get(iri, {}) for iri in self.subject.facts.get("streams", ())}

    @cached_property
    def windows(self) -> list[dict[str, Any]]:
        return list(self.subject.facts.get("windows", ()))

    @cached_property
    def leaves(self) -> list[_Leaf]:
        if self.subject.number is None:
            return []
        plan = json.loads(self.subject.engine.explain_json(self.subject.number))
        return list(_leaves(plan["root"], required=True)) if "root" in plan else []

    @cached_property
    def prefixes(self) -> dict[str, str]:
        return dict(_PREFIX.findall(self.subject.text))

    def seen(self, window: str) -> dict[str, int]:
        """The predicates in a window, each with the number of its triples."""
        if window not in self._seen:
            described = next((one for one in self.windows if one["name"] == window), None)
            look = self.subject.look or self._look
            self._seen[window] = {} if described is None else look(described)
        return self._seen[window]

    def kept_out(self, leaf: _Leaf) -> int:
        """The number of triples in a window that the filter of a pattern rejects now."""
        iri = self.predicate(leaf)
        if leaf.condition is None or iri is None:
            return 0
        return max(0, self.seen(leaf.window).get(iri, 0) - leaf.live)

    def predicate(self, leaf: _Leaf) -> str | None:
        """The predicate of a pattern; None if it is a variable or a path."""
        words = leaf.pattern.split(" ")
        if len(words) < 3:
            return None
        if words[1].startswith("<"):
            return words[1][1:-1]
        prefix, colon, local = words[1].partition(":")
        return self.prefixes[prefix] + local if colon and prefix in self.prefixes else None

    def short(self, iri: str) -> str:
        """An IRI as the text of the query abbreviates it."""
        named = ((name, space) for name, space in self.prefixes.items() if space and iri.startswith(space))
        return min((f"{name}:{iri[len(space) :]}" for name, space in named), key=len, default=f"<{iri}>")

    def _look(self, window: dict[str, Any]) -> dict[str, int]:
        if window.get("graph") is None:
            return {}
        some = f"SELECT ?p {{ GRAPH <{window['graph']}> {{ ?s ?p ?o }} }} LIMIT {TRIPLES_MAX}"
        text = f"SELECT ?p (COUNT(*) AS ?n) {{ {{ {some} }} }} GROUP BY ?p ORDER BY DESC(?n) ?p LIMIT 20"
        try:
            rows = json.loads(self.subject.engine.ask(text, "json"))["results"]["bindings"]
        except WhorlError:
            # Its windows are not kept.
            return {}
        return {row["p"]["value"]: int(row["n"]["value"]) for row in rows}


# ---- reasons, in the order in which they are checked ----


def _failed(case: _Case) -> Reason | None:
    failure = case.subject.failure
    if failure is None:
        return None
    return Reason("failed", f"the query has failed: {failure['message']}", failure.get("hint"))


def _paused(case: _Case) -> Reason | None:
    return None if case.subject.number is not None else Reason("paused", "the query is paused", "restart it")


def _answers(case: _Case) -> Reason | None:
    if _is_empty(case):
        return None
    if case.subject.facts.get("r2s") in {"ISTREAM", "DSTREAM"}:
        return Reason("answers", "the query has solutions; it emits a result when they change")
    return Reason("answers", "the query has solutions")


def _no_events(case: _Case) -> Reason | None:
    silent = [iri for iri, numbers in case.streams.items() if not numbers.get("events")]
    if not silent:
        return None
    for iri in silent:
        away = case.subject.turned_away.get(iri, RefusedEvents())
        if away.refused:
            return Reason("refused", f"everything sent to stream <{iri}> was refused: {away.reason}", _REFUSED_ADVICE)
        if away.ahead:
            summary = f"every event on stream <{iri}> was set aside: its time is too far ahead of the server's clock"
            return Reason("ahead", summary, _AHEAD_ADVICE)
    named = ", ".join(f"<{iri}>" for iri in silent)
    return Reason(
        "no-events", f"no event has arrived on stream {named} yet", "push an event, or start the producer of the stream"
    )


def _late(case: _Case) -> Reason | None:
    if any(numbers["late"] < numbers["events"] for numbers in case.streams.values()):
        return None
    advice = "they are behind the watermark: declare the stream with more lateness, or send them in order"
    return Reason("late", "all events arrived too late for every window", advice)


def _waiting(case: _Case) -> Reason | None:
    if case.numbers.get("evaluations", 0) > 0 or case.subject.has_ended:
        return None
    behind = [iri for iri, numbers in case.streams.items() if numbers.get("watermark") == case.numbers.get("clock")]
    advice = "windows end when the watermark passes them: send later events, or move the watermark"
    if len(case.streams) > 1 and behind:
        advice += f". The query waits for the slowest stream, <{behind[0]}>"
    return Reason("waiting", "no window has closed yet", advice)


def _unmatched(case: _Case) -> Reason | None:
    leaf = next((leaf for leaf in case.leaves if leaf.required and leaf.matched == 0), None)
    if leaf is None:
        return None
    if case.kept_out(leaf) > 0:
        summary = f"the filter {leaf.condition} rejects every triple of the pattern {leaf.pattern}"
        return Reason("filtered", summary, "relax the filter, or wait for other values")
    return Reason("unmatched", f"no triple has matched the pattern {leaf.pattern}", _meant(case, leaf))


def _expired(case: _Case) -> Reason | None:
    leaf = next((leaf for leaf in case.leaves if leaf.required and leaf.live == 0), None)
    if leaf is None or case.subject.has_ended:
        return None
    if case.kept_out(leaf) > 0:
        summary = f"the filter {leaf.condition} rejects every triple that matches the pattern {leaf.pattern} now"
        return Reason("filtered", summary)
    return Reason("expired", f"every match of the pattern {leaf.pattern} has left its window", "wait for new events")


def _unjoined(case: _Case) -> Reason:
    if len([leaf for leaf in case.leaves if leaf.required]) > 1:
        summary = "every pattern has matches, but no combination of them satisfies the joins and filters"
        return Reason("filtered", summary, "compare the values on both sides of each join; explain shows its keys")
    return Reason("filtered", "no match satisfies the filters and the other parts of the query")


_REASONS = (_failed, _paused, _answers, _no_events, _late, _waiting, _unmatched, _expired, _unjoined)


# ---- parts ----


def _is_empty(case: _Case) -> bool:
    form, number = case.subject.facts.get("form"), case.subject.number
    assert number is not None  # noqa: S101 - a query that does not run has its reason already
    if case.numbers.get("evaluations", 0) == 0:
        return True
    try:
        answer = case.subject.engine.answer(number, "json" if form in {"SELECT", "ASK"} else "ntriples")
    except WhorlError:
        # Its current result is not kept, so its emitted results are counted.
        return case.subject.results == 0
    return b'"bindings":[]' in answer or not answer.strip()


def _leaves(operator: dict[str, Any], *, required: bool) -> Iterator[_Leaf]:
    for buffer in operator.get("buffers", ()):
        if "pattern" in buffer:
            counts = buffer.get("matched", 0), buffer.get("live", 0)
            yield _Leaf(buffer["pattern"], buffer.get("window", ""), *counts, buffer.get("condition"), required)
    name = operator["operator"]
    for place, part in enumerate(operator.get("inputs", ())):
        optional = name == "union" or (name in _WITNESSES and place > 0)
        yield from _leaves(part, required=required and not optional)


def _meant(case: _Case, leaf: _Leaf) -> str | None:
    seen = {case.short(iri): iri for iri in case.seen(leaf.window)}
    if not seen:
        return None
    words = leaf.pattern.split(" ")
    near = [] if case.predicate(leaf) in seen.values() else difflib.get_close_matches(words[1], seen, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{meant}its window has triples with {', '.join(seen)}"


def _window(case: _Case, window: dict[str, Any]) -> dict[str, Any]:
    stream = case.streams.get(window["stream"], {})
    watermark = shown_instant(stream.get("watermark"))
    opens, closes = _next_close(case, window)
    return {
        "name": window["name"],
        "short": window["short"],
        "stream": window["stream"],
        "events": stream.get("events", 0),
        "late": stream.get("late", 0),
        "watermark": watermark,
        "open": opens,
        "close": closes,
    }


def _next_close(case: _Case, window: dict[str, Any]) -> tuple[int | None, int | None]:
    """The time window that closes next: the first close after the query's clock."""
    clock, width, step = shown_instant(case.numbers.get("clock")), window.get("range_ms"), window.get("step_ms")
    if clock is None or not width or not step:
        return None, None
    first = case.subject.t0 + width
    closes = max(first, first + ((clock - first) // step + 1) * step)
    return closes - width, closes


def _pattern(case: _Case, leaf: _Leaf) -> dict[str, Any]:
    return {
        "pattern": leaf.pattern,
        "window": leaf.window,
        "condition": leaf.condition,
        "matched": leaf.matched,
        "live": leaf.live,
        "required": leaf.required,
        "seen": list(case.seen(leaf.window)) if leaf.matched == 0 else [],
    }
