"""The session of `rsp.v1.json` without sockets: frames in, frames and close codes out."""

import json
from typing import Any

import pytest
from whorl.errors import QueryFailedError, QuerySyntaxError
from whorl.server import errors
from whorl.server.errors import DomainError, EngineRefusal
from whorl.server.security import Principal, Scope, require, unauthenticated
from whorl.server.services.rings import Rings
from whorl.server.services.session import (
    DropQuery,
    Effect,
    PlainSession,
    PublishEvents,
    RegisterQuery,
    Session,
    TakeSnapshot,
    close_of,
)
from whorl.server.services.subscriptions import Close, Wish
from whorl.server.settings import Settings

ALL: tuple[Scope, ...] = ("ingest", "subscribe", "register")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A session with its rings, spoken to in objects."""

    def __init__(
        self, *, query: str | None = None, scopes: tuple[Scope, ...] = ALL, init: bool = True, **settings: Any
    ) -> None:
        self.clock = Clock()
        self.settings = Settings(**settings)
        self.rings = Rings(self.settings, self.clock)
        self.rings.open("q", "a1", 1, {"variables": ["s", "o"]})
        self.scopes = scopes
        self.session = Session(self.rings, self.settings, self._authorize, name="s1", query=query, clock=self.clock)
        if init:
            self.say({"type": "connection_init"})
            assert [one["type"] for one in self.hear()] == ["connection_ack"]

    def _authorize(self, token: str | None) -> Principal:
        if token == "wrong":
            raise unauthenticated("the token is not known")
        return require(Principal("p", frozenset(self.scopes)), "subscribe", "ingest")

    def say(self, message: Any) -> list[Effect]:
        return self.session.receive(message if isinstance(message, str) else json.dumps(message))

    def subscribe(self, name: str = "1", **payload: Any) -> list[Effect]:
        return self.say({"type": "subscribe", "id": name, "payload": {"credit": 100, "query": "q", **payload}})

    def credit(self, n: int, name: str = "1") -> None:
        self.say({"type": "credit", "id": name, "payload": {"n": n}})

    def publish(self, first: int, last: int, query: str = "q") -> None:
        self.rings.publish(query, [(seq, 0, f'{{"seq":{seq}}}'.encode()) for seq in range(first, last + 1)])

    def hear(self) -> list[dict[str, Any]]:
        heard = []
        while frames := self.session.take(1):
            heard.extend(json.loads(frame) for frame in frames)
        return heard

    def seqs(self) -> list[int]:
        return [one["payload"]["seq"] for one in self.hear() if one["type"] == "next"]

    def check(self, sending_since: float | None = None) -> float:
        return self.session.check(self.clock.now, sending_since=sending_since)

    @property
    def code(self) -> int | None:
        return None if self.session.close is None else self.session.close.code


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
        bench.say({"type": "ping"})
    assert bench.session.is_clogged


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


def plain(bench: Bench, **wish: Any) -> PlainSession:
    session = PlainSession(bench.rings, bench.settings, "q", Wish(**wish), clock=bench.clock)
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
    session = PlainSession(bench.rings, bench.settings, "nope", Wish(), clock=bench.clock)
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
