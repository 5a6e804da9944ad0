"""Memory of a server per live triple: one window that contains all of them, filled over HTTP.

    python benchmarks/memory.py [TRIPLES]

Prints the resident set before and after, for a filter (one pattern) and for a join of three patterns on one subject.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
from server_process import ServerProcess

if TYPE_CHECKING:
    import httpx

EX = "http://example.org/"
_BATCH = 10_000
_TEXT = """PREFIX : <http://example.org/> SELECT (COUNT(*) AS ?n)
FROM NAMED WINDOW :w ON :s [RANGE 60s STEP 1s] WHERE { WINDOW :w { PATTERNS } }"""
QUERIES = {
    "one pattern": "?s :p0 ?a",
    "a join of three patterns": "?s :p0 ?a . ?s :p1 ?b . ?s :p2 ?c",
}


def main() -> None:
    """Measure each query in a separate server."""
    n_triples = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for name, pattern in QUERIES.items():
        with tempfile.TemporaryDirectory() as directory:
            before, after = measured(Path(directory), pattern, n_triples)
        each = (after - before) / n_triples
        held = f"{before / 1e6:.0f} MB empty, {after / 1e6:.0f} MB with {n_triples} live triples"
        print(f"{name}: {held}: {each:.0f} B each")


def measured(directory: Path, pattern: str, n_triples: int) -> tuple[float, float]:
    """Resident bytes of a server before and after ingesting the triples."""
    server = ServerProcess(directory).start()
    try:
        with server.client() as client:
            return fill(client, pattern, n_triples)
    finally:
        server.stop()


def fill(client: httpx.Client, pattern: str, n_triples: int) -> tuple[float, float]:
    """Register, push, and read the metrics of the process."""
    text = _TEXT.replace("PATTERNS", pattern)
    client.put(f"/streams/{EX}s").raise_for_status()
    client.put("/queries/q", content=text, headers={"Content-Type": "application/rsp-ql"}).raise_for_status()
    before = resident_bytes(client)
    n_patterns = pattern.count("?s")
    # The first reported window ends a minute after the first event; the other events arrive in the following minute.
    send(client, 0, triple(0, n_patterns))
    for begin in range(0, n_triples, _BATCH):
        body = "\n".join(triple(position, n_patterns) for position in range(begin, min(begin + _BATCH, n_triples)))
        send(client, 61_000 + 58_000 * begin // n_triples, body)
    query = client.get("/queries/q").json()
    if query["status"] != "running" or number(client, "whorl_engine_state_size") < 0.9 * n_triples:
        raise SystemExit(f"the query does not hold the triples: {query}")
    return before, resident_bytes(client)


def send(client: httpx.Client, t: int, body: str) -> None:
    """One event."""
    headers = {"Content-Type": "text/turtle"}
    client.post(f"/streams/{EX}s", params={"t": str(t)}, content=body, headers=headers).raise_for_status()


def triple(number: int, n_patterns: int) -> str:
    """Distinct subjects, with a value for each pattern."""
    subject, predicate = divmod(number, n_patterns)
    return f"<{EX}sensor/{subject}> <{EX}p{predicate}> {number} ."


def resident_bytes(client: httpx.Client) -> float:
    """The resident set of the server, from its metrics."""
    return number(client, "process_resident_memory_bytes")


def number(client: httpx.Client, name: str) -> float:
    """One of the server's metrics."""
    found = re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the server does not say {name}")
    return float(found.group(1))


if __name__ == "__main__":
    main()
