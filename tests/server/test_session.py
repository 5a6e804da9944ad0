"""The session of `rsp.v1.json` without sockets: the beginning, and following queries."""

import json

import pytest
from session_bench import Bench
from whorl.errors import QueryFailedError
from whorl.server.errors import EngineRefusal
from whorl.server.services.subscriptions import Close

# ---- the beginning ----


def test_the_greeting_says_session_heartbeat_and_limits() -> None:
    bench = Bench(init=False)
    bench.say({"type": "connection_init", "payload": {"token": "right"}})
    (ack,) = bench.hear()
    assert ack["payload"]["session"] == "s1"
    assert ack["payload"]["heartbeat"] == 20_000
    assert ack["payload"]["limits"]["messageBytes"] == 1024 * 1024


def test_a_wrong_token_is_4401() -> None:
    bench = Bench(init=False)
    bench.say({"type": "connection_init", "payload": {"token": "wrong"}})
    assert bench.code == 4401


def test_a_token_without_a_useful_scope_is_4403() -> None:
    bench = Bench(init=False, scopes=("register",))
    bench.say({"type": "connection_init"})
    assert bench.code == 4403


def test_anything_before_the_init_is_4401() -> None:
    bench = Bench(init=False)
    bench.subscribe()
    assert bench.code == 4401


def test_a_second_init_is_4429() -> None:
    bench = Bench()
    bench.say({"type": "connection_init"})
    assert bench.code == 4429


def test_no_init_in_time_is_4408() -> None:
    bench = Bench(init=False, init_timeout_s=3)
    assert bench.check() == bench.clock.now + 3
    bench.clock.now += 2.9
    bench.check()
    assert bench.code is None
    bench.clock.now += 0.1
    bench.check()
    assert bench.code == 4408


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "not json",
        "[]",
        "1",
        "{}",
        '{"type":"hello"}',
        '{"type":"subscribe"}',
        '{"type":"subscribe","id":"1","payload":{"query":"q"}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","credit":-1}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","credit":1.5}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","credit":"1"}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","credit":1,"overflow":"block"}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","credit":1,"from":"middle"}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","rspql":"x","credit":1}}',
        '{"type":"subscribe","id":"1","payload":{"query":"q","credit":1,"surprise":1}}',
        '{"type":"subscribe","id":"","payload":{"query":"q","credit":1}}',
        '{"type":"subscribe","id":1,"payload":{"query":"q","credit":1}}',
        '{"type":"credit","id":"1","payload":{"n":-1}}',
        '{"type":"publish","id":"1","payload":{"stream":"s","events":"text"}}',
        '{"type":"publish","id":"1","payload":{"stream":"s","events":[1]}}',
        '{"type":"ping","payload":"\\ud800"}',
        "[" * 100_000,
        '{"type":"ping","payload":' + "[" * 100_000,
    ],
)
def test_a_frame_that_is_no_message_is_4400_with_a_reason_that_fits(frame: str) -> None:
    bench = Bench()
    assert bench.say(frame) == []
    assert bench.session.close is not None
    assert bench.session.close.code == 4400
    assert 0 < len(bench.session.close.reason.encode()) <= 123


def test_a_bad_member_is_named() -> None:
    bench = Bench()
    bench.subscribe(credit=-1)
    assert bench.session.close == Close(4400, "payload.credit: input should be greater than or equal to 0")


def test_ping_is_answered_by_pong_even_before_the_init() -> None:
    bench = Bench(init=False)
    bench.say({"type": "ping", "payload": {"n": 1}})
    assert bench.hear() == [{"type": "pong", "payload": {"n": 1}}]
    bench.say({"type": "pong"})
    assert bench.code is None


def test_rules_of_time_that_are_sooner_than_the_init_are_not_missed() -> None:
    bench = Bench(init=False, init_timeout_s=10, ring_behind_s=0.2)
    assert bench.check() == bench.clock.now + 0.2


