"""Rings without a server: the results that they keep, that a cursor reads, and that a gap reports as lost."""

import asyncio
from typing import Any

import pytest
from whorl.errors import QueryFailedError
from whorl.server.errors import (
    EngineRefusal,
    InvalidResultTokenError,
    NotReadyError,
    TooManySubscribersError,
    UnknownQueryError,
)
from whorl.server.services.rings import Cursor, Envelope, Gap, Ring, Rings, parse_token
from whorl.server.settings import Settings


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Waiter:
    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def rings_of(clock: Clock | None = None, **settings: Any) -> Rings:
    rings = Rings(Settings(**settings), clock or Clock())
    rings.open("q", "a1", 1, {"variables": ["s"]})
    return rings


def envelopes(first: int, last: int, size: int = 10) -> list[tuple[int, int, bytes]]:
    return [(seq, seq * 1000, f'{{"seq":{seq},"pad":"{"x" * size}"}}'.encode()) for seq in range(first, last + 1)]


def read_all(cursor: Cursor) -> list[int | tuple[int, int | None, str]]:
    found: list[int | tuple[int, int | None, str]] = []
    while (one := cursor.read()) is not None:
        found.append(one.seq if isinstance(one, Envelope) else (one.from_seq, one.to_seq, one.reason))
    return found


def test_a_cursor_after_any_token_reads_the_rest_once_in_order() -> None:
    rings = rings_of()
    rings.publish("q", envelopes(1, 20))
    for after in range(21):
        cursor, gap = rings.ring("q").cursor(f"a1:{after}")
        assert gap is None
        assert read_all(cursor) == list(range(after + 1, 21))


def test_readers_share_the_text_that_was_decoded_once() -> None:
    rings = rings_of()
    rings.publish("q", [(1, 0, '{"é":1}'.encode())])
    first, second = (rings.ring("q").cursor("a1:0")[0].read() for _ in range(2))
    assert isinstance(first, Envelope)
    assert isinstance(second, Envelope)
    assert first.text is second.text
    assert (first.text, first.token) == ('{"é":1}', "a1:1")


def test_a_ring_keeps_its_bytes_and_says_what_it_let_go() -> None:
    rings = rings_of(ring_bytes_max=5000)
    cursor, _ = rings.ring("q").cursor(start="earliest")
    rings.publish("q", envelopes(1, 100, size=100))
    ring = rings.ring("q")
    assert ring.bytes <= 5000
    assert ring.first_seq > 80
    assert read_all(cursor)[0] == (1, ring.first_seq - 1, "overflow")
    _, gap = ring.cursor("a1:3")
    assert gap == Gap(4, ring.first_seq - 1, "expired", "a1")


def test_all_rings_together_have_a_limit_that_they_share() -> None:
    rings = rings_of(ring_bytes_max=5000, rings_bytes_max=8000)
    rings.publish("q", envelopes(1, 100, size=100))
    assert 4000 < rings.ring("q").bytes <= 5000
    for name in ("r", "s", "t"):
        rings.open(name, "a1", 1, {})
        rings.publish(name, envelopes(1, 100, size=100))
    assert sum(ring.bytes for ring in rings) <= 8000
    for name in ("r", "s", "t"):
        rings.close(name, "deleted")
    rings.publish("q", envelopes(101, 200, size=100))
    assert 4000 < rings.ring("q").bytes <= 5000


def test_the_newest_result_stays_however_large() -> None:
    rings = rings_of(ring_bytes_max=1000)
    rings.publish("q", envelopes(1, 1, size=5000))
    assert read_all(rings.ring("q").cursor("a1:0")[0]) == [1]


def test_a_restart_is_told_after_the_old_results_and_before_the_new_ones() -> None:
    rings = rings_of()
    cursor, _ = rings.ring("q").cursor("a1:0")
    rings.publish("q", envelopes(1, 2))
    rings.open("q", "b2", 1, {})
    rings.publish("q", envelopes(1, 1))
    assert read_all(cursor) == [1, 2, (3, None, "restart"), 1]
    assert cursor.token == "b2:1"


