"""Requests, retries and batches without sockets: requests sent, requests repeated, and the handling of responses."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whorl_client import (
    Ack,
    AnswerTimeoutError,
    AuthenticationError,
    ConnectionFailedError,
    Event,
    OverloadedError,
    ProblemError,
    ProducerError,
    ProtocolError,
    QuerySyntaxError,
    RdfSyntaxError,
    StreamExistsError,
    UnknownStreamError,
    _exceptions,
)
from whorl_client import _flow as flows
from whorl_client import _protocol as protocol
from whorl_client._flow import Call, Failed, Flow, Request, Response, Server, Sleep
from whorl_client._payload import body_of
from whorl_client._publishing import Outbox
from whorl_client._subscription import SubscribeOptions

T = TypeVar("T")
Reply = Response | Failed
STREAM = "http://example.org/s?x=1#y"


def server(**options: Any) -> Server:
    return Server("http://server:1", "secret", chance=random.Random(1), **options)


def answer(document: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, headers, json.dumps(document).encode())


def problem(slug: str, status: int, retry_after: str | None = None, **members: Any) -> Response:
    document = {"type": f"urn:whorl:problem:{slug}", "status": status, "detail": "so it is", **members}
    return answer(document, status, **({} if retry_after is None else {"retry-after": retry_after}))


def run(flow: Flow[T], reply: Callable[[Request], Reply]) -> tuple[T, list[Request], list[float]]:
    requests: list[Request] = []
    slept: list[float] = []
    told: Reply | None = None
    while True:
        try:
            wanted = flow.send(told)
        except StopIteration as stop:
            return stop.value, requests, slept
        if isinstance(wanted, Sleep):
            slept.append(wanted.seconds)
            told = None
        else:
            requests.append(wanted)
            told = reply(wanted)


def perform(call: Call[T], *replies: Reply, patience_s: float = 60) -> tuple[T, list[Request], list[float]]:
    left = list(replies)
    return run(flows.perform(server(patience_s=patience_s, was_met=True), call), lambda _: left.pop(0))


# --- requests ---------------------------------------------------------------------------------------------------------


def test_a_stream_is_one_segment_of_the_path_and_the_token_a_header() -> None:
    _, [request], _ = perform(protocol.get_stream(STREAM), answer({"streamIRI": STREAM, "status": "open"}))
    assert request.url == "http://server:1/streams/http%3A%2F%2Fexample.org%2Fs%3Fx%3D1%23y"
    assert request.headers["authorization"] == "Bearer secret"


def test_options_that_are_not_given_are_left_to_the_server() -> None:
    call = protocol.register_query("SELECT", "q", {"r2s": "ISTREAM", "t0": 5})
    name, [request], _ = perform(call, answer({"id": "q"}, 201))
    assert name == "q"
    assert (request.method, request.url) == ("PUT", "http://server:1/queries/q")
    assert json.loads(request.content or b"") == {"query": "SELECT", "r2s": "ISTREAM", "t0": 5}


def test_options_have_the_names_of_json_and_times_are_milliseconds() -> None:
    at = datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    call = protocol.register_query("S", "q", {"t0": at, "base_iri": "http://a", "allow_cartesian": True, "tick": None})
    _, [request], _ = perform(call, answer({"id": "q"}, 201))
    document = {"query": "S", "t0": 5000, "baseIri": "http://a", "allowCartesian": True}
    assert json.loads(request.content or b"") == document


def test_an_option_that_does_not_exist_is_refused() -> None:
    unknown: Any = {"dialekt": "rspql"}
    with pytest.raises(TypeError, match="unknown option 'dialekt'; one of allow_cartesian"):
        protocol.register_query("S", "q", unknown)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s WHERE { ?s ?p ?o }",
        "select * { }",
        "  # rooms\n PREFIX : <http://example.org/>\nSELECT ?room …",
        "ASK { ?s ?p ?o }",
        "ASK{}",
        "REGISTER RSTREAM <out> AS SELECT ?n",
        "DELETE WHERE { ?s ?p ?o }",
    ],
)
def test_the_text_of_a_query_is_no_name_and_the_error_says_what_to_call(text: str) -> None:
    for use in (protocol.get_query, protocol.delete_query, SubscribeOptions):
        with pytest.raises(ValueError, match=r"call register\(text\) to start it or sparql\(text\)"):
            use(text)


@pytest.mark.parametrize(
    "name", ["hot", "select", "SELECT", "ask rooms", "select-all", "base:1", "selected {1}", "a b"]
)
def test_other_names_are_names(name: str) -> None:
    assert protocol.query_name(name) == name


def test_the_name_of_a_query_can_be_the_servers() -> None:
    name, [request], _ = perform(protocol.register_query("S", None, {}), answer({"id": "q7"}, 201))
    assert (name, request.method, request.url) == ("q7", "POST", "http://server:1/queries")


def test_an_event_carries_its_time_and_its_kind() -> None:
    call = protocol.send(STREAM, body_of("<a:s> <a:p> 1 ."), 1000, atomic=False)
    ack, [request], _ = perform(call, answer({"accepted": 1, "late": 0, "offset": 4, "watermark": None}, 202))
    assert request.params == {"t": "1000", "atomic": "false"}
    assert request.headers["content-type"] == "text/turtle"
    assert ack == Ack(1, offset=4)


def test_the_ready_url_of_a_server_brings_its_token() -> None:
    found = Server("http://localhost:8080/#token=abc")
    assert (found.url, found.token) == ("http://localhost:8080", "abc")
    assert "abc" not in repr(found)


def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_TOKEN", "from-there")
    assert Server("http://localhost").token == "from-there"
    assert Server("http://localhost", "given").token == "given"


@pytest.mark.parametrize("url", ["localhost:8080", "ws://localhost", "", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a server"):
        Server(url)


def test_sockets_go_where_requests_go() -> None:
    assert Server("https://host/base/").socket_address() == "wss://host/base/ws"


# --- problems ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slug", "status", "kind"),
    [
        ("query-syntax", 400, QuerySyntaxError),
        ("rdf-syntax", 400, RdfSyntaxError),
        ("unknown-stream", 404, UnknownStreamError),
        ("stream-exists-differently", 409, StreamExistsError),
        ("unauthenticated", 401, AuthenticationError),
        ("something-new", 404, _exceptions.NotFoundError),
        ("something-new", 418, ProblemError),
    ],
)
def test_a_problem_is_an_exception_by_its_slug_else_by_its_status(
    slug: str, status: int, kind: type[Exception]
) -> None:
    with pytest.raises(ProblemError) as caught:
        perform(protocol.get_stream(STREAM), problem(slug, status))
    assert type(caught.value) is kind


def test_a_syntax_error_says_where_and_what_to_do() -> None:
    members = {"line": 2, "column": 5, "hint": "close it", "snippet": "  { ?s"}
    with pytest.raises(_exceptions.QueryError) as caught:
        perform(
            protocol.validate_query("", {}),
            problem("query-syntax", 400, retry_after=None, **members),
        )
    error = caught.value
    assert (error.line, error.column, error.message, error.hint) == (2, 5, "so it is", "close it")
    assert str(error) == "so it is at line 2, column 5\n    { ?s\n      ^\nhint: close it"


def test_every_exception_is_in_the_tree_at_the_top() -> None:
    names = {name for name, value in vars(_exceptions).items() if isinstance(value, type) and name.endswith("Error")}
    assert [name for name in names if name not in (_exceptions.__doc__ or "")] == []


def test_an_answer_that_is_no_json_is_a_fault_of_the_protocol() -> None:
    with pytest.raises(ProtocolError):
        perform(protocol.get_stream(STREAM), Response(200, {}, b"<html>"))


def test_a_problem_of_a_proxy_is_told_in_its_words() -> None:
    with pytest.raises(ProblemError, match="Bad things"):
        perform(protocol.get_stream(STREAM), Response(500, {}, b"Bad things"))


# --- again ------------------------------------------------------------------------------------------------------------

SEND = protocol.send(STREAM, body_of("<a:s> <a:p> 1 ."), 1, atomic=True)
READ = protocol.get_stream(STREAM)
DONE = answer({"accepted": 1, "streamIRI": STREAM})


@pytest.mark.parametrize("call", [SEND, READ], ids=["send", "read"])
def test_a_busy_server_is_asked_again_when_it_says(call: Call[Any]) -> None:
    _, requests, slept = perform(call, problem("overloaded", 429, "3"), problem("not-ready", 503), DONE)
    assert len(requests) == 3
    assert slept[0] == 3.0
    assert 0 < slept[1] <= 0.2


def test_a_quota_is_not_waited_for() -> None:
    with pytest.raises(OverloadedError):
        perform(READ, problem("too-many-streams", 429))


def test_a_wait_beyond_patience_is_not_begun() -> None:
    with pytest.raises(OverloadedError) as caught:
        perform(READ, problem("overloaded", 429, "30"), patience_s=10)
    assert caught.value.retry_after_s == 30


def test_a_lost_answer_is_asked_for_again_only_where_twice_is_once() -> None:
    _, requests, _ = perform(READ, Failed("reset", sent=True), DONE)
    assert len(requests) == 2
    with pytest.raises(ConnectionFailedError):
        perform(SEND, Failed("reset", sent=True), DONE)


def test_what_was_never_sent_is_sent_again_whatever_it_is() -> None:
    ack, requests, _ = perform(SEND, Failed("refused", sent=False), DONE)
    assert (ack.accepted, len(requests)) == (1, 2)


def test_a_server_that_never_answered_is_not_waited_for_long() -> None:
    asked: list[Request] = []

    def refuse(request: Request) -> Failed:
        asked.append(request)
        return Failed("connect", sent=False, timed_out=True)

    with pytest.raises(AnswerTimeoutError, match="http://server:1 did not accept a connection"):
        run(flows.perform(server(), READ), refuse)
    # 0.1 s, 0.2 s, 0.4 s, 0.8 s at most: four delays, or a few more with luck.
    assert 5 <= len(asked) <= 7


# --- producers --------------------------------------------------------------------------------------------------------


class Log:
    """A stream of a server that knows its producers' numbers; `luck` loses requests and answers."""

    def __init__(self, luck: list[str]) -> None:
        self.luck = luck
        self.events: list[int] = []
        self.next_seq = 0

    def __call__(self, request: Request) -> Reply:
        fate = self.luck.pop(0) if self.luck else "well"
        if fate == "request lost":
            return Failed("reset", sent=True)
        if fate == "busy":
            return problem("overloaded", 429, "1")
        reply = self._push(request)
        return Failed("reset", sent=True) if fate == "answer lost" else reply

    def _push(self, request: Request) -> Reply:
        name, epoch, seq = request.headers["rsp-producer"].split(";")
        assert (name, epoch) == ("p", "7")
        events = [json.loads(line)["t"] for line in (request.content or b"").splitlines()]
        if int(seq) < self.next_seq:
            return answer({"accepted": 0, "duplicates": len(events)})
        assert int(seq) == self.next_seq
        self.next_seq += 1
        self.events += events
        return answer({"accepted": len(events)}, 202)


