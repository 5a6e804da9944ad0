"""A long-running server keeps its size: queries come and go, streams are many, terms are always new.

Memory, handles, threads and the store are compared after a first part, which warms it up, and after all of it. Figures
are printed; what is asserted has room for an allocator that keeps pages.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from campaign_size import sized
from measure import MIB, Meter
from server_process import ServerProcess

STREAM = "http://ex.org/s"
LONG = [pytest.mark.long, pytest.mark.timeout(3600)]
StartServer = Callable[..., ServerProcess]


def text(number: int) -> str:
    return (
        f"PREFIX : <http://ex.org/> SELECT ?s (COUNT(?o) AS ?n{number}) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s] "
        f"WHERE {{ WINDOW :w {{ ?s :p{number} ?o }} }} GROUP BY ?s"
    )


def size(server: ServerProcess, meter: Meter) -> dict[str, int]:
    store = sum(path.stat().st_size for path in server.data_dir.rglob("*") if path.is_file())
    return {
        "memory": meter.memory("VmRSS"),
        "handles": meter.handles(),
        "threads": meter.threads(),
        "store": store,
    }


def push(client: httpx.Client, number: int, triples: str) -> None:
    headers = {"Content-Type": "text/turtle"}
    answer = client.post(f"/streams/{STREAM}", params={"t": number}, content=triples, headers=headers)
    assert answer.status_code == 202, answer.text


def judge(before: dict[str, int], after: dict[str, int], mib_max: int) -> None:
    print({name: (before[name], after[name]) for name in before})  # noqa: T201 - figures
    assert after["memory"] - before["memory"] < mib_max * MIB
    assert after["handles"] <= before["handles"] + 4
    assert after["threads"] <= before["threads"] + 4


@pytest.mark.parametrize("times", [60, pytest.param(sized(10_000), marks=LONG)])
def test_queries_that_come_and_go_leave_nothing(start_server: StartServer, times: int) -> None:
    server = start_server(registrations_per_minute=1_000_000)
    meter = Meter(server)
    with server.client() as client:
        client.put(f"/streams/{STREAM}").raise_for_status()
        before = size(server, meter)
        for number in range(2 * times):
            if number == times:
                before = size(server, meter)
            assert client.put(f"/queries/q{number % 7}", json={"query": text(number)}).status_code == 201
            push(client, number, f"<urn:a> <http://ex.org/p{number}> {number} .")
            assert client.delete(f"/queries/q{number % 7}").status_code == 204
        judge(before, size(server, meter), 32)
        assert client.get("/queries").json() == {"queries": []}


@pytest.mark.parametrize("streams", [60, pytest.param(sized(1000), marks=LONG)])
def test_streams_that_come_and_go_leave_nothing(start_server: StartServer, streams: int) -> None:
    server = start_server()
    meter = Meter(server)
    with server.client() as client:
        before = size(server, meter)
        for turn in range(3):
            if turn == 1:
                before = size(server, meter)
            for number in range(streams):
                assert client.put(f"/streams/http://ex.org/{turn}/{number}").status_code == 201
            for number in range(streams):
                assert client.delete(f"/streams/http://ex.org/{turn}/{number}").status_code == 204
        judge(before, size(server, meter), 32)


@pytest.mark.parametrize("bodies", [20, pytest.param(sized(5000), marks=LONG)])
def test_ever_new_terms_are_forgotten_with_their_windows(start_server: StartServer, bodies: int) -> None:
    server = start_server(snapshot_log_bytes=4 * MIB)
    meter = Meter(server)
    with server.client() as client:
        client.put(f"/streams/{STREAM}").raise_for_status()
        anything = "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <http://ex.org/s> [RANGE 2s STEP 1s] "
        client.put(
            "/queries/all", json={"query": anything + "WHERE { WINDOW <urn:w> { ?s ?p ?o } }"}
        ).raise_for_status()
        before = size(server, meter)
        for number in range(2 * bodies):
            if number == bodies:
                before = size(server, meter)
            new = range(number * 1000, number * 1000 + 1000)
            push(client, number * 1000, "".join(f"<urn:subject:{n}> <http://ex.org/p> 'value {n}' .\n" for n in new))
        after = size(server, meter)
        judge(before, after, 48)
        assert after["store"] < 64 * MIB
