"""A failing pair made small, and written down so that a person can read it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from whorl_oracle.model import Advance, Close, Push, R2s, Report, Static
from whorl_oracle.query import (
    Bind,
    Block,
    Exists,
    Filter,
    Form,
    Group,
    Minus,
    Nested,
    Optional,
    Parts,
    Scope,
    SubSelect,
    Union,
    Values,
    all_elements,
)
from whorl_oracle.spelling import plain_text, streaming_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl_oracle.model import Action, Triple
    from whorl_oracle.query import Element, Query, Select, Text
    from whorl_oracle.run import Answer
    from whorl_oracle.streams import Pair


Item = TypeVar("Item")


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
        if isinstance(action, Push | Static) and len(action.triples) > 1:
            for triples in without_one(action.triples):
                yield replace(pair, actions=(*actions[:index], replace(action, triples=triples), *actions[index + 1 :]))
    yield from (replace(pair, static=fewer) for fewer in without_one(pair.static))


def smaller_queries(query: Query) -> Iterator[Query]:
    for select in smaller_selects(query.select):
        yield replace(query, select=select).without_unused_windows()
    if query.form is Form.DESCRIBE and len(query.described) > 1:
        yield from (replace(query, described=fewer) for fewer in without_one(query.described))
    if len(query.template) > 1:
        yield from (replace(query, template=fewer) for fewer in without_one(query.template))
    if query.from_graphs is not None or query.from_named is not None:
        yield replace(query, from_graphs=None, from_named=None)
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
        smaller = replace(select, where=group)
        if any(isinstance(element, Block) for element in all_elements(smaller)):
            yield smaller
    plainer = [
        replace(select, limit=None, offset=None, order_by=()),
        replace(select, having=None),
        replace(select, values=None),
        replace(select, distinct=False),
        replace(select, reduced=False),
    ]
    yield from (candidate for candidate in plainer if candidate != select)
    for fewer in without_one(select.group_by):
        yield replace(select, group_by=fewer)
    if len(select.projection) > 1:
        for fewer in without_one(select.projection):
            yield replace(select, projection=fewer, order_by=(), limit=None, offset=None)
    yield from selects_with_smaller_texts(select)


def selects_with_smaller_texts(select: Select) -> Iterator[Select]:
    if select.having is not None:
        for text in smaller_texts(select.having):
            yield replace(select, having=text)
    for one, item in enumerate(select.projection):
        for text in smaller_texts(item):
            yield replace(select, projection=(*select.projection[:one], text, *select.projection[one + 1 :]))


def without_one(items: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """All but one, in turn."""
    for one in range(len(items)):
        yield items[:one] + items[one + 1 :]


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
            yield from (Block(window, fewer) for fewer in without_one(patterns))
        case Exists(group) | Optional(group) | Minus(group) | Nested(group) | Scope(_, _, group):
            yield from (replace(element, group=smaller) for smaller in smaller_groups(group))
            if not isinstance(element, Nested):
                yield Nested(group)
        case Filter(text) | Bind(text):
            yield from (replace(element, expression=smaller) for smaller in smaller_texts(text))
        case Values(_, rows) if len(rows) > 1:
            yield from (replace(element, rows=fewer) for fewer in without_one(rows))
        case Union(branches):
            yield from smaller_unions(branches)
        case SubSelect(select):
            yield from map(SubSelect, smaller_selects(select))


def smaller_unions(branches: tuple[Group, ...]) -> Iterator[Element]:
    yield from map(Nested, branches)
    for one, branch in enumerate(branches):
        for smaller in smaller_groups(branch):
            yield Union((*branches[:one], smaller, *branches[one + 1 :]))


def smaller_texts(text: Text) -> Iterator[Text]:
    """With smaller groups in it, or with calls and operators replaced by one of their arguments."""
    parts = text.parts if isinstance(text, Parts) else (text,)
    for index, part in enumerate(parts):
        before, after = parts[:index], parts[index + 1 :]
        if isinstance(part, Exists):
            yield Parts((*before, "true", *after))
            for group in smaller_groups(part.group):
                yield Parts((*before, replace(part, group=group), *after))
        elif isinstance(part, str):
            for smaller in smaller_words(part):
                yield Parts((*before, smaller, *after)) if isinstance(text, Parts) else smaller


def smaller_words(text: str) -> Iterator[str]:
    """The text with one bracket replaced by what stands in it, or by `true`."""
    for start, end in brackets(text):
        word = start
        while word > 0 and (text[word - 1].isalnum() or text[word - 1] in "_:"):
            word -= 1
        inner = text[start + 1 : end]
        for smaller in (*comma_parts(inner), "1", "true"):
            if len(smaller) + 2 < end + 1 - word:
                yield f"{text[:word]}({smaller}){text[end + 1 :]}"


def brackets(text: str) -> list[tuple[int, int]]:
    """Where brackets open and close, the longest first."""
    found, opened = [], []
    for index, letter in enumerate(text):
        if letter == "(":
            opened.append(index)
        elif letter == ")" and opened:
            found.append((opened.pop(), index))
    return sorted(found, key=lambda span: span[0] - span[1])


def comma_parts(text: str) -> list[str]:
    """The arguments between commas that are in no bracket."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def case_text(pair: Pair, expected: Sequence[Answer], found: Sequence[Answer] | str) -> str:
    """The pair as text: query, options, what happened, what was to come and what came."""
    options = pair.query.options
    lines = [f"# seed {pair.seed}", f"# plain: {plain_text(pair.query)}"]
    lines += ["query", *(f"  {line}" for line in streaming_text(pair.query).splitlines())]
    lines.append(
        f"options report={options.report.text()} tick={options.tick.value} r2s={options.r2s.value}"
        f" semantics={'bag' if options.bag else 'set'} t0={options.t0}"
        f" bounds={'(]' if options.closed_right else '[)'} partial={str(options.partial).lower()}"
        f" lateness={options.lateness} default={pair.query.default_window}"
    )
    lines += [f"static   {graph_text(graph)}{triple_text(triple)}" for graph, triple in pair.static]
    lines += [action_text(action) for action in pair.actions]
    lines += ["expect", *(answer_text(answer) for answer in expected), "found"]
    lines += [found] if isinstance(found, str) else [answer_text(answer) for answer in found]
    return "\n".join(lines)


def action_text(action: Action) -> str:
    match action:
        case Push(stream, at, triples, graph):
            return f"at {at:<6} {stream.rsplit('/', 1)[-1]} {graph_text(graph)}" + " ; ".join(map(triple_text, triples))
        case Static(change, graph, triples):
            return f"{change.value} {graph_text(graph)}" + " ; ".join(map(triple_text, triples))
        case Advance(at, stream):
            return f"advance {at} {'' if stream is None else stream.rsplit('/', 1)[-1]}".rstrip()
        case Close():
            return "close"


def graph_text(graph: str | None) -> str:
    return "" if graph is None else f"in {graph.rsplit('/', 1)[-1]}: "


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
