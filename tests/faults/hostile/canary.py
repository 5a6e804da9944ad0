"""A producer and a query of another user on the same server: whatever others do, they lose nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

from server_process import ServerProcess

STREAM = "http://ex.org/canary"
_QUERY = f"""PREFIX : <http://ex.org/> SELECT (COUNT(?o) AS ?n) FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 1s STEP 1s]
WHERE {{ WINDOW :w {{ ?s :p ?o }} }}"""
_STEP_MS = 100
PUSHES_PER_WINDOW = 1000 // _STEP_MS
_PAUSE_S = 0.05


class Canary:
    """Pushes events at intervals, in a separate thread, and records how long each took."""

    def __init__(self, server: ServerProcess) -> None:
        self.waits_s: list[float] = []
        self.began_s: list[float] = []
        self._server = server
        self._error: BaseException | None = None
        self._done = threading.Event()
        with server.client() as client:
            client.put(f"/streams/{STREAM}").raise_for_status()
            client.put("/queries/canary", json={"query": _QUERY}).raise_for_status()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._server.client() as client:
                while not self._done.wait(_PAUSE_S):
                    number = len(self.waits_s)
                    began = time.perf_counter()
                    self.began_s.append(began)
                    body = f"<urn:c> <http://ex.org/p> {number} ."
                    answer = client.post(
                        f"/streams/{STREAM}",
                        params={"t": number * _STEP_MS},
                        content=body,
                        headers={"Content-Type": "text/turtle"},
                    )
                    self.waits_s.append(time.perf_counter() - began)
                    assert answer.status_code == 202, answer.text
                    assert answer.json()["accepted"] == 1, answer.text
        except BaseException as error:  # noqa: BLE001 - told to the test
            self._error = error

    def finish(self) -> dict[str, float]:
        """Stop, and check that every window had every event; how long pushes took, in milliseconds."""
        self._done.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        with self._server.client() as client:
            end = len(self.waits_s) * _STEP_MS + 1000
            client.post(f"/streams/{STREAM}/watermark", json={"t": end}).raise_for_status()
            counts = self._counts(client)
        full, rest = divmod(len(self.waits_s), PUSHES_PER_WINDOW)
        assert [count for count in counts if count] == [10] * full + ([rest] if rest else [])
        ordered = sorted(self.waits_s)
        return {
            "pushes": len(ordered),
            "p99 ms": 1000 * ordered[len(ordered) * 99 // 100],
            "most ms": 1000 * ordered[-1],
        }

    def _counts(self, client: Any) -> list[int]:
        found: list[int] = []
        after: dict[str, str] = {"from": "earliest"}
        while True:
            page = client.get("/queries/canary/results", params={**after, "wait": "0s"}).raise_for_status().json()
            if not page["results"]:
                return found
            rows = [envelope["results"]["results"]["bindings"] for envelope in page["results"]]
            found += [int(one[0]["n"]["value"]) if one else 0 for one in rows]
            after = {"after": page["next"]}
