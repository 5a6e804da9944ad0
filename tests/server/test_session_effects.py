"""The session of `rsp.v1.json` without sockets: slow readers, effects, and plain connections."""

import json
from typing import Any

import pytest
from session_bench import Bench
from whorl.errors import QueryFailedError, QuerySyntaxError
from whorl.server import errors
from whorl.server.errors import DomainError, EngineRefusal
from whorl.server.security import Scope
from whorl.server.services.session import (
    PINGS_BURST,
    PINGS_PER_S,
    DropQuery,
    PlainSession,
    PublishEvents,
    RegisterQuery,
    TakeSnapshot,
    close_of,
)
from whorl.server.services.subscriptions import Close, SubscriptionOptions

# ---- slow readers ----


def test_a_reader_that_falls_off_the_ring_is_1013_with_its_last_number() -> None:
    bench = Bench(ring_bytes_max=2000)
    bench.subscribe(credit=2)
    bench.publish(1, 2)
    assert bench.seqs() == [1, 2]
    bench.publish(3, 100)
    bench.credit(1)
    bench.hear()
    assert bench.session.close == Close(1013, "slow reader, last seq 2")


def test_a_reader_too_long_behind_is_1013_on_time() -> None:
    bench = Bench(ring_behind_s=10, heartbeat_s=1000)
    bench.subscribe(credit=0)
    bench.hear()
    bench.clock.now += 50
    bench.publish(1, 1)
    assert bench.check() == bench.clock.now + 10
    bench.clock.now += 9.9
    bench.check()
    assert bench.code is None
    bench.clock.now += 0.1
    bench.check()
    assert bench.session.close == Close(1013, "slow reader, last seq 0")


def test_a_reader_with_nothing_to_read_is_never_behind() -> None:
    bench = Bench()
    bench.subscribe()
    bench.publish(1, 1)
    bench.hear()
    bench.clock.now += 10_000
    bench.check()
    assert bench.code is None


def test_a_frame_that_cannot_be_written_is_1013() -> None:
    bench = Bench(ring_behind_s=10)
    bench.subscribe()
    bench.publish(1, 1)
    bench.hear()
    since = bench.clock.now
    bench.clock.now += 10
    bench.check(sending_since=since)
    assert bench.session.close == Close(1013, "slow reader, last seq 1")


def test_drop_oldest_tells_what_it_left_out_and_goes_on() -> None:
    bench = Bench(ring_bytes_max=2000)
    bench.subscribe(credit=0, overflow="drop-oldest")
    bench.publish(1, 100)
    first = bench.rings.ring("q").first_seq
    bench.credit(1000)
    heard = bench.hear()
    assert heard[1]["payload"] == {"fromSeq": 1, "toSeq": first - 1, "reason": "overflow", "incarnation": "a1"}
    assert [one["payload"]["seq"] for one in heard[2:]] == list(range(first, 101))


def test_drop_oldest_leaves_out_what_is_too_old() -> None:
    bench = Bench(ring_behind_s=10)
    bench.subscribe(credit=0, overflow="drop-oldest")
    bench.publish(1, 3)
    bench.clock.now += 11
    bench.publish(4, 5)
    bench.check()
    bench.credit(10)
    heard = bench.hear()
    assert (heard[1]["payload"]["fromSeq"], heard[1]["payload"]["toSeq"]) == (1, 3)
    assert [one["payload"]["seq"] for one in heard[2:]] == [4, 5]
    assert bench.code is None


def test_latest_gives_the_newest_and_says_what_it_passed_over() -> None:
    bench = Bench()
    bench.subscribe(credit=1, overflow="latest")
    bench.publish(1, 5)
    heard = bench.hear()
    gap = {"fromSeq": 1, "toSeq": 4, "reason": "conflated", "incarnation": "a1"}
    assert [one["payload"] for one in heard[1:]] == [gap, {"seq": 5}]
    bench.credit(1)
    bench.publish(6, 6)
    assert bench.hear() == [{"type": "next", "id": "1", "payload": {"seq": 6}}]


def test_replies_that_nobody_reads_clog_the_session() -> None:
    bench = Bench()
    assert not bench.session.is_clogged
    for _ in range(256):
        bench.clock.now += 1
        bench.say({"type": "ping"})
    assert bench.session.is_clogged


def test_large_replies_that_nobody_reads_clog_the_session_too() -> None:
    bench = Bench()
    for _ in range(2):
        bench.say({"type": "ping", "payload": "x" * 600_000})
    assert bench.session.is_clogged
    bench.hear()
    assert not bench.session.is_clogged


