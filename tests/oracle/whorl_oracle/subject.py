"""The engine under test, driven by the same actions as the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import Engine, Query, Result

from whorl_oracle.compare import same_rows
from whorl_oracle.model import Advance, Close, Dialect, Past, Push, R2s, Step
from whorl_oracle.run import Answer, Oracle
from whorl_oracle.snapshot import by_pyoxigraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl_oracle.generate import Pair
    from whorl_oracle.model import Action, Triple
    from whorl_oracle.query import Query as QuerySpec


def ntriples(triples: Sequence[Triple]) -> str:
    return "".join(f"{s} {p} {o} .\n" for s, p, o in triples)


def start(pair: Pair, **engine_options: Any) -> tuple[Engine, Query]:
    """An engine with the static data, the streams and the query of a pair."""
    engine = Engine(**engine_options)
    if pair.static:
        engine.load(None, ntriples(pair.static), "ntriples")
    lateness = pair.query.options.lateness
    pushed = {action.stream for action in pair.actions if isinstance(action, Push)}
    for stream in sorted(pushed | {window.stream for window in pair.query.windows}):
        engine.declare_stream(stream, lateness=lateness)
    return engine, register(engine, pair.query)


def register(engine: Engine, query: QuerySpec) -> Query:
    """The query with its options; a dialect's own settings are left to the dialect."""
    options = query.options
    chosen: dict[str, Any] = {}
    if query.dialect is not Dialect.CQELS:
        chosen = {
            "t0": options.t0,
            "bounds": "(]" if options.closed_right else "[)",
            "partial": options.partial,
        }
        chosen["report"] = options.report.text()
    if query.dialect is Dialect.RSPQL:
        chosen |= {"tick": options.tick.value, "semantics": "bag" if options.bag else "set"}
        chosen["r2s"] = options.r2s.value
    return engine.register(query.streaming_text(), **chosen)


def act(engine: Engine, action: Action) -> None:
    match action:
        case Push(stream, at, triples):
            engine.push(stream, at, ntriples(triples), "ntriples")
        case Advance(at, stream):
            engine.advance_to(at, stream)
        case Close():
            engine.close()


def answer(result: Result) -> Answer:
    """A result in the oracle's terms."""
    windows: dict[str, tuple[int, int] | None] = {}
    for window in result.windows:
        known = window.open is not None and window.close is not None
        windows[window.name] = (window.open, window.close) if known else None  # type: ignore[assignment]
    inserted, deleted = (
        tuple(tuple(None if term is None else str(term) for term in row.values()) for row in rows)
        for rows in (result.inserted, result.deleted)
    )
    return Answer(result.at, windows, inserted, deleted)


def answers_by_action(pair: Pair, **engine_options: Any) -> list[list[Answer]]:
    """What the engine reports after each action."""
    engine, query = start(pair, **engine_options)
    found = []
    for action in pair.actions:
        act(engine, action)
        found.append([answer(result) for result in query.answers("pyoxigraph")])
    return found


def expected_by_action(pair: Pair) -> list[list[Answer]]:
    """What the oracle reports after each action; differences that are none are not reported."""
    query = pair.query
    oracle = Oracle(query.windows, query.options, by_pyoxigraph(query, pair.static))
    silent = query.options.r2s is not R2s.RSTREAM
    return [[one for one in oracle.act(action) if one.inserted or one.deleted or not silent] for action in pair.actions]


def difference(pair: Pair, expected: list[list[Answer]], found: list[list[Answer]]) -> str | None:
    """The first difference, in words; None when there is none."""
    for number, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
        if [one.at for one in ours] != [one.at for one in theirs]:
            return f"action {number}: at {[one.at for one in ours]} expected, at {[one.at for one in theirs]} found"
        for one, other in zip(ours, theirs, strict=True):
            reason = answers_differ(pair, one, other)
            if reason is not None:
                return f"action {number}, at {one.at}: {reason}"
    return None


def answers_differ(pair: Pair, one: Answer, other: Answer) -> str | None:
    ordered = bool(pair.query.select.order_by) and pair.query.options.r2s is R2s.RSTREAM
    if not same_rows(one.inserted, other.inserted, ordered=ordered):
        return "other solutions came"
    if not same_rows(one.deleted, other.deleted):
        return "other solutions went"
    if pair.query.dialect is Dialect.CQELS:
        return None  # Windows have no names in the text.
    if pair.query.dialect is Dialect.CSPARQL:
        ours, theirs = list(one.windows.values()), list(other.windows.values())
    else:
        ours = list(one.windows.values())
        theirs = [other.windows.get(name) for name in one.windows]
    known = [(a, b) for a, b in zip(ours, theirs, strict=False) if a is not None]
    return "other windows" if any(a != b for a, b in known) else None


def stepping(pair: Pair) -> bool:
    return all(isinstance(window.kind, Step | Past) for window in pair.query.windows)
