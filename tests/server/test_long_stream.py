"""One NDJSON body that does not end for a long time, beside requests that want to be answered at once."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server_process import ServerProcess

STREAM = "http://ex.org/long"
LINES_PER_CHUNK = 100
QUERY = """PREFIX : <http://ex.org/> SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :long [RANGE 1s STEP 1s]
WHERE { WINDOW :w { ?s :p ?o } }"""


class Source:
    """Lines for this many seconds, as fast as the server accepts them, and their number."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.lines = 0

    def __iter__(self) -> Iterator[bytes]:
        began = time.monotonic()
        while time.monotonic() - began < self.seconds:
            yield b"".join(self._line() for _ in range(LINES_PER_CHUNK))
            time.sleep(0.002)

    def _line(self) -> bytes:
        self.lines += 1
        return b'{"t": %d, "data": "<http://ex.org/s%d> <http://ex.org/p> %d ."}\n' % (
            self.lines,
            self.lines % 100,
            self.lines,
        )


def resident_bytes(server: ServerProcess) -> int:
    assert server.process is not None
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    "seconds",
    [3, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(300)])],
)
def test_a_body_that_streams_is_taken_while_others_are_answered(
    start_server: Callable[..., ServerProcess], seconds: float
) -> None:
    server = start_server()
    with server.client() as client:
        assert client.put(f"/streams/{STREAM}").status_code == 201
        assert client.put("/queries/counted", content=QUERY, headers={"Content-Type": "text/plain"}).status_code == 201
    before = resident_bytes(server)
    source, waits, done = Source(seconds), [], threading.Event()

    def ask() -> None:
        with server.anonymous() as client:
            while not done.is_set():
                began = time.perf_counter()
                assert client.get("/healthz").status_code == 200
                waits.append(time.perf_counter() - began)
                done.wait(0.01)

    asker = threading.Thread(target=ask)
    asker.start()
    with server.client() as client:
        answer = client.post(
            f"/streams/{STREAM}", content=iter(source), headers={"Content-Type": "application/x-ndjson"}, timeout=300
        )
        done.set()
        asker.join()
        assert answer.status_code == 202, answer.text
        last = json.loads(answer.text.strip().splitlines()[-1])
        assert client.get(f"/streams/{STREAM}").json()["events"] == source.lines
    assert last["late"] == 0
    waits.sort()
    grown = resident_bytes(server) - before
    print(  # noqa: T201 - a figure, for those who run it with -s
        f"{source.lines} lines in {seconds} s; others waited p50 {waits[len(waits) // 2] * 1000:.1f} ms, "
        f"most {waits[-1] * 1000:.1f} ms; memory {grown / 2**20:+.0f} MiB"
    )
    # A stall of the event loop would show here; the margin is for machines that are busy.
    assert waits[-1] < 2
    assert grown < 200 * 2**20
