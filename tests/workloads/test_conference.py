"""The CQELS conference queries against the outside oracle, detection by detection, over bags and over sets."""

from __future__ import annotations

from typing import Any

import pytest
from whorl_workloads import Event, Static, conference, is_long
from whorl_workloads.check import Settings, check, loaded, query_text


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return loaded(conference.events, 3000 if is_long() else 480)


@pytest.fixture(scope="module")
def static() -> Static:
    return loaded(conference.static)


@pytest.mark.parametrize("semantics", ["bag", "set"])
@pytest.mark.parametrize("number", range(1, 6), ids="q{}".format)
def test_engine_equals_oracle(number: int, semantics: Any, events: list[Event], static: Static) -> None:
    text, dialect = query_text("conference", f"q{number}.cqels")
    assert check(text, dialect, events, static, Settings(semantics=semantics)).is_fruitful()
