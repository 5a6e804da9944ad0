"""The LSBench queries against the outside oracle, event by event, over bags of stream elements."""

from __future__ import annotations

import pytest
from whorl_workloads import Event, Static, is_long, lsbench
from whorl_workloads.check import check, loaded, query_text
from whorl_workloads.data import in_order, to_ms

DAY = "2010-02-02T"


@pytest.fixture(scope="module")
def posts() -> list[Event]:
    until = f"{DAY}{'20:00' if is_long() else '08:00'}:00"
    return loaded(lsbench.posts, f"{DAY}00:00:00", until, lsbench.Likes(until))


@pytest.fixture(scope="module")
def photos() -> list[Event]:
    until = f"{DAY}{'04:00' if is_long() else '02:20'}:00"
    return loaded(lsbench.photos, f"{DAY}02:00:00", until, lsbench.Likes(until))


def before(time: str, events: list[Event]) -> list[Event]:
    return [event for event in events if event.t < to_ms(DAY + time)]


@pytest.fixture(scope="module")
def static() -> Static:
    return loaded(lsbench.static, whole=is_long())


@pytest.mark.parametrize("number", [1, 2, 3, 4, 10], ids="q{}".format)
def test_posts_equal_oracle(number: int, posts: list[Event], static: Static) -> None:
    text, dialect = query_text("lsbench", f"q{number}.cqels")
    assert check(text, dialect, posts, static).is_fruitful()


@pytest.mark.parametrize("number", [6, 11], ids="q{}".format)
def test_liked_posts_equal_oracle(number: int, posts: list[Event], static: Static) -> None:
    text, dialect = query_text("lsbench", f"q{number}.cqels")
    events = posts if is_long() else before("03:00:00", posts)
    assert check(text, dialect, events, static).is_fruitful()


@pytest.mark.parametrize("number", [5, 8], ids="q{}".format)
def test_photos_equal_oracle(number: int, photos: list[Event], static: Static) -> None:
    text, dialect = query_text("lsbench", f"q{number}.cqels")
    assert check(text, dialect, photos, static).is_fruitful()


def test_positions_equal_oracle(static: Static) -> None:
    """Q7. Users move later than the photos near them were taken: the likes are spread over the hours between."""
    until = f"{DAY}06:20:00"
    photos = loaded(lsbench.photos, f"{DAY}00:49:00", f"{DAY}00:50:00", lsbench.Likes(until, pace_ms=1_200_000))
    positions = loaded(lsbench.positions, f"{DAY}05:30:00", until, 10 if is_long() else 80)
    text, dialect = query_text("lsbench", "q7.cqels")
    assert check(text, dialect, in_order([*photos, *positions]), static).is_fruitful()


def test_posts_and_photos_equal_oracle(posts: list[Event], photos: list[Event], static: Static) -> None:
    """Q9 reads four streams."""
    text, dialect = query_text("lsbench", "q9.cqels")
    events = before("03:00:00" if is_long() else "02:20:00", in_order([*posts, *photos]))
    recent = [event for event in events if event.t >= to_ms(f"{DAY}02:12:00")]
    assert check(text, dialect, recent, static).is_fruitful()
