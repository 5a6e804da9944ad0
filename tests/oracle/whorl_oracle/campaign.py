"""The engine against the outside oracle on random scenarios; a difference is made small and printed.

`python -m whorl_oracle.campaign 0 1000` (in tests/oracle) runs the scenarios of these seeds on two processes and prints
what it finds; a pair is one query on its streams.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from whorl import UnsupportedQueryError

from whorl_oracle.bags import TooBigError
from whorl_oracle.compare import same_rows
from whorl_oracle.model import Dialect, R2s
from whorl_oracle.query import Form
from whorl_oracle.rare import scenario
from whorl_oracle.scenario import (
    Feed,
    Follow,
    Happening,
    Outcome,
    Restore,
    Scenario,
    actions_of,
    expected,
    found,
)
from whorl_oracle.shrink import action_text, answer_text, smaller_queries, triple_text
from whorl_oracle.spelling import streaming_text
from whorl_oracle.tuning import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl_oracle.query import Query
    from whorl_oracle.run import Answer

BLOCK = 50
MEMORY_MAX = 6 << 30
# How many differences of a kind are made small in one block.
TOLD_MAX = 2
# Where a campaign stops to look for more.
FINDINGS_MAX = 200


@dataclass(frozen=True)
class Difference:
    """Where an engine and the oracle part: what kind of difference, in which query, and what differs."""

    kind: str
    follow: int
    words: str


def difference(one: Scenario, ours: Outcome, theirs: Outcome) -> Difference | None:
    """The first difference of the first query that has one."""
    for index, follow in enumerate(one.follows):
        reason = answers_differ(follow.query, ours.answers[index], theirs.answers[index])
        if reason is not None:
            return Difference(reason[0], index, reason[1])
    if ours.late != theirs.late:
        return Difference("late", 0, f"{ours.late} late expected, {theirs.late} found")
    return None


def answers_differ(query: Query, ours: list[Answer], theirs: list[Answer]) -> tuple[str, str] | None:
    ordered = bool(query.select.order_by) and query.options.r2s is R2s.RSTREAM and query.form is Form.SELECT
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one.at != other.at:
            return "instants", f"report {number}: at {one.at} expected, at {other.at} found"
        if not same_rows(one.inserted, other.inserted, ordered=ordered):
            return "rows", f"report {number} at {one.at}: other solutions came"
        if not same_rows(one.deleted, other.deleted):
            return "rows", f"report {number} at {one.at}: other solutions went"
        if not same_windows(query, one, other):
            return "windows", f"report {number} at {one.at}: other windows"
    if len(ours) != len(theirs):
        more = (ours if len(ours) > len(theirs) else theirs)[min(len(ours), len(theirs))]
        return "instants", f"{len(ours)} reports expected, {len(theirs)} found; one of them has the report at {more.at}"
    return None


def same_windows(query: Query, one: Answer, other: Answer) -> bool:
    if query.dialect is Dialect.CQELS:
        return True  # Windows have no names in the text.
    if query.dialect is Dialect.CSPARQL:
        return list(one.windows.values()) == list(other.windows.values())
    return all(other.windows.get(name) == bounds for name, bounds in one.windows.items())


def fault(one: Scenario, ours: Outcome | None = None) -> Difference | None:
    """What is wrong; None when the engine and the oracle agree."""
    ours = expected(one) if ours is None else ours
    try:
        theirs = found(one)
    except UnsupportedQueryError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return Difference(f"error {type(error).__name__}", 0, f"{type(error).__name__}: {error}")
    return difference(one, ours, theirs)


def kind_of(one: Scenario) -> str | None:
    """The kind of the difference; None when there is none, or when the scenario has lost its meaning."""
    try:
        known = fault(one)
    except Exception:  # noqa: BLE001 - a scenario made smaller may be invalid
        return None
    return None if known is None else known.kind


# Making small.


def shrunk(one: Scenario, kind: str, attempts: int = 1500, seconds: float = 20) -> Scenario:
    """The smallest scenario found by leaving parts out that differs in the same way."""
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in smaller_scenarios(one):
            attempts -= 1
            if attempts < 0 or time.monotonic() > deadline:
                return one
            if smaller != one and kind_of(smaller) == kind:
                one, progress = smaller, True
                break
    return one


def smaller_scenarios(one: Scenario) -> Iterator[Scenario]:
    if len(one.follows) > 1:
        for index in range(len(one.follows)):
            yield replace(one, follows=one.follows[:index] + one.follows[index + 1 :])
    yield from with_plainer_ways(one)
    size = len(one.steps) // 2
    while size > 0:
        yield from (without_steps(one, start, start + size) for start in range(0, len(one.steps), size))
        size //= 2
    yield from with_smaller_feeds(one)
    for index, follow in enumerate(one.follows):
        for query in smaller_queries(follow.query):
            if query.windows:
                yield replace_follow(one, index, replace(follow, query=query))
        if follow != Follow(follow.query):
            yield replace_follow(one, index, Follow(follow.query))
    if one.static:
        yield replace(one, static=())
    if one.lateness:
        yield replace(one, lateness=0)


def with_plainer_ways(one: Scenario) -> Iterator[Scenario]:
    plain = one.plain()
    if one.way != PLAIN or plain.steps != one.steps:
        yield plain
        yield replace(one, steps=plain.steps)
        yield replace(one, way=replace(one.way, hash_seed=None, probing_order=None, sharing=True, thresholds=()))
        yield replace(one, way=replace(one.way, hash_seed=None, probing_order=None, sharing=True))
        yield replace(one, way=replace(one.way, retraction=None))


def without_steps(one: Scenario, start: int, end: int) -> Scenario:
    """Queries still come and go between the steps they came and went between."""

    def moved(number: int) -> int:
        return number if number <= start else max(start, number - (end - start))

    follows = tuple(
        replace(follow, begin=moved(follow.begin), end=None if follow.end is None else moved(follow.end))
        for follow in one.follows
    )
    return replace(one, steps=one.steps[:start] + one.steps[end:], follows=follows)


def with_smaller_feeds(one: Scenario) -> Iterator[Scenario]:
    for index, step in enumerate(one.steps):
        if not isinstance(step, Feed):
            continue
        if len(step.events) > 1:
            for number in range(len(step.events)):
                smaller = replace(step, events=step.events[:number] + step.events[number + 1 :])
                yield replace_step(one, index, smaller)
        for number, event in enumerate(step.events):
            for triple in event.triples if len(event.triples) > 1 else ():
                fewer = replace(event, triples=tuple(other for other in event.triples if other != triple))
                if fewer.triples:
                    events = (*step.events[:number], fewer, *step.events[number + 1 :])
                    yield replace_step(one, index, replace(step, events=events))


def replace_step(one: Scenario, index: int, step: Happening) -> Scenario:
    return replace(one, steps=(*one.steps[:index], step, *one.steps[index + 1 :]))


def replace_follow(one: Scenario, index: int, follow: Follow) -> Scenario:
    return replace(one, follows=(*one.follows[:index], follow, *one.follows[index + 1 :]))


# Telling.


def story(one: Scenario, known: Difference) -> str:
    """Everything that is needed to see the difference again."""
    lines = [f"seed {one.seed}: {known.kind}, query {known.follow}: {known.words}"]
    lines.append(f"  engine {one.way} lateness {one.lateness}")
    for index, follow in enumerate(one.follows):
        lines.append(f"  query {index} from step {follow.begin} to {follow.end}: {options_text(follow.query)}")
        lines += [f"    {line}" for line in streaming_text(follow.query).splitlines() if line.strip()]
    lines += [f"  static {triple_text(triple)}" for triple in one.static]
    for number, step in enumerate(one.steps):
        how = f" ({step.form})" if isinstance(step, Feed) else ""
        said = [f"restore {step.way}"] if isinstance(step, Restore) else map(action_text, actions_of(step))
        lines += [f"  {number}{how}: {text}" for text in said]
    return "\n".join([*lines, *told(one, known.follow)])


def options_text(query: Query) -> str:
    options = query.options
    return (
        f"report={options.report.text()} tick={options.tick.value} r2s={options.r2s.value}"
        f" semantics={'bag' if options.bag else 'set'} t0={options.t0}"
        f" bounds={'(]' if options.closed_right else '[)'} partial={str(options.partial).lower()}"
    )


def told(one: Scenario, index: int) -> list[str]:
    """What was expected and what was found, from the last report on which both agree."""
    ours = [answer_text(answer) for answer in expected(one).answers[index]]
    try:
        theirs = [answer_text(answer) for answer in found(one).answers[index]]
    except BaseException as error:  # noqa: BLE001 - any error is a finding
        return [f"  found {type(error).__name__}: {error}"]
    return ["  expected", *(f"    {text}" for text in ours[-12:]), "  found", *(f"    {text}" for text in theirs[-12:])]


# Campaigns.


@dataclass
class Tally:
    """What came of some scenarios."""

    pairs: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    too_big: int = 0
    # Pairs with an answer that says something: a generator of empty answers would prove nothing.
    fruitful: int = 0
    # Differences by kind, and the stories of the first of each.
    kinds: Counter[str] = field(default_factory=Counter)
    stories: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Self:
        self.pairs += other.pairs
        self.refused += other.refused
        self.too_big += other.too_big
        self.fruitful += other.fruitful
        self.kinds += other.kinds
        self.stories += other.stories
        return self

    def text(self) -> str:
        return (
            f"{self.pairs} pairs, {self.fruitful} fruitful, {sum(self.refused.values())} refused,"
            f" {self.too_big} too big, differences {dict(self.kinds) or 0}"
        )


def checked(seed: int, *, told_already: Counter[str] | None = None) -> Tally:
    """One scenario; a difference is named and made small, unless enough of its kind have been told."""
    one = scenario(seed)
    tally = Tally(pairs=len(one.follows))
    try:
        ours = expected(one)
    except TooBigError:
        return Tally(too_big=len(one.follows))
    tally.fruitful = sum(any(answer.inserted or answer.deleted for answer in answers) for answers in ours.answers)
    try:
        known = fault(one, ours)
    except UnsupportedQueryError as error:
        return Tally(refused=Counter([str(error).split(":")[0][:60]]))
    if known is None:
        return tally
    if told_already is not None and told_already[known.kind] >= TOLD_MAX:
        tally.kinds[known.kind] += 1
        tally.stories.append(f"seed {seed}: {known.kind}, query {known.follow}: {known.words} (not made small)")
    else:
        small = shrunk(one, known.kind)
        tally.kinds[known.kind] += 1
        way = "" if kind_of(small.plain()) else "; not in the plainest way of working"
        tally.stories.append(story(small, fault(small) or known) + way)
    return tally


def checked_all(seeds: range) -> Tally:
    total = Tally()
    for seed in seeds:
        total += checked(seed, told_already=total.kinds)
    return total


def bound_memory() -> None:
    """An engine that runs away shall not take the machine with it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


def blocks(seeds: range) -> list[range]:
    return [seeds[start : start + BLOCK] for start in range(0, len(seeds), BLOCK)]


def campaign(first: int, pairs: int, processes: int = 2) -> Tally:
    """Scenarios from a seed on, until there are as many pairs, on several cores."""
    total = Tally()
    with ProcessPoolExecutor(processes, initializer=bound_memory) as pool:
        while total.pairs < pairs and len(total.stories) < FINDINGS_MAX:
            # A scenario has 1.7 pairs on average.
            wanted = max(BLOCK, min(40 * BLOCK, (pairs - total.pairs) * 10 // 17))
            seeds = range(first, first + wanted)
            first = seeds.stop
            for tally in pool.map(checked_all, blocks(seeds)):
                total += tally
    return total


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    began, total = time.monotonic(), Tally()
    with ProcessPoolExecutor(2, initializer=bound_memory) as pool:
        for tally in pool.map(checked_all, blocks(range(first, first + count))):
            for text in tally.stories:
                print(text, end="\n\n", flush=True)
            total += tally
    rate = total.pairs / (time.monotonic() - began)
    print(f"{total.text()}; {rate:.0f} pairs/s; refused {dict(total.refused)}")


if __name__ == "__main__":
    main()
