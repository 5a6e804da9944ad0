"""CSRBench Q1, Q2, Q4 and Q6 in three dialects: the answers computed beforehand, and the outside oracle.

The expected answers (`queries/csrbench/expected.json` of the reference data) are those of windows that report on close
when they are not empty; the CQELS-QL queries are asked for that too, and again with the settings of their dialect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from reference_data import reference_path
from whorl import Engine, Result
from whorl_oracle.model import Dialect, R2s, Report, Tick
from whorl_workloads import Event, csrbench
from whorl_workloads.check import Settings, check, loaded, query_text
from whorl_workloads.data import ntriples

# The time of an event and its triples.
Body = tuple[int, bytes]

# Our names of the variables, in the order of the query, and those of the expected answers.
VARIABLES: Mapping[int, Mapping[str, str]] = {
    1: {"station": "sensor", "reading": "obs"},
    2: {"station": "sensor", "reading": "obs"},
    4: {"mean": "avg"},
    6: {"station": "sensor", "warm": "ob1", "warmDegrees": "value1", "mild": "obs"},
}
ON_CLOSE = Settings(report=Report(nonempty=True), tick=Tick.TIME, r2s=R2s.RSTREAM, semantics="set")

each_query = pytest.mark.parametrize("number", VARIABLES, ids="q{}".format)
each_dialect = pytest.mark.parametrize("suffix", [dialect.value for dialect in Dialect])


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    path = reference_path("queries", "csrbench", "expected.json")
    if path is None:
        pytest.skip("queries/csrbench/expected.json is absent: WHORL_TEST_DATA says where data and queries are")
    answers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["queries"]
    return answers


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return loaded(csrbench.events)


@pytest.fixture(scope="module")
def bodies(events: list[Event]) -> list[Body]:
    return [(event.t, ntriples(event.triples)) for event in events]


def answers(name: str, bodies: list[Body], **options: Any) -> list[Result]:
    text, dialect = query_text("csrbench", name)
    engine = Engine()
    fixed: dict[str, Any] = {"report": "close,nonempty", "tick": "time", "r2s": "RSTREAM", "semantics": "set"}
    query = engine.register(text, dialect=dialect.value, **fixed, **options)
    for t, body in bodies:
        engine.push(csrbench.OBSERVATIONS, t, body, "ntriples")
    engine.close()
    return query.answers()


def window(result: Result) -> tuple[int | None, int | None]:
    (bounds,) = result.windows
    return bounds.open, bounds.close


def solution(row: Mapping[str, Any], names: Mapping[str, str]) -> tuple[tuple[str, object], ...]:
    """IRIs by their last segment, numbers by value."""
    values = {names[name]: value for name, value in row.items()}
    return tuple(
        sorted(
            (name, value.rpartition("/")[2] if isinstance(value, str) else float(value))
            for name, value in values.items()
        )
    )


@each_query
@each_dialect
def test_every_window_has_the_expected_solutions(
    number: int, suffix: str, bodies: list[Body], expected: dict[str, Any]
) -> None:
    found = answers(f"q{number}.{suffix}", bodies)
    windows = expected[f"Q{number}"]["windows"]
    assert [window(result) for result in found] == [(one["open"], one["close"]) for one in windows]
    for result, one in zip(found, windows, strict=True):
        ours = Counter(solution(row, VARIABLES[number]) for row in result.rows)
        assert ours == Counter(tuple(sorted(row.items())) for row in one["solutions"]), window(result)


@each_query
@each_dialect
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("[) t0=1000", {"bounds": "[)", "t0": 1000}),
        ("[) t0=2000", {"bounds": "[)", "t0": 2000}),
        ("(] t0=0", {"bounds": "(]"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_window_has_as_many_solutions_as_expected(
    number: int, suffix: str, variant: str, options: dict[str, Any], bodies: list[Body], expected: dict[str, Any]
) -> None:
    found = answers(f"q{number}.{suffix}", bodies, **options)
    counted = [[*window(result), len(result.inserted)] for result in found]
    assert counted == expected[f"Q{number}"]["variants"][variant]["per_window"]


@each_query
@each_dialect
def test_engine_equals_oracle_with_the_other_bounds(number: int, suffix: str, events: list[Event]) -> None:
    """For `(]` the expected answers have numbers only; the oracle has the solutions."""
    text, dialect = query_text("csrbench", f"q{number}.{suffix}")
    assert check(text, dialect, events, {}, replace(ON_CLOSE, closed_right=True), close=True).nonempty >= 3


@each_query
@pytest.mark.parametrize("semantics", ["set", "bag"])
def test_engine_equals_oracle_with_the_settings_of_cqels(number: int, semantics: Any, events: list[Event]) -> None:
    text, dialect = query_text("csrbench", f"q{number}.cqels")
    assert check(text, dialect, events, {}, Settings(semantics=semantics)).is_fruitful()
