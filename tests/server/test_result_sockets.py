"""Results over real WebSockets: the sub-protocol, close codes, and plain connections."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from live_results import ANSWER, PROTOCOL, TOKEN, Live, closing, envelope, hear, hear_until, live_server, say, until

# ---- the sub-protocol ----


async def test_every_message_of_the_table(live: Live) -> None:
    async with live.session() as socket_:
        assert socket_.subprotocol == PROTOCOL
        await say(socket_, "ping")
        assert await hear(socket_) == {"type": "pong"}
        await say(socket_, "subscribe", "1", query="q", credit=1, progress=True)
        assert (await hear(socket_))["payload"]["startSeq"] == 1
        live.publish(1, 2)
        assert (await hear(socket_))["payload"]["seq"] == 1
        await say(socket_, "ack", "1", seq=1)
        await say(socket_, "credit", "1", n=1)
        assert (await hear(socket_))["payload"]["seq"] == 2
        live.rings.progress("q", 9000)
        assert await hear(socket_) == {"type": "progress", "id": "1", "payload": {"watermark": 9000, "seq": 2}}
        live.rings.open("q", "b2", 1, {})
        await say(socket_, "credit", "1", n=1)
        assert (await hear(socket_))["type"] == "gap"
        live.rings.close("q", "deleted")
        assert await hear(socket_) == {"type": "complete", "id": "1", "payload": {"reason": "deleted"}}
        await say(socket_, "subscribe", "1", query="q", credit=1)
        assert (await hear(socket_))["payload"]["type"] == "urn:whorl:problem:unknown-query"


async def test_resume_at_every_sequence_number(live: Live) -> None:
    live.publish(1, 40)
    for after in range(41):
        async with live.session("/queries/q/ws") as socket_:
            await say(socket_, "subscribe", "1", after=f"a1:{after}", credit=1000)
            assert (await hear(socket_))["payload"]["startSeq"] == after + 1
            seqs = [(await hear(socket_))["payload"]["seq"] for _ in range(40 - after)]
            assert seqs == list(range(after + 1, 41))


async def test_resume_into_a_live_stream_has_no_gap_and_no_double(live: Live) -> None:
    live.publish(1, 500)
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="q", after="a1:100", credit=10_000)
        for seq in range(501, 1001):
            live.publish(seq, seq)
            if seq % 10 == 0:
                await asyncio.sleep(0)
        await hear(socket_)
        assert [(await hear(socket_))["payload"]["seq"] for _ in range(900)] == list(range(101, 1001))


async def test_a_query_by_text_ends_with_its_connection(live: Live) -> None:
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", rspql="SELECT …", options={"r2s": "ISTREAM"}, credit=5)
        assert [one["type"] for one in await hear_until(socket_, "next")] == ["subscribed", "next"]
        ((name, wanted),) = live.services.registered.items()
        assert (wanted.query, wanted.options()) == ("SELECT …", {"r2s": "ISTREAM"})
    await until(lambda: live.services.dropped == [name])


async def test_options_that_do_not_exist_are_refused(live: Live) -> None:
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", rspql="SELECT …", options={"colour": "red"}, credit=5)
        assert (await hear(socket_))["payload"]["status"] == 422
        assert live.services.registered == {}


async def test_publishing_over_the_socket_in_order(live: Live) -> None:
    async with live.session() as socket_:
        for number in range(50):
            await say(socket_, "publish", str(number), stream="http://ex/s", events=[{"t": 1}] * (number + 1))
        heard = [await hear(socket_) for _ in range(50)]
        assert [(one["id"], one["payload"]["accepted"]) for one in heard] == [(str(n), n + 1) for n in range(50)]
        await say(socket_, "publish", "x", stream="http://ex/none", events=[])
        assert (await hear(socket_))["payload"]["status"] == 404
        await say(socket_, "publish", "x", stream="not an iri", events=[])
        assert (await hear(socket_))["payload"]["status"] == 400


async def test_a_snapshot_then_the_results_after_it(live: Live) -> None:
    live.publish(1, 3)
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="q", snapshot=True, credit=5)
        await hear(socket_)
        payload = (await hear(socket_))["payload"]
        assert (payload["snapshot"], payload["seq"], payload["token"]) == (True, 3, "a1:3")
        assert payload["results"] == json.loads(ANSWER)
        live.publish(4, 4)
        assert (await hear(socket_))["payload"]["seq"] == 4


async def test_a_snapshot_of_a_graph_is_text(live: Live) -> None:
    live.rings.open("graph", "g1", 1, {})
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="graph", snapshot=True, credit=5)
        await hear(socket_)
        payload = (await hear(socket_))["payload"]
        assert (payload["type"], payload["results"]) == ("graph", "nquads")


async def test_the_heart_beats_over_the_socket(tmp_path: Path) -> None:
    async with live_server(tmp_path, heartbeat_s=0.05) as live, live.session() as socket_:
        assert await hear(socket_) == {"type": "ping"}
        await say(socket_, "pong")
        assert await hear(socket_) == {"type": "ping"}


async def test_the_routes_work_without_the_protocol_class_of_ours(tmp_path: Path) -> None:
    async with live_server(tmp_path, ws_class="websockets-sansio") as live, live.session() as socket_:
        live.publish(1, 100)
        await say(socket_, "subscribe", "1", query="q", after="a1:0", credit=100)
        await hear(socket_)
        assert [(await hear(socket_))["payload"]["seq"] for _ in range(100)] == list(range(1, 101))


@pytest.mark.parametrize("size", [0, 100, 126, 200, 65_400, 65_600, 300_000])
async def test_envelopes_of_every_length_arrive_whole(live: Live, size: int) -> None:
    async with live.connect("/queries/q/ws?from=earliest", plain=True) as socket_:
        live.publish(1, 2, pad=size)
        assert [json.loads(await socket_.recv()) for _ in range(2)] == [json.loads(envelope(n, size)) for n in (1, 2)]


# ---- close codes ----


async def test_1000_when_a_plain_query_ends(live: Live) -> None:
    async with live.connect("/queries/q/ws", plain=True) as socket_:
        await until(lambda: live.rings.subscribers()["q"] == 1)
        live.rings.close("q", "deleted")
        assert await closing(socket_) == (1000, "deleted")


async def test_1001_when_the_server_stops(tmp_path: Path) -> None:
    async with live_server(tmp_path) as live:
        async with live.session() as first, live.connect("/queries/q/ws", plain=True) as second:
            await until(lambda: live.rings.connected == 2)
            began = time.monotonic()
            live.server.should_exit = True
            assert await closing(first) == (1001, "the server is stopping")
            assert (await closing(second))[0] == 1001
        assert time.monotonic() - began < 2


async def test_1009_when_a_message_is_too_large(tmp_path: Path) -> None:
    async with live_server(tmp_path, message_bytes_max=1000) as live, live.session() as socket_:
        await socket_.send("x" * 1001)
        assert (await closing(socket_))[0] == 1009


async def test_1011_when_the_server_has_a_fault(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live.session() as socket_:
        monkeypatch.setattr(live.rings, "ring", lambda _: 1 / 0)
        await say(socket_, "subscribe", "1", query="q", credit=1)
        code, reason = await closing(socket_)
        assert code == 1011
        assert "division" not in reason


async def test_1012_when_the_server_is_not_ready(live: Live) -> None:
    live.services.state = "starting"
    async with live.connect() as socket_:
        assert (await closing(socket_))[0] == 1012


async def test_1013_when_credit_is_withheld_for_too_long(tmp_path: Path) -> None:
    async with live_server(tmp_path, ring_behind_s=0.2) as live, live.session() as socket_:
        live.publish(1, 5)
        await say(socket_, "subscribe", "1", query="q", after="a1:0", credit=2)
        assert await closing(socket_) == (1013, "slow reader, last seq 2")


@pytest.mark.parametrize("frame", ["{", '{"type":"subscribe"}', b"bytes"])
async def test_4400_when_a_frame_is_no_message(live: Live, frame: str | bytes) -> None:
    async with live.session() as socket_:
        await socket_.send(frame)
        assert (await closing(socket_))[0] == 4400


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/ws", {"Authorization": "Bearer wrong"}),
        ("/ws?ticket=wrong", {}),
        ("/queries/q/ws", {"Authorization": "Bearer wrong"}),
    ],
)
async def test_4401_when_nobody_knows_the_token(live: Live, path: str, headers: dict[str, str]) -> None:
    async with live.connect(path, headers=headers) as socket_:
        assert (await closing(socket_))[0] == 4401


async def test_4401_without_a_token_in_the_init_or_before_it(live: Live) -> None:
    firsts: list[tuple[str, dict[str, Any]]] = [
        ("connection_init", {}),
        ("connection_init", {"token": "no"}),
        ("subscribe", {"credit": 1}),
    ]
    for kind, payload in firsts:
        async with live.connect(headers={}) as socket_:
            await say(socket_, kind, "1" if kind == "subscribe" else None, **payload)
            assert (await closing(socket_))[0] == 4401
    async with live.connect("/queries/q/ws", plain=True, headers={}) as socket_:
        assert (await closing(socket_))[0] == 4401


async def test_a_token_in_the_init_and_a_ticket_are_as_good_as_a_header(live: Live) -> None:
    principal = live.tokens.authenticate(TOKEN)
    async with live.connect(headers={}) as socket_:
        await say(socket_, "connection_init", token=TOKEN)
        assert (await hear(socket_))["type"] == "connection_ack"
    async with live.connect(f"/ws?ticket={live.tokens.issue_ticket(principal)}", headers={}) as socket_:
        await say(socket_, "connection_init")
        assert (await hear(socket_))["type"] == "connection_ack"
    async with live.connect(
        f"/queries/q/ws?ticket={live.tokens.issue_ticket(principal)}", plain=True, headers={}
    ) as socket_:
        await until(lambda: live.rings.subscribers()["q"] == 1)
        live.publish(1, 1)
        assert json.loads(await socket_.recv())["seq"] == 1


async def test_4403_when_the_token_may_not_follow(live: Live) -> None:
    _, ingest = live.tokens.create("feeder", ["ingest"])
    async with live.connect("/queries/q/ws", headers={"Authorization": f"Bearer {ingest}"}) as socket_:
        await say(socket_, "connection_init")
        assert (await closing(socket_))[0] == 4403
    async with live.connect("/queries/q/ws", plain=True, headers={"Authorization": f"Bearer {ingest}"}) as socket_:
        assert (await closing(socket_))[0] == 4403


@pytest.mark.parametrize(
    ("path", "offered"), [("/ws", ["graphql-transport-ws"]), ("/queries/q/ws", ["other"]), ("/ws", None)]
)
async def test_4406_without_a_common_sub_protocol(live: Live, path: str, offered: Any) -> None:
    async with live.connect(path, subprotocols=offered) as socket_:
        assert (await closing(socket_))[0] == 4406


async def test_4408_when_no_init_comes(tmp_path: Path) -> None:
    async with live_server(tmp_path, init_timeout_s=0.05) as live, live.connect() as socket_:
        assert (await closing(socket_))[0] == 4408


async def test_4409_when_an_id_is_in_use(live: Live) -> None:
    async with live.session() as socket_:
        await say(socket_, "subscribe", "1", query="q", credit=1)
        await say(socket_, "subscribe", "1", query="q", credit=1)
        assert (await closing(socket_))[0] == 4409


async def test_4429_for_a_second_init_and_for_too_many_connections(tmp_path: Path) -> None:
    async with live_server(tmp_path, subscribers_max=1) as live, live.session() as socket_:
        async with live.connect() as refused:
            assert (await closing(refused))[0] == 4429
        await say(socket_, "connection_init")
        assert (await closing(socket_))[0] == 4429


async def test_a_client_that_goes_leaves_nothing_behind(live: Live) -> None:
    for _ in range(20):
        async with live.session() as socket_:
            await say(socket_, "subscribe", "1", query="q", credit=1)
            await hear(socket_)
    async with live.connect("/queries/q/ws", plain=True) as socket_:
        await until(lambda: live.rings.connected == 1)
        socket_.transport.abort()
    await until(lambda: live.rings.connected == 0)
    assert live.rings.subscribers() == {"q": 0}


# ---- plain connections ----


async def test_ten_lines_are_enough_to_follow_a_query(live: Live) -> None:
    async with live.connect("/queries/q/ws?from=earliest", plain=True) as socket_:
        assert socket_.subprotocol is None
        live.publish(1, 3)
        seen = []
        async for frame in socket_:
            seen.append(json.loads(frame)["seq"])
            if len(seen) == 3:
                break
        assert seen == [1, 2, 3]


async def test_a_plain_reader_resumes_by_token(live: Live) -> None:
    live.publish(1, 5)
    async with live.connect("/queries/q/ws?after=a1:3", plain=True) as socket_:
        assert [json.loads(await socket_.recv())["seq"] for _ in range(2)] == [4, 5]


@pytest.mark.parametrize("path", ["/queries/nope/ws", "/queries/q/ws?after=rubbish"])
async def test_a_plain_reader_is_told_why_it_cannot_read(live: Live, path: str) -> None:
    async with live.connect(path, plain=True) as socket_:
        assert json.loads(await socket_.recv())["type"] == "error"
        assert (await closing(socket_))[0] == 4400


async def test_a_plain_reader_with_an_unknown_parameter_is_refused(live: Live) -> None:
    async with live.connect("/queries/q/ws?form=earliest", plain=True) as socket_:
        assert await closing(socket_) == (4400, "unknown parameter 'form'; did you mean 'from'?")


@pytest.mark.parametrize("path", ["/ws?from=earliest", "/queries/q/ws?from=earliest"])
async def test_a_parameter_beside_the_sub_protocol_is_refused(live: Live, path: str) -> None:
    """Options are in messages there; in the address they would have no effect."""
    async with live.connect(path) as socket_:
        assert await closing(socket_) == (4400, "unknown parameter 'from'; known parameters: ticket")
