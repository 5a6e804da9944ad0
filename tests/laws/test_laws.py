"""Laws of the semantics (§5) over generated streams; no second engine takes part.

Detects: results that depend on anything but query, events and watermarks. Does not detect: a result that is wrong in
the same way every time; the oracles do.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from whorl import Engine, UnsupportedQueryError
from whorl_oracle.generate import pair
from whorl_oracle.model import (
    Advance,
    AllSoFar,
    Dialect,
    Elements,
    Past,
    Push,
    R2s,
    Step,
    Tick,
    Triples,
)
from whorl_oracle.spelling import streaming_text
from whorl_oracle.subject import act, answer, answers_by_action, register, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl_oracle.generate import Pair
    from whorl_oracle.model import Action
    from whorl_oracle.run import Answer

PAIRS = 5_000 if os.environ.get("WHORL_CAMPAIGN") == "long" else 150


def pairs(first: int = 0) -> Iterator[Pair]:
    yield from map(pair, range(first, first + PAIRS))


def all_answers(one: Pair, **engine_options: Any) -> list[Answer]:
    try:
        return [answer for answers in answers_by_action(one, **engine_options) for answer in answers]
    except UnsupportedQueryError:
        return []


def as_bags(answers: list[Answer]) -> list[tuple[int, Counter[Any], Counter[Any]]]:
    return [(one.at, Counter(one.inserted), Counter(one.deleted)) for one in answers]


def test_1_tumbling_windows_partition_the_events() -> None:
    rng = Random(1)
    for _ in range(50):
        engine = Engine()
        width = rng.randint(1, 50)
        query = engine.register(
            f"PREFIX : <http://ex/> SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE {width}]"
            " WHERE { WINDOW :w { ?s :p ?o } }",
            semantics="bag",
        )
        times = sorted(rng.randint(0, 500) for _ in range(rng.randint(1, 60)))
        for at in times:
            engine.push("http://ex/s", at, [("http://ex/a", "http://ex/p", 1)])
        engine.close()
        assert sum(int(str(row["n"])) for row in query.rows()) == len(times)


def test_3_differences_add_up_to_the_answer() -> None:
    for one in pairs():
        if one.query.dialect is Dialect.CQELS or one.query.select.order_by:
            continue
        whole = replace(one, query=replace(one.query, options=replace(one.query.options, r2s=R2s.RSTREAM)))
        signed = replace(one, query=replace(one.query, options=replace(one.query.options, r2s=R2s.CHANGES)))
        running: Counter[Any] = Counter()
        last: Counter[Any] = Counter()
        for full, part in zip(answers_by_action(whole), answers_by_action(signed), strict=True):
            for change in part:
                running.update(change.inserted)
                running.subtract(change.deleted)
            if full:
                last = Counter(full[-1].inserted)
            assert +running == last, one
            assert not -running, one


def test_4_batches_do_not_matter() -> None:
    """Reading answers after every event or only at the end gives the same answers, numbered alike."""
    for one in pairs(200):
        engine, query = start(one)
        for action in one.actions:
            act(engine, action)
        results = list(query.answers("pyoxigraph"))
        assert as_bags([answer(result) for result in results]) == as_bags(all_answers(one)), one
        assert [result.seq for result in results] == list(range(1, len(results) + 1))


def test_5_order_inside_one_instant_does_not_matter() -> None:
    for one in pairs(400):
        counted = any(isinstance(window.kind, Elements | Triples) for window in one.query.windows)
        if one.query.options.tick is Tick.TUPLE or counted:
            continue
        mixed = replace(one, actions=tuple(shuffled_instants(one.actions, Random(one.seed))))
        assert as_bags(all_answers(one)) == as_bags(all_answers(mixed)), one


def shuffled_instants(actions: tuple[Action, ...], rng: Random) -> Iterator[Action]:
    """Neighbouring events of one stream and one instant, in another order."""
    for _, run in groupby(
        actions, key=lambda action: (type(action), getattr(action, "stream", None), moved_time(action, 0))
    ):
        together = list(run)
        rng.shuffle(together)
        yield from together


def test_6_a_shift_by_a_slide_shifts_the_answers() -> None:
    for one in pairs(600):
        kinds = [window.kind for window in one.query.windows]
        if not all(isinstance(kind, Step | Past) for kind in kinds) or one.query.options.report.periodic:
            continue
        slides = [kind.slide for kind in kinds if isinstance(kind, Step | Past)]
        by = 3
        for slide in slides:
            by *= slide
        # Far enough from t0 for every window that covers an event to be there.
        early = replace(one, actions=tuple(moved(action, by * 1_000) for action in one.actions))
        later = replace(one, actions=tuple(moved(action, by * 1_001) for action in one.actions))
        expected = [(at + by, came, went) for at, came, went in as_bags(all_answers(early))]
        assert as_bags(all_answers(later)) == expected, one


def moved(action: Action, by: int) -> Action:
    return replace(action, at=action.at + by) if isinstance(action, Push | Advance) else action


def moved_time(action: Action, by: int) -> int:
    return action.at + by if isinstance(action, Push | Advance) else 2**60


def test_7_bounds_closed_on_the_right_are_a_shift_by_one_millisecond() -> None:
    for one in pairs(800):
        options = one.query.options
        stepping = all(isinstance(window.kind, Step) for window in one.query.windows)
        if not stepping or not options.report.close or one.query.dialect is not Dialect.RSPQL:
            continue
        right = replace(one, query=replace(one.query, options=replace(options, closed_right=True)))
        left = replace(one, query=replace(one.query, options=replace(options, closed_right=False)))
        earlier = replace(left, actions=tuple(moved(action, -1) for action in one.actions))
        assert as_bags(all_answers(right)) == as_bags(all_answers(earlier)), one


def test_8_a_second_run_gives_the_same_envelopes() -> None:
    for one in pairs(1000):
        runs = []
        for _ in range(2):
            engine, query = start(one)
            for action in one.actions:
                act(engine, action)
            runs.append(query.results())
        assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "options",
    [
        {"sharing": False},
        {"retraction": "tree"},
        {"retraction": "probe"},
        {"probing_order": 1},
        {"probing_order": 7},
    ],
    ids=str,
)
def test_10_how_an_answer_is_computed_does_not_change_it(options: dict[str, Any]) -> None:
    for one in pairs(1200):
        assert as_bags(all_answers(one)) == as_bags(all_answers(one, **options)), one


def test_9_other_queries_change_nothing() -> None:
    for one in pairs(1600):
        other = pair(one.seed + 50_000)
        if one.query.options.lateness:
            continue
        if {window.stream for window in other.query.windows} - {window.stream for window in one.query.windows}:
            continue
        engine, query = start(one)
        try:
            register(engine, other.query)
        except UnsupportedQueryError:
            continue
        found = []
        for action in one.actions:
            act(engine, action)
            found += [answer(result) for result in query.answers("pyoxigraph")]
        assert as_bags(found) == as_bags(all_answers(one)), (one, streaming_text(other.query))


@pytest.mark.parametrize("report", ["close", "close,nonempty", "change"])
def test_9_a_longer_window_beside_changes_nothing(report: str) -> None:
    """Queries that share a timeline, read to the end of time."""
    text = "PREFIX : <http://ex/> SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE {}] WHERE {{ WINDOW :w {{ ?s :p ?o }} }}"
    found = []
    for others in ([], [60_000], [1, 60_000]):
        engine = Engine()
        query = engine.register(text.format(5_000), report=report)
        for width in others:
            engine.register(text.format(width), report=report)
        for at in (1_000, 2_000, 12_000):
            engine.push("http://ex/s", at, [("http://ex/a", "http://ex/p", at)])
        engine.close()
        found.append([(result.at, result.inserted) for result in query])
    assert found[0] == found[1] == found[2]


def test_11_nothing_is_kept_when_all_windows_are_empty() -> None:
    for one in pairs(1400):
        lasting = any(isinstance(window.kind, AllSoFar | Elements | Triples) for window in one.query.windows)
        report = one.query.options.report
        if lasting or report.nonempty or report.periodic is not None:
            continue  # What has not been reported yet is owed to the next difference.
        engine, query = start(one)
        at_first = engine.stats()["queries"][0]["state_size"]
        for action in one.actions:
            act(engine, action)
        engine.close()
        query.answers()
        (stats,) = engine.stats()["queries"]
        assert not any(stats["windows"].values()), one
        assert stats["state_size"] <= at_first, one


def test_advance_is_needed_only_where_events_do_not_say_it() -> None:
    """A watermark that the next event implies anyway changes nothing but when answers come."""
    for one in pairs(1800):
        told: list[Action] = []
        single = len({window.stream for window in one.query.windows}) == 1
        if not single or one.query.options.lateness or one.query.options.tick is Tick.TUPLE:
            continue
        highest = -(2**62)
        for action in one.actions:
            if isinstance(action, Push) and action.at > highest > -(2**62):
                told.append(Advance(action.at))
            if isinstance(action, Push | Advance):
                highest = max(highest, action.at)
            told.append(action)
        assert as_bags(all_answers(replace(one, actions=tuple(told)))) == as_bags(all_answers(one)), one