def outbox(**options: Any) -> Outbox:
    return Outbox(server(was_met=True, patience_s=1e9), STREAM, "p", 7, **options)


@settings(max_examples=150, deadline=None)
@given(
    luck=st.lists(st.sampled_from(["well", "request lost", "answer lost", "busy"]), max_size=40),
    n_events=st.integers(0, 30),
    events_max=st.integers(1, 7),
    bytes_max=st.sampled_from([1, 100, 10_000]),
)
def test_each_event_is_logged_once_and_in_order_whatever_is_lost(
    luck: list[str], n_events: int, events_max: int, bytes_max: int
) -> None:
    box, log = outbox(events_max=events_max, bytes_max=bytes_max), Log(luck)
    for number in range(n_events):
        if box.add(f"<a:s> <a:p> {number} .", number):
            run(box.flush(), log)
    run(box.flush(), log)
    assert log.events == list(range(n_events))
    assert (box.waiting, box.next_seq) == (0, log.next_seq)
    assert box.total.accepted + box.total.duplicates == n_events


def test_a_batch_is_the_same_bytes_under_the_same_number_when_it_is_sent_again() -> None:
    box = outbox()
    box.add("<a:s> <a:p> 1 .", 1)
    _, requests, slept = run(box.flush(), Log(["answer lost", "busy"]))
    assert len({(one.content, one.headers["rsp-producer"]) for one in requests}) == 1
    assert len(requests) == 3
    assert slept[1] == 1.0


