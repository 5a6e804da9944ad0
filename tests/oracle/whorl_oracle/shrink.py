"""A failing pair made small, and written down so that a person can read it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl_oracle.model import Advance, Close, Push, R2s, Report
from whorl_oracle.query import Block, Exists, Group, Minus, Optional, SubSelect, Union, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl_oracle.generate import Pair
    from whorl_oracle.model import Action, Triple
    from whorl_oracle.query import Element, Query, Select
    from whorl_oracle.run import Answer


def shrink(pair: Pair, fails: Callable[[Pair], bool], attempts: int = 2000) -> Pair:
    """The smallest pair found by leaving parts out that still fails."""
    while attempts > 0:
        for smaller in smaller_pairs(pair):
            attempts -= 1
            if fails(smaller):
                pair = smaller
                break
            if attempts <= 0:
                break
        else:
            return pair
    return pair


def smaller_pairs(pair: Pair) -> Iterator[Pair]:
    """The pair with one part left out, the biggest parts first."""
    actions = pair.actions
    for size in (len(actions) // 2, len(actions) // 4, 1):
        if size > 0:
            for start in range(0, len(actions), size):
                yield replace(pair, actions=actions[:start] + actions[start + size :])
    if pair.static:
        yield replace(pair, static=())
    for query in smaller_queries(pair.query):
        if query.windows:
            yield replace(pair, query=query)
    for index, action in enumerate(actions):
        if isinstance(action, Push) and len(action.triples) > 1:
            for one in range(len(action.triples)):
                fewer = replace(action, triples=action.triples[:one] + action.triples[one + 1 :])
                yield replace(pair, actions=(*actions[:index], fewer, *actions[index + 1 :]))
    for one in range(len(pair.static)):
        yield replace(pair, static=pair.static[:one] + pair.static[one + 1 :])


def smaller_queries(query: Query) -> Iterator[Query]:
    for select in smaller_selects(query.select):
        yield replace(query, select=select).without_unused_windows()
    options = query.options
    plainer = [
        replace(options, lateness=0),
        replace(options, t0=0),
        replace(options, closed_right=False),
        replace(options, partial=False),
        replace(options, r2s=R2s.RSTREAM),
        replace(options, report=replace(options.report, nonempty=False)),
        replace(options, report=Report()),
    ]
    if query.dialect.value == "rspql":
        for candidate in plainer:
            if candidate != options and (candidate.tick.value == "time" or candidate.report.change):
                yield replace(query, options=candidate)


def smaller_selects(select: Select) -> Iterator[Select]:
    for group in smaller_groups(select.where):
        if any(True for _ in blocks(group)):
            yield replace(select, where=group)
    if select.limit is not None or select.offset is not None or select.order_by:
        yield replace(select, limit=None, offset=None, order_by=())
    if select.having is not None:
        yield replace(select, having=None)
    if select.distinct:
        yield replace(select, distinct=False)
    if len(select.projection) > 1:
        for one in range(len(select.projection)):
            fewer = select.projection[:one] + select.projection[one + 1 :]
            yield replace(select, projection=fewer, order_by=(), limit=None, offset=None)


def smaller_groups(group: Group) -> Iterator[Group]:
    elements = group.elements
    for index, element in enumerate(elements):
        before, after = elements[:index], elements[index + 1 :]
        if len(elements) > 1:
            yield Group(before + after)
        for smaller in smaller_elements(element):
            yield Group((*before, smaller, *after))


def smaller_elements(element: Element) -> Iterator[Element]:
    match element:
        case Block(window, patterns) if len(patterns) > 1:
            for one in range(len(patterns)):
                yield Block(window, patterns[:one] + patterns[one + 1 :])
        case Exists(group) | Optional(group) | Minus(group):
            for smaller in smaller_groups(group):
                yield replace(element, group=smaller)
        case Union(branches):
            for one, branch in enumerate(branches):
                for smaller in smaller_groups(branch):
                    yield Union((*branches[:one], smaller, *branches[one + 1 :]))
        case SubSelect(select):
            for smaller_select in smaller_selects(select):
                yield SubSelect(smaller_select)


def case_text(pair: Pair, expected: Sequence[Answer], found: Sequence[Answer] | str) -> str:
    """The pair as text: query, options, what happened, what was to come and what came."""
    options = pair.query.options
    lines = [f"# seed {pair.seed}", f"# plain: {pair.query.plain_text()}"]
    lines += ["query", *(f"  {line}" for line in pair.query.streaming_text().splitlines())]
    lines.append(
        f"options report={options.report.text()} tick={options.tick.value} r2s={options.r2s.value}"
        f" semantics={'bag' if options.bag else 'set'} t0={options.t0}"
        f" bounds={'(]' if options.closed_right else '[)'} partial={str(options.partial).lower()}"
        f" lateness={options.lateness}"
    )
    lines += [f"static   {triple_text(triple)}" for triple in pair.static]
    lines += [action_text(action) for action in pair.actions]
    lines += ["expect", *(answer_text(answer) for answer in expected), "found"]
    lines += [found] if isinstance(found, str) else [answer_text(answer) for answer in found]
    return "\n".join(lines)


def action_text(action: Action) -> str:
    match action:
        case Push(stream, at, triples):
            return f"at {at:<6} {stream.rsplit('/', 1)[-1]} " + " ; ".join(map(triple_text, triples))
        case Advance(at, stream):
            return f"advance {at} {'' if stream is None else stream.rsplit('/', 1)[-1]}".rstrip()
        case Close():
            return "close"


def answer_text(answer: Answer) -> str:
    rows = [f"+ {row_text(row)}" for row in answer.inserted] + [f"- {row_text(row)}" for row in answer.deleted]
    windows = " ".join(f"{name.rsplit('/', 1)[-1]}={bounds}" for name, bounds in answer.windows.items())
    return f"at {answer.at} {windows}: " + " | ".join(rows)


def triple_text(triple: Triple) -> str:
    return " ".join(term_text(term) for term in triple)


def row_text(row: Sequence[str | None]) -> str:
    return " ".join("·" if term is None else term_text(term) for term in row)


def term_text(term: str) -> str:
    if term.startswith("<http://ex/"):
        return ":" + term[len("<http://ex/") : -1]
    return term.replace("<http://www.w3.org/2001/XMLSchema#", "xsd:").removesuffix(">")