def test_a_token_of_an_old_incarnation_has_a_gap_of_unknown_size() -> None:
    rings = rings_of()
    rings.open("q", "b2", 1, {})
    rings.publish("q", envelopes(1, 2))
    cursor, gap = rings.ring("q").cursor("a1:7")
    assert gap == Gap(8, None, "restart", "b2")
    assert read_all(cursor) == [1, 2]


def test_a_recovery_of_the_same_incarnation_repeats_nothing() -> None:
    rings = rings_of()
    rings.publish("q", envelopes(1, 3))
    cursor, _ = rings.ring("q").cursor("a1:2")
    rings.open("q", "a1", 1, {})
    rings.publish("q", envelopes(1, 5))
    assert read_all(cursor) == [3, 4, 5]


def test_numbers_that_the_engine_lost_are_a_gap() -> None:
    rings = rings_of()
    rings.publish("q", envelopes(1, 2))
    cursor, _ = rings.ring("q").cursor("a1:2")
    rings.publish("q", envelopes(6, 7))
    assert read_all(cursor) == [(3, 5, "overflow"), 6, 7]


@pytest.mark.parametrize("token", ["", "a1", "a1:", ":1", "a1:x", "a1:-1", "a1:٣", "a1:" + "9" * 30])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidResultTokenError, match="is not a result token"):
        parse_token(token)


def test_a_token_ahead_of_the_query_is_refused() -> None:
    with pytest.raises(InvalidResultTokenError, match="ahead of query"):
        rings_of().ring("q").cursor("a1:1")


def test_a_batch_wakes_a_reader_once() -> None:
    rings = rings_of()
    waiter = Waiter()
    rings.ring("q").cursor()[0].attach(waiter)
    rings.publish("q", envelopes(1, 50))
    assert waiter.woken == 1


def test_a_reader_that_leaves_after_a_restart_is_woken_by_no_incarnation() -> None:
    rings = rings_of()
    waiter = Waiter()
    cursor, _ = rings.ring("q").cursor()
    cursor.attach(waiter)
    rings.open("q", "b2", 1, {})
    cursor.detach(waiter)
    before = waiter.woken
    rings.publish("q", envelopes(1, 1))
    assert waiter.woken == before
    assert rings.subscribers() == {"q": 0}


def test_a_reader_is_behind_from_the_moment_it_could_have_read() -> None:
    clock = Clock()
    rings = rings_of(clock)
    rings.publish("q", envelopes(1, 1))
    clock.now += 50
    cursor, _ = rings.ring("q").cursor("a1:0")
    assert cursor.behind_since() == clock.now
    clock.now += 3
    rings.publish("q", envelopes(2, 2))
    cursor.read()
    assert cursor.behind_since() == clock.now
    cursor.read()
    assert cursor.behind_since() is None


def test_an_ended_query_is_read_to_its_end_and_then_unknown() -> None:
    rings = rings_of()
    rings.publish("q", envelopes(1, 1))
    ring = rings.ring("q")
    cursor, _ = ring.cursor("a1:0")
    rings.close("q", "deleted")
    assert read_all(cursor) == [1]
    assert (ring.state, ring.reason) == ("complete", "deleted")
    with pytest.raises(UnknownQueryError, match="does not exist"):
        rings.ring("q")


def test_readers_are_counted_and_bounded() -> None:
    rings = rings_of(subscribers_max=1)
    rings.connect(Waiter())
    with pytest.raises(TooManySubscribersError):
        rings.connect(Waiter())


@pytest.mark.asyncio
async def test_stopping_wakes_everybody_and_waits_for_them() -> None:
    rings = rings_of()

    class Leaver:
        def wake(self) -> None:
            asyncio.get_running_loop().call_soon(rings.disconnect, self)

    rings.connect(Leaver())
    rings.connect(Leaver())
    await rings.stopped(timeout_s=30)
    assert rings.connected == 0
    with pytest.raises(NotReadyError, match="the server is stopping"):
        rings.connect(Waiter())


def test_facts_and_state_of_a_failed_query_can_be_seen() -> None:
    rings = rings_of()
    problem = EngineRefusal(QueryFailedError("it was too much"))
    rings.fail("q", problem)
    ring: Ring = rings.ring("q")
    assert (ring.state, ring.problem) == ("failed", problem)