@pytest.mark.parametrize("kind", ["ping", "pong"])
def test_pings_without_end_are_4429(kind: str) -> None:
    bench = Bench()
    for _ in range(PINGS_BURST):
        bench.say({"type": kind})
    assert bench.code is None
    # After a while there are some more, but not many.
    bench.clock.now += 1
    for _ in range(round(PINGS_PER_S)):
        bench.say({"type": kind})
    assert bench.code is None
    bench.say({"type": kind})
    assert bench.code == 4429


def test_a_stopping_server_is_1001() -> None:
    bench = Bench()
    bench.rings.connect(bench.session)
    bench.rings.stop()
    assert bench.code == 1001


# ---- effects ----


def test_a_snapshot_comes_before_the_results_after_it() -> None:
    bench = Bench()
    bench.publish(1, 3)
    assert bench.subscribe(snapshot=True) == [TakeSnapshot("1", "q")]
    bench.publish(4, 5)
    assert [one["type"] for one in bench.hear()] == ["subscribed"]
    bench.session.snapshot_taken("1", 4, '{"seq":4,"snapshot":true}')
    assert [one["payload"] for one in bench.hear()] == [{"seq": 4, "snapshot": True}, {"seq": 5}]


def test_a_snapshot_costs_credit() -> None:
    bench = Bench()
    bench.subscribe(snapshot=True, credit=0)
    bench.session.snapshot_taken("1", 0, '{"seq":0}')
    assert bench.seqs() == []
    bench.credit(1)
    assert bench.seqs() == [0]


def test_who_lost_nothing_gets_no_snapshot_and_who_did_gets_one() -> None:
    bench = Bench()
    bench.publish(1, 3)
    assert bench.subscribe("1", snapshot=True, after="a1:2") == []
    assert bench.subscribe("2", snapshot=True, after="old:2") == [TakeSnapshot("2", "q")]


def test_a_snapshot_that_is_refused_ends_the_subscription() -> None:
    bench = Bench()
    bench.subscribe(snapshot=True)
    bench.session.refused("1", errors.QueryNotRunningError("query 'q' is paused"))
    assert [one["type"] for one in bench.hear()] == ["subscribed", "error"]
    bench.subscribe()
    assert bench.code is None


def test_a_query_by_text_is_registered_followed_from_its_start_and_dropped_in_the_end() -> None:
    bench = Bench()
    effects = bench.subscribe(query=None, rspql="SELECT …", options={"r2s": "ISTREAM"})
    assert effects == [RegisterQuery("1", "SELECT …", {"r2s": "ISTREAM"})]
    bench.rings.open("ws-1", "c1", 1, {})
    bench.publish(1, 1, query="ws-1")
    assert bench.session.registered("1", "ws-1") == []
    assert [one["type"] for one in bench.hear()] == ["subscribed", "next"]
    assert bench.say({"type": "complete", "id": "1"}) == [DropQuery("ws-1")]


def test_a_query_by_text_goes_with_its_connection() -> None:
    bench = Bench()
    bench.subscribe(query=None, rspql="SELECT …")
    bench.rings.open("ws-1", "c1", 1, {})
    bench.session.registered("1", "ws-1")
    assert bench.session.leave() == [DropQuery("ws-1")]


def test_a_query_that_nobody_waits_for_any_more_is_dropped() -> None:
    bench = Bench()
    bench.subscribe(query=None, rspql="SELECT …")
    bench.say({"type": "complete", "id": "1"})
    assert bench.session.registered("1", "ws-1") == [DropQuery("ws-1")]
    bench.subscribe("2", query=None, rspql="SELECT …")
    bench.session.leave()
    assert bench.session.registered("2", "ws-2") == [DropQuery("ws-2")]


def test_a_failed_query_by_text_is_dropped() -> None:
    bench = Bench()
    bench.subscribe(query=None, rspql="SELECT …")
    bench.rings.open("ws-1", "c1", 1, {})
    bench.session.registered("1", "ws-1")
    bench.rings.fail("ws-1", EngineRefusal(QueryFailedError("no")))
    assert [one["type"] for one in bench.hear()] == ["subscribed", "error"]
    assert bench.session.drops() == [DropQuery("ws-1")]


def test_a_text_that_is_refused_is_an_error_of_that_subscription() -> None:
    bench = Bench()
    bench.subscribe("2", query=None, rspql="SELECT")
    bench.session.refused("2", EngineRefusal(QuerySyntaxError("no")))
    assert [(one["type"], one["payload"]["status"]) for one in bench.hear()] == [("error", 400)]
    bench.subscribe("2")
    assert bench.code is None