def test_the_heart_beats() -> None:
    bench = Bench(heartbeat_s=5, ring_behind_s=60)
    assert bench.check() == bench.clock.now + 5
    bench.clock.now += 5
    bench.check()
    assert bench.hear() == [{"type": "ping"}]


# ---- following ----


def test_subscribed_comes_first_and_says_where_it_starts() -> None:
    bench = Bench()
    bench.publish(1, 3)
    bench.subscribe(after="a1:1")
    bench.publish(4, 4)
    heard = bench.hear()
    payload = {"query": "q", "incarnation": "a1", "vars": ["s", "o"], "startSeq": 2}
    assert heard[0] == {"type": "subscribed", "id": "1", "payload": payload}
    assert heard[1:] == [{"type": "next", "id": "1", "payload": {"seq": seq}} for seq in (2, 3, 4)]


def test_without_a_token_only_new_results_come_and_from_earliest_all() -> None:
    bench = Bench()
    bench.publish(1, 2)
    bench.subscribe("new")
    bench.subscribe("all", **{"from": "earliest"})
    bench.publish(3, 3)
    heard = [(one["id"], one["payload"]["seq"]) for one in bench.hear() if one["type"] == "next"]
    assert sorted(heard) == [("all", 1), ("all", 2), ("all", 3), ("new", 3)]


def test_resume_after_every_number_gives_the_rest_exactly_once() -> None:
    for after in range(11):
        bench = Bench()
        bench.publish(1, 7)
        bench.subscribe(after=f"a1:{min(after, 7)}")
        heard = bench.seqs()
        bench.publish(8, 10)
        assert heard + bench.seqs() == list(range(min(after, 7) + 1, 11))


def test_the_envelope_is_not_touched() -> None:
    bench = Bench()
    bench.subscribe('odd "id"')
    text = '{"seq":1, "odd" :  "spacing é \\u00e9"}'
    bench.rings.publish("q", [(1, 0, text.encode())])
    frames = bench.session.take(10_000)
    assert frames[-1] == '{"type":"next","id":"odd \\"id\\"","payload":' + text + "}"


def test_credit_bounds_what_is_sent() -> None:
    bench = Bench()
    bench.subscribe(credit=0)
    bench.publish(1, 5)
    assert bench.seqs() == []
    bench.credit(2)
    assert bench.seqs() == [1, 2]
    bench.credit(0)
    assert bench.seqs() == []
    bench.credit(10)
    assert bench.seqs() == [3, 4, 5]


def test_credit_beyond_all_bounds_is_4400() -> None:
    bench = Bench()
    bench.subscribe(credit=1_000_000_000)
    bench.credit(1)
    assert bench.code == 4400


def test_credit_and_ack_for_a_subscription_that_has_ended_are_harmless() -> None:
    bench = Bench()
    bench.credit(1, "gone")
    bench.say({"type": "ack", "id": "gone", "payload": {"seq": 1}})
    bench.say({"type": "complete", "id": "gone"})
    assert bench.code is None


def test_an_id_in_use_is_4409_and_free_again_after_complete() -> None:
    bench = Bench()
    bench.subscribe()
    bench.say({"type": "complete", "id": "1"})
    bench.subscribe()
    assert bench.code is None
    bench.subscribe()
    assert bench.code == 4409


def test_complete_stops_the_results_at_once() -> None:
    bench = Bench()
    bench.subscribe()
    bench.hear()
    bench.publish(1, 3)
    bench.say({"type": "complete", "id": "1", "payload": {"reason": "enough"}})
    assert bench.hear() == []
    assert bench.rings.subscribers() == {"q": 0}


def test_an_unknown_query_or_token_ends_that_subscription_only() -> None:
    bench = Bench()
    bench.subscribe("1", query="nope")
    bench.subscribe("2", after="rubbish")
    bench.subscribe("3", query=None)
    heard = bench.hear()
    slugs = [one["payload"]["type"].rpartition(":")[2] for one in heard]
    assert [one["type"] for one in heard] == ["error"] * 3
    assert slugs == ["unknown-query", "token-invalid", "query-missing"]
    assert bench.code is None


