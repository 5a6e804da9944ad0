"""The subscription without sockets: each result once, whatever breaks and wherever; losses are reported.

Detects faults in positions, de-duplication, gaps, credit and back-off. Does not detect faults of the sockets
themselves; `test_shells` and `test_real_server` do.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from client_model import INCARNATION, RingServer, envelope, message, never, subscription
from hypothesis import given, settings
from hypothesis import strategies as st
from whorl_client import (
    AnswerTimeoutError,
    AuthenticationError,
    ConnectionFailedError,
    Gap,
    GapError,
    ProtocolError,
    QueryFailedError,
    Result,
    UnknownQueryError,
)
from whorl_client._subscription import Close, Connect, Deliver, Effect, Lost, Ready, Receive, SendText, Subscription


def seqs(items: list[Result | Gap]) -> list[int]:
    return [item.seq for item in items if isinstance(item, Result)]


def cut_at(*points: int) -> Iterator[bool]:
    return (number in points for number in itertools.count())


def talk(core: Subscription, *frames: str | Lost | None) -> tuple[list[Effect], Any]:
    """Feed frames to the next `Receive`s; what was asked for, and the exception it ended with."""
    asked: list[Effect] = []
    flow, left = core.run(), list(frames)
    reply: str | Lost | None = None
    try:
        while True:
            wanted = flow.send(reply)
            asked.append(wanted)
            reply = None
            if isinstance(wanted, Receive):
                if not left:
                    return asked, None
                reply = left.pop(0)
    except (StopIteration, Exception) as error:  # noqa: BLE001 - the test says which one it expects
        return asked, error


ACK = message("connection_ack", {"session": "s", "heartbeat": 20_000})


def subscribed(start: int, incarnation: str = INCARNATION, number: str = "1") -> str:
    return message("subscribed", {"incarnation": incarnation, "vars": ["n"], "startSeq": start}, number)


def next_(seq: int, number: str = "1", **options: Any) -> str:
    return message("next", envelope(seq, **options), number)


def delivered(asked: list[Effect]) -> list[Result | Gap]:
    return [wanted.item for wanted in asked if isinstance(wanted, Deliver)]


def sent(asked: list[Effect], kind: str) -> list[dict[str, Any]]:
    said = [json.loads(wanted.text) for wanted in asked if isinstance(wanted, SendText)]
    return [one for one in said if one["type"] == kind]


# --- each once --------------------------------------------------------------------------------------------------------


def test_a_connection_that_breaks_at_any_one_point_loses_and_doubles_nothing() -> None:
    quiet = RingServer(last_seq=5)
    assert seqs(quiet.drive(subscription(credit=2), never())) == [1, 2, 3, 4, 5]
    for point in range(40):
        server = RingServer(last_seq=5)
        assert seqs(server.drive(subscription(credit=2), cut_at(point))) == [1, 2, 3, 4, 5], point


def test_a_connection_that_breaks_at_any_two_points_loses_and_doubles_nothing() -> None:
    for points in itertools.combinations(range(25), 2):
        server = RingServer(last_seq=3)
        assert seqs(server.drive(subscription(credit=1), cut_at(*points))) == [1, 2, 3], points


@settings(max_examples=100, deadline=None)
@given(
    cuts=st.lists(st.booleans(), max_size=80),
    last_seq=st.integers(1, 20),
    published=st.integers(0, 10),
    credit=st.integers(1, 5),
    repeats=st.integers(0, 4),
    from_=st.sampled_from(["latest", "earliest"]),
)
def test_any_interleaving_of_breaks_gives_each_result_once(
    cuts: list[bool], last_seq: int, published: int, credit: int, repeats: int, from_: str
) -> None:
    # The first connection succeeds, because it determines the position of `latest`.
    published = min(published, last_seq)
    server = RingServer(last_seq, published, repeats=repeats)
    luck = itertools.chain([False] * 4, cuts, never())
    core = subscription(credit=credit, from_=from_)
    first = 1 if from_ == "earliest" else published + 1
    # A server that repeats results may start before `latest`; those results are new to the reader.
    items = seqs(server.drive(core, luck))
    assert items == sorted(set(items))
    assert [seq for seq in items if seq >= first] == list(range(first, last_seq + 1))
    assert core.token == f"{INCARNATION}:{last_seq}"
    assert server.over_credit == 0


@settings(max_examples=100, deadline=None)
@given(cuts=st.lists(st.booleans(), max_size=80), last_seq=st.integers(1, 20), kept=st.integers(1, 3), data=st.data())
def test_every_result_is_either_handed_out_or_said_to_be_lost(
    cuts: list[bool], last_seq: int, kept: int, data: st.DataObject
) -> None:
    server = RingServer(last_seq, kept=kept)

    def luck() -> Iterator[bool]:
        # Connect, init, ack, subscribe, subscribed: before that, nothing has been promised.
        yield from [False] * 5
        for cut in cuts:
            # While no subscriber is connected, results are emitted and dropped.
            if cut:
                server.published = min(last_seq, server.published + data.draw(st.integers(0, 4)))
            yield cut
        yield from never()

    told: list[int] = []
    for item in server.drive(subscription(on_gap="yield", credit=2), luck()):
        if isinstance(item, Result):
            told.append(item.seq)
        else:
            assert item.from_seq is not None
            assert item.to_seq is not None
            told.extend(range(item.from_seq, item.to_seq + 1))
    assert told == list(range(1, last_seq + 1))


def test_a_subscription_lost_before_its_first_result_resumes_where_it_began() -> None:
    server = RingServer(last_seq=9, published=4)
    core = subscription()

    def luck() -> Iterator[bool]:
        # Connect, init, ack, subscribe, subscribed; then the connection is lost and three results come.
        yield from [False] * 5
        server.published = 7
        yield True
        yield from never()

    assert seqs(server.drive(core, luck())) == [5, 6, 7, 8, 9]
    assert server.subscribes[1]["after"] == f"{INCARNATION}:4"


def test_a_result_sent_twice_is_handed_out_once_and_its_credit_given_back() -> None:
    asked, _ = talk(subscription(credit=2), ACK, subscribed(1), next_(1), next_(1), next_(2), next_(1))
    assert seqs(delivered(asked)) == [1, 2]
    assert sum(one["payload"]["n"] for one in sent(asked, "credit")) == 4


def test_credit_is_given_back_only_for_results_that_were_taken() -> None:
    flow = subscription(credit=1).run()
    reply: str | None = None
    frames = iter([ACK, subscribed(1), next_(1)])
    while not isinstance(wanted := flow.send(reply), Deliver):
        reply = next(frames) if isinstance(wanted, Receive) else None
    after = flow.send(None)
    assert isinstance(after, SendText)
    assert json.loads(after.text) == {"type": "credit", "id": "1", "payload": {"n": 1}}


# --- gaps -------------------------------------------------------------------------------------------------------------


def gap_message(from_seq: int, to_seq: int | None, reason: str = "overflow", incarnation: str = INCARNATION) -> str:
    payload = {"fromSeq": from_seq, "toSeq": to_seq, "reason": reason, "incarnation": incarnation}
    return message("gap", payload, "1")


def test_a_gap_raises_unless_told_otherwise_and_names_the_place_to_go_on() -> None:
    core = subscription()
    asked, error = talk(core, ACK, subscribed(1), next_(1), gap_message(2, 5))
    assert isinstance(error, GapError)
    assert (error.from_seq, error.to_seq, error.token) == (2, 5, "a1:5")
    assert isinstance(asked[-1], Close)
    assert core.token == "a1:5"


def test_a_gap_can_stand_between_the_results() -> None:
    asked, _ = talk(subscription(on_gap="yield"), ACK, subscribed(1), next_(1), gap_message(2, 5), next_(6))
    assert [item.seq if isinstance(item, Result) else (item.from_seq, item.to_seq) for item in delivered(asked)] == [
        1,
        (2, 5),
        6,
    ]


def test_a_gap_can_go_to_a_function() -> None:
    gaps: list[Gap] = []
    asked, _ = talk(subscription(on_gap=gaps.append), ACK, subscribed(1), gap_message(1, 5), next_(6))
    assert seqs(delivered(asked)) == [6]
    assert gaps == [Gap(1, 5, "overflow", "a1:5")]


@pytest.mark.parametrize("seq", [3, 4])
def test_a_jump_that_was_not_announced_is_a_gap(seq: int) -> None:
    _, error = talk(subscription(), ACK, subscribed(1), next_(1), next_(seq))
    assert isinstance(error, GapError)
    assert (error.from_seq, error.to_seq) == (2, seq - 1)


def test_a_first_result_beyond_the_promised_place_is_a_gap() -> None:
    _, error = talk(subscription(), ACK, subscribed(5), next_(6))
    assert isinstance(error, GapError)
    assert (error.from_seq, error.to_seq) == (5, 5)


def test_a_gap_that_was_said_is_not_said_again_by_the_next_connection() -> None:
    core = subscription(on_gap="yield")
    asked, _ = talk(core, ACK, subscribed(1), next_(1), gap_message(2, 5), Lost("reset"), ACK)
    assert sent(asked, "subscribe")[-1]["payload"]["after"] == "a1:5"


def test_a_restarted_query_is_a_gap_and_its_results_count_from_one() -> None:
    frames = [ACK, subscribed(1), next_(1), next_(2), gap_message(3, None, "restart", "b2"), next_(1, incarnation="b2")]
    core = subscription(on_gap="yield")
    asked, _ = talk(core, *frames)
    assert [type(item).__name__ for item in delivered(asked)] == ["Result", "Result", "Gap", "Result"]
    assert core.token == "b2:1"


def test_a_restart_while_nobody_was_connected_is_a_gap_and_nothing_of_the_new_life_is_missed() -> None:
    server = RingServer(last_seq=6)
    core = subscription(on_gap="yield")

    def luck() -> Iterator[bool]:
        yield from [False] * 8
        server.incarnation, server.published = "b2", 3
        yield True
        yield from never()

    items = server.drive(core, luck())
    at = next(number for number, item in enumerate(items) if isinstance(item, Gap))
    assert seqs(items[at:]) == [1, 2, 3, 4, 5, 6]


def test_a_token_that_expired_is_a_gap_and_what_is_left_is_read() -> None:
    expired = {"type": "urn:whorl:problem:token-expired", "status": 410, "detail": "no longer kept"}
    asked, _ = talk(subscription(from_="a1:3", on_gap="yield"), ACK, message("error", expired, "1"))
    assert delivered(asked) == [Gap(None, None, "no longer kept", None)]
    assert [one["payload"].get("from") for one in sent(asked, "subscribe")] == [None, "earliest"]


# --- how it begins and ends -------------------------------------------------------------------------------------------


def test_the_first_words_are_init_and_subscribe() -> None:
    asked, _ = talk(subscription(), ACK, subscribed(8))
    assert isinstance(asked[0], Connect)
    assert (asked[0].url, asked[0].subprotocol) == ("ws://server/ws", "rsp.v1.json")
    assert asked[0].headers == {"authorization": "Bearer secret"}
    assert sent(asked, "connection_init") == [{"type": "connection_init", "payload": {"token": "secret"}}]
    [request] = sent(asked, "subscribe")
    assert request["payload"] == {"query": "q", "from": "latest", "credit": 256}
    assert any(isinstance(wanted, Ready) for wanted in asked)


def test_limit_closes_the_socket_before_the_last_result_is_seen() -> None:
    asked, error = talk(subscription(limit=2), ACK, subscribed(1), next_(1), next_(2))
    assert isinstance(error, StopIteration)
    last = max(number for number, wanted in enumerate(asked) if isinstance(wanted, Deliver))
    assert isinstance(asked[last - 1], Close)
    assert seqs(delivered(asked)) == [1, 2]


@pytest.mark.parametrize(
    "then",
    [next_(3), message("progress", {"watermark": 2001, "seq": 2}, "1")],
    ids=["a later result", "a later watermark"],
)
def test_until_includes_its_instant_and_ends_with_whatever_is_later(then: str) -> None:
    asked, error = talk(subscription(until=2000), ACK, subscribed(1), next_(1), next_(2), then)
    assert isinstance(error, StopIteration)
    assert seqs(delivered(asked)) == [1, 2]
    assert sent(asked, "subscribe")[0]["payload"]["progress"] is True


def test_a_watermark_at_until_is_not_yet_the_end() -> None:
    progress = message("progress", {"watermark": 2000, "seq": 1}, "1")
    asked, error = talk(subscription(until=2000), ACK, subscribed(1), next_(1), progress, next_(2))
    assert error is None
    assert seqs(delivered(asked)) == [1, 2]


def test_a_snapshot_comes_first_and_results_go_on_after_it() -> None:
    snapshot = message("next", {**envelope(7), "snapshot": True, "r2s": "DSTREAM"}, "1")
    asked, _ = talk(subscription(snapshot=True), ACK, subscribed(5), snapshot, next_(8), Lost("reset"), ACK)
    first = delivered(asked)[0]
    assert isinstance(first, Result)
    assert (first.is_snapshot, first.rows) == (True, [{"n": 7}])
    assert seqs(delivered(asked)) == [7, 8]
    begun, resumed = sent(asked, "subscribe")
    assert begun["payload"]["snapshot"] is True
    assert "snapshot" not in resumed["payload"]
    assert resumed["payload"]["after"] == "a1:8"


def test_a_snapshot_that_never_came_is_asked_for_again() -> None:
    asked, _ = talk(subscription(snapshot=True), ACK, subscribed(5), Lost("reset"), ACK)
    assert [one["payload"]["from"] for one in sent(asked, "subscribe")] == ["latest", "latest"]
    assert sent(asked, "subscribe")[1]["payload"]["snapshot"] is True


def test_the_snapshot_of_a_query_without_results_is_only_a_place() -> None:
    nothing = message("next", {**envelope(0), "t": None, "snapshot": True}, "1")
    core = subscription(snapshot=True)
    asked, _ = talk(core, ACK, subscribed(1), nothing, next_(1))
    assert seqs(delivered(asked)) == [1]


def test_complete_ends_with_the_reason() -> None:
    core = subscription()
    _, error = talk(core, ACK, subscribed(1), message("complete", {"reason": "deleted"}, "1"))
    assert isinstance(error, StopIteration)
    assert core.reason == "deleted"


def test_messages_of_other_subscriptions_are_not_taken() -> None:
    asked, _ = talk(subscription(), ACK, subscribed(1), next_(1, number="7"))
    assert delivered(asked) == []


# --- when to try again ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [None, 1000, 1001, 1006, 1011, 1012, 1013, 4408, 4429])
def test_a_connection_that_may_go_better_is_tried_again(code: int | None) -> None:
    asked, error = talk(subscription(), ACK, subscribed(1), Lost("gone", code), ACK)
    assert error is None
    assert sum(isinstance(wanted, Connect) for wanted in asked) == 2


@pytest.mark.parametrize(
    ("code", "kind"),
    [(1009, ProtocolError), (4400, ProtocolError), (4401, AuthenticationError), (4406, ProtocolError)],
)
def test_a_connection_that_would_end_the_same_way_is_not_tried_again(code: int, kind: type[Exception]) -> None:
    asked, error = talk(subscription(), ACK, Lost("no", code))
    assert isinstance(error, kind)
    assert sum(isinstance(wanted, Connect) for wanted in asked) == 1


def test_delays_double_with_chance_and_begin_anew_after_a_sign_of_life() -> None:
    server = RingServer(last_seq=2)
    # Subscribed, lost, refused five times, subscribed, one result, lost.
    luck = [*[False] * 5, *[True] * 6, *[False] * 6, True]
    server.drive(subscription(), itertools.chain(luck, never()))
    for delay, ceiling in zip(server.slept_s[:6], [0.1, 0.2, 0.4, 0.8, 1.6, 3.2], strict=True):
        assert ceiling / 2 <= delay <= ceiling
    assert server.slept_s[6] <= 0.1


def test_a_server_that_never_answered_is_not_waited_for_long() -> None:
    server = RingServer(last_seq=1)
    with pytest.raises(ConnectionFailedError, match="no connection to http://server"):
        server.drive(subscription(patience_s=60), itertools.repeat(True))
    assert sum(server.slept_s) <= 2.0


def test_patience_with_a_server_that_went_away_ends() -> None:
    server = RingServer(last_seq=5)
    with pytest.raises(ConnectionFailedError):
        server.drive(subscription(patience_s=60), itertools.chain([False] * 8, itertools.repeat(True)))
    assert 30 < sum(server.slept_s) <= 60


def test_silence_is_asked_about_once_and_then_taken_for_a_loss() -> None:
    asked, _ = talk(subscription(), ACK, subscribed(1), None, None, ACK)
    assert len(sent(asked, "ping")) == 1
    assert sum(isinstance(wanted, Connect) for wanted in asked) == 2


def test_a_pong_is_a_sign_of_life() -> None:
    asked, _ = talk(subscription(), ACK, subscribed(1), None, message("pong"), None)
    assert sum(isinstance(wanted, Connect) for wanted in asked) == 1
    assert len(sent(asked, "ping")) == 2


def test_the_server_says_in_milliseconds_how_often_it_gives_a_sign_of_life() -> None:
    asked, _ = talk(subscription(), message("connection_ack", {"session": "s", "heartbeat": 5_000}), subscribed(1))
    assert asked[-1] == Receive(5.0)


def test_a_ping_is_answered() -> None:
    asked, _ = talk(subscription(), ACK, message("ping"))
    assert sent(asked, "pong") == [{"type": "pong"}]


def test_no_result_in_time_raises() -> None:
    clock = iter([0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0])
    core = subscription(clock=lambda: next(clock), timeout_s=5)
    _, error = talk(core, ACK, subscribed(1), None)
    assert isinstance(error, AnswerTimeoutError)


@pytest.mark.parametrize(
    ("slug", "status", "kind"),
    [("unknown-query", 404, UnknownQueryError), ("query-failed", 409, QueryFailedError)],
)
def test_an_error_of_the_server_is_an_exception_of_its_own(slug: str, status: int, kind: type[Exception]) -> None:
    problem = {"type": f"urn:whorl:problem:{slug}", "status": status, "detail": "so it is"}
    asked, error = talk(subscription(), ACK, message("error", problem, "1"))
    assert type(error) is kind
    assert isinstance(asked[-1], Close)


def test_a_busy_server_is_asked_again() -> None:
    problem = {"type": "urn:whorl:problem:too-many-subscribers", "status": 429, "detail": "full"}
    asked, error = talk(subscription(), ACK, message("error", problem, "1"), ACK)
    assert error is None
    assert sum(isinstance(wanted, Connect) for wanted in asked) == 2


@pytest.mark.parametrize("text", ["no json", "[]", "{}"])
def test_what_is_no_message_is_a_fault_of_the_protocol(text: str) -> None:
    _, error = talk(subscription(), text)
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize("options", [{"limit": 0}, {"credit": 0}, {"on_gap": "ignore"}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        subscription(**options)