def test_publishing_hands_lines_on_and_answers() -> None:
    bench = Bench()
    events = [{"t": 1, "data": "<http://ex/é> <http://ex/p> 1 ."}, {"watermark": 5}]
    (effect,) = bench.say({"type": "publish", "id": "p", "payload": {"stream": "http://ex/s", "events": events}})
    assert isinstance(effect, PublishEvents)
    body, form = effect.payload.body()
    assert form == "ndjson"
    assert [json.loads(line) for line in body.splitlines()] == events
    bench.session.published("p", {"accepted": 1})
    assert bench.hear() == [{"type": "published", "id": "p", "payload": {"accepted": 1}}]


def test_publishing_a_document_needs_its_format() -> None:
    bench = Bench()
    payload = {"stream": "http://ex/s", "events": "<a:b> <a:c> 1 .", "format": "turtle", "t": 5}
    (effect,) = bench.say({"type": "publish", "id": "p", "payload": payload})
    assert isinstance(effect, PublishEvents)
    assert effect.payload.body() == (b"<a:b> <a:c> 1 .", "turtle")


def test_an_id_is_in_use_while_its_publication_is_under_way() -> None:
    bench = Bench()
    publish = {"type": "publish", "id": "p", "payload": {"stream": "http://ex/s", "events": []}}
    bench.say(publish)
    bench.session.refused("p", errors.OverloadedError("later"))
    bench.say(publish)
    assert bench.code is None
    bench.say(publish)
    assert bench.code == 4409


@pytest.mark.parametrize(
    ("scopes", "refused"),
    [(("subscribe",), {"text", "publish"}), (("ingest",), {"query", "text"}), (("subscribe", "register"), {"publish"})],
)
def test_each_operation_needs_its_scope(scopes: tuple[Scope, ...], refused: set[str]) -> None:
    bench = Bench(scopes=scopes)
    bench.subscribe("query")
    bench.subscribe("text", query=None, rspql="SELECT …")
    bench.say({"type": "publish", "id": "publish", "payload": {"stream": "http://ex/s", "events": []}})
    errors = [one for one in bench.hear() if one["type"] == "error"]
    assert {one["id"] for one in errors} == refused
    assert all(one["payload"]["status"] in {401, 403} for one in errors)


# ---- plain connections ----


def plain(bench: Bench, **options: Any) -> PlainSession:
    session = PlainSession(bench.rings, bench.settings, "q", SubscriptionOptions(**options), clock=bench.clock)
    assert session.begin() == []
    return session


def test_a_plain_reader_gets_envelopes_and_nothing_else() -> None:
    bench = Bench()
    session = plain(bench, start="earliest")
    bench.publish(1, 2)
    assert session.take(1000) == ['{"seq":1}', '{"seq":2}']
    assert session.receive("whatever") == []
    bench.rings.close("q", "deleted")
    assert session.take(1000) == []
    assert session.close == Close(1000, "deleted")


def test_a_plain_reader_is_told_of_gaps_and_failures() -> None:
    bench = Bench()
    bench.publish(1, 1)
    session = plain(bench, after="old:5")
    bench.rings.fail("q", EngineRefusal(QueryFailedError("no more")))
    gap, first, error = (json.loads(frame) for _ in range(2) for frame in session.take(1000))
    assert (gap["type"], gap["reason"], first["seq"], error["type"]) == ("gap", "restart", 1, "error")
    assert session.close == Close(1011, "no more")


def test_a_plain_reader_of_nothing_is_told_so() -> None:
    bench = Bench()
    session = PlainSession(bench.rings, bench.settings, "nope", SubscriptionOptions(), clock=bench.clock)
    session.begin()
    assert json.loads(session.take(1000)[0])["problem"]["status"] == 404
    assert session.close is not None
    assert session.close.code == 4400


def test_a_slow_plain_reader_is_1013() -> None:
    bench = Bench()
    session = plain(bench)
    bench.publish(1, 3)
    bench.clock.now += 10
    session.check(bench.clock.now, sending_since=None)
    assert session.close == Close(1013, "slow reader, last seq 0")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UnauthenticatedError, 4401),
        (errors.ForbiddenError, 4403),
        (errors.TooManySubscribersError, 4429),
        (errors.NotReadyError, 1012),
        (errors.ServerFaultError, 1011),
        (errors.UnknownQueryError, 4400),
    ],
)
def test_problems_have_close_codes(kind: type[DomainError], code: int) -> None:
    close = close_of(kind("é" * 200))
    assert close.code == code
    assert len(close.reason.encode()) <= 123
