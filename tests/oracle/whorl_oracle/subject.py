"""The engine under test, driven by the same actions as the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import Engine, Query, ResultOf
from whorl.terms import OxigraphTerm

from whorl_oracle.compare import orderly, same_rows
from whorl_oracle.model import Advance, Change, Close, Dialect, Past, Push, R2s, Static, Step
from whorl_oracle.query import Form
from whorl_oracle.run import Answer, Oracle, Row
from whorl_oracle.snapshot import Snapshots
from whorl_oracle.spelling import streaming_text, window_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl_oracle.model import Action, Triple
    from whorl_oracle.query import Query as QuerySpec
    from whorl_oracle.streams import Pair


# The engine's name for the window of the option `default_graph`.
DEFAULT = "urn:whorl:window:default"


def ntriples(triples: Sequence[Triple]) -> str:
    return "".join(f"{s} {p} {o} .\n" for s, p, o in triples)


def start(pair: Pair, **engine_options: Any) -> tuple[Engine, Query]:
    """An engine with the static data, the streams and the query of a pair."""
    engine = Engine(**engine_options)
    for graph, triples in pair.graphs().items():
        engine.load(graph, ntriples(sorted(triples)), "ntriples")
    lateness = pair.query.options.lateness
    pushed = {action.stream for action in pair.actions if isinstance(action, Push)}
    for stream in sorted(pushed | {window.stream for window in pair.query.windows}):
        engine.declare_stream(stream, lateness=lateness)
    return engine, register(engine, pair.query)


def register(engine: Engine, query: QuerySpec, output: str = ":out") -> Query:
    """The query with its options, and the stream it writes; a dialect's own settings are left to the dialect."""
    options = query.options
    chosen: dict[str, Any] = {}
    if query.dialect is not Dialect.CQELS:
        chosen["t0"], chosen["partial"] = options.t0, options.partial
        chosen["bounds"] = "(]" if options.closed_right else "[)"
        chosen["report"] = options.report.text()
    if query.dialect is Dialect.RSPQL:
        chosen["tick"] = options.tick.value
    if options.bag != (query.dialect is Dialect.CQELS):
        chosen["semantics"] = "bag" if options.bag else "set"
    if options.r2s is not (R2s.ISTREAM if query.dialect is Dialect.CQELS else R2s.RSTREAM):
        chosen["r2s"] = options.r2s.value
    if query.default_window is not None:
        window = query.window(query.default_window)
        chosen["default_graph"] = f"<{window.stream}> [{window_text(window, query.dialect)}]"
    return engine.register(streaming_text(query).replace(" :out AS", f" {output} AS"), **chosen)


def act(engine: Engine, action: Action) -> None:
    match action:
        case Push(stream, at, triples, None):
            engine.push(stream, at, ntriples(triples), "ntriples")
        case Push(stream, at, triples, graph):
            engine.push(stream, at, f"<{graph}> {{ {ntriples(triples)} }}", "trig")
        case Static():
            change_static(engine, action)
        case Advance(at, stream):
            engine.advance_to(at, stream)
        case Close():
            engine.close()


def change_static(engine: Engine, action: Static) -> None:
    graph, text = action.graph, ntriples(action.triples)
    match action.change:
        case Change.LOAD:
            engine.load(graph, text, "ntriples")
        case Change.REPLACE:
            engine.replace_graph(graph, text, "ntriples")
        case Change.DROP:
            if graph in engine.graphs():
                engine.drop_graph(graph)
        case Change.INSERT | Change.DELETE:
            body = text if graph is None else f"GRAPH <{graph}> {{ {text} }}"
            engine.update(f"{action.change.name} DATA {{ {body} }}")


def row(values: Any, *, by_name: bool = False) -> Row:
    """A solution, if asked in the order of its names, or a triple."""
    if isinstance(values, dict):
        terms = (values[name] for name in sorted(values)) if by_name else values.values()
        return orderly(tuple(None if term is None else str(term) for term in terms))
    return tuple(str(term) for term in values)


def answer(result: ResultOf[OxigraphTerm], *, by_name: bool = False) -> Answer:
    """A result in the oracle's terms."""
    windows: dict[str, tuple[int, int] | None] = {}
    for window in result.windows:
        opened, closed = window.open, window.close
        windows[window.name] = None if opened is None or closed is None else (opened, closed)
    inserted, deleted = (tuple(row(one, by_name=by_name) for one in rows) for rows in (result.inserted, result.deleted))
    if result.boolean is not None:
        inserted = (("true" if result.boolean else "false",),)
    return Answer(result.at, windows, inserted, deleted)


def answers_by_action(pair: Pair, **engine_options: Any) -> list[list[Answer]]:
    """What the engine reports after each action."""
    engine, query = start(pair, **engine_options)
    by_name = pair.query.select.projection == ("*",)
    found = []
    for action in pair.actions:
        act(engine, action)
        found.append([answer(result, by_name=by_name) for result in query.answers("pyoxigraph")])
    return found


def expected_by_action(pair: Pair) -> list[list[Answer]]:
    """What the oracle reports after each action; differences that are none are not reported."""
    query = pair.query
    asked = query.form is Form.ASK
    options = replace(query.options, r2s=R2s.RSTREAM) if asked else query.options
    snapshots = Snapshots(query, pair.graphs())
    oracle = Oracle(query.windows, options, snapshots)
    silent = options.r2s is not R2s.RSTREAM
    found: list[list[Answer]] = []
    for action in pair.actions:
        if isinstance(action, Static):
            snapshots.change(action)
        answers = oracle.act(action)
        found.append([one for one in answers if one.inserted or one.deleted or not silent])
    return on_change(found) if asked else found


def on_change(found: list[list[Answer]]) -> list[list[Answer]]:
    """ASK reports when its value changes, and the first time."""
    last: tuple[Row, ...] = ()
    kept: list[list[Answer]] = []
    for answers in found:
        kept.append([])
        for one in answers:
            if one.inserted != last:
                kept[-1].append(one)
            last = one.inserted
    return kept


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
    select = pair.query.select
    if select.reduced:
        one, other = (replace(each, inserted=tuple(dict.fromkeys(each.inserted))) for each in (one, other))
    ordered = bool(select.order_by) and select.total and pair.query.options.r2s is R2s.RSTREAM
    ordered = ordered and pair.query.form is Form.SELECT
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
        theirs = [other.windows.get(DEFAULT if name == pair.query.default_window else name) for name in one.windows]
    known = [(a, b) for a, b in zip(ours, theirs, strict=False) if a is not None]
    return "other windows" if any(a != b for a, b in known) else None


def stepping(pair: Pair) -> bool:
    return all(isinstance(window.kind, Step | Past) for window in pair.query.windows)