def test_a_batch_that_could_not_be_sent_stays_for_the_next_flush() -> None:
    box = Outbox(server(was_met=True, patience_s=0), STREAM, "p", 7)
    box.add("<a:s> <a:p> 1 .", 1)
    with pytest.raises(ConnectionFailedError):
        run(box.flush(), lambda _: Failed("reset", sent=True))
    log = Log([])
    run(box.flush(), log)
    assert log.events == [1]


def test_a_refused_batch_is_dropped_and_its_number_is_used_again() -> None:
    box = outbox()
    box.add("no turtle", 1)
    with pytest.raises(RdfSyntaxError):
        run(box.flush(), lambda _: problem("rdf-syntax", 400, index=0))
    assert (box.waiting, box.next_seq) == (0, 0)


@pytest.mark.parametrize(("slug", "status"), [("unknown-stream", 404), ("forbidden", 403), ("producer-fenced", 409)])
def test_a_batch_that_is_not_itself_at_fault_is_kept(slug: str, status: int) -> None:
    box = outbox()
    box.add("<a:s> <a:p> 1 .", 1)
    with pytest.raises(ProblemError):
        run(box.flush(), lambda _: problem(slug, status))
    assert box.waiting == 1


def test_a_producer_that_lost_its_place_is_told() -> None:
    box = outbox()
    box.add("<a:s> <a:p> 1 .", 1)
    with pytest.raises(ProducerError):
        run(box.flush(), lambda _: problem("producer-fenced", 409, epoch=8))


def test_events_and_watermarks_go_in_order() -> None:
    box = outbox()
    box.add([Event("<a:s> <a:p> 1 .", 1), Event({"@id": "a:s"}, 2)], None)
    box.add_watermark(3)
    _, [request], _ = run(box.flush(), lambda _: DONE)
    lines = [json.loads(line) for line in (request.content or b"").splitlines()]
    assert lines == [{"t": 1, "data": "<a:s> <a:p> 1 ."}, {"t": 2, "event": {"@id": "a:s"}}, {"watermark": 3}]


@pytest.mark.parametrize("name", ["", "a;b", "a b", "ü", "x" * 129])
def test_a_name_that_does_not_fit_into_the_header_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a producer"):
        Outbox(server(), STREAM, name, 7)