def test_a_socket_of_one_query_needs_no_name_and_takes_no_other() -> None:
    bench = Bench(query="q")
    bench.rings.open("r", "b1", 1, {})
    bench.subscribe("1", query=None)
    bench.subscribe("2", query="r")
    heard = bench.hear()
    assert {one["id"]: one["type"] for one in heard} == {"1": "subscribed", "2": "error"}


def test_subscriptions_of_one_socket_are_bounded() -> None:
    bench = Bench(subscriptions_per_socket_max=2)
    for name in "123":
        bench.subscribe(name)
    refused = [one for one in bench.hear() if one["type"] == "error"]
    assert [(one["id"], one["payload"]["status"]) for one in refused] == [("3", 429)]


def test_a_busy_subscription_does_not_silence_another() -> None:
    bench = Bench()
    bench.rings.open("r", "b1", 1, {})
    bench.subscribe("1")
    bench.subscribe("2", query="r")
    bench.hear()
    bench.publish(1, 50)
    bench.publish(1, 1, query="r")
    frames = [json.loads(bench.session.take(1)[0])["id"] for _ in range(3)]
    assert "2" in frames


def test_the_end_of_a_query_is_told_after_its_last_result() -> None:
    bench = Bench()
    bench.subscribe(credit=1)
    bench.publish(1, 2)
    bench.rings.close("q", "deleted")
    assert [one["type"] for one in bench.hear()] == ["subscribed", "next"]
    bench.credit(1)
    assert [one["type"] for one in bench.hear()] == ["next", "complete"]
    bench.rings.open("q", "a2", 1, {})
    bench.subscribe()
    assert bench.code is None, "the id is free again"


def test_the_failure_of_a_query_is_told_with_its_problem() -> None:
    bench = Bench()
    bench.subscribe()
    bench.publish(1, 1)
    bench.rings.fail("q", EngineRefusal(QueryFailedError("it was too much", code="query.too_costly")))
    heard = bench.hear()
    assert [one["type"] for one in heard] == ["subscribed", "next", "error"]
    assert heard[-1]["payload"]["detail"] == "it was too much"


def test_a_restart_is_a_gap_with_the_new_incarnation() -> None:
    bench = Bench()
    bench.subscribe()
    bench.publish(1, 1)
    bench.rings.open("q", "b2", 1, {})
    bench.publish(1, 1)
    heard = bench.hear()
    assert [one["type"] for one in heard] == ["subscribed", "next", "gap", "next"]
    assert heard[2]["payload"] == {"fromSeq": 2, "toSeq": None, "reason": "restart", "incarnation": "b2"}


def test_a_token_that_has_expired_is_a_gap_of_known_size() -> None:
    bench = Bench(ring_bytes_max=2000)
    bench.publish(1, 100)
    first = bench.rings.ring("q").first_seq
    bench.subscribe(after="a1:4")
    heard = bench.hear()
    assert [one["type"] for one in heard[:3]] == ["subscribed", "gap", "next"]
    assert heard[1]["payload"] == {"fromSeq": 5, "toSeq": first - 1, "reason": "expired", "incarnation": "a1"}
    assert heard[2]["payload"]["seq"] == first


def test_progress_is_told_to_those_who_asked_when_they_have_all_results() -> None:
    bench = Bench()
    bench.subscribe("1", progress=True, credit=1)
    bench.subscribe("2")
    bench.hear()
    bench.rings.progress("q", 5_000)
    assert bench.hear() == [{"type": "progress", "id": "1", "payload": {"watermark": 5_000, "seq": 0}}]
    bench.publish(1, 2)
    bench.rings.progress("q", 6_000)
    assert "progress" not in [one["type"] for one in bench.hear()]
    bench.credit(1)
    assert bench.hear()[-1] == {"type": "progress", "id": "1", "payload": {"watermark": 6_000, "seq": 2}}
    bench.rings.progress("q", 6_000)
    assert bench.hear() == []
