"""Queries over a stream, and a session over which to register them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from server_process import ServerProcess
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

RSPQL = {"Content-Type": "application/rsp-ql"}
IRI = "http://ex.org/s"
STREAM = f"/streams/{IRI}"


def text_over(iri: str) -> str:
    return (
        f"SELECT ?s FROM NAMED WINDOW <http://ex.org/w> ON <{iri}> [RANGE 10s STEP 10s] "
        "WHERE { WINDOW <http://ex.org/w> { ?s ?p ?o } }"
    )


def relay(output: str, iri: str) -> str:
    """A query that writes a stream."""
    return (
        f"REGISTER RSTREAM <{output}> AS CONSTRUCT {{ ?s ?p ?o }} "
        f"FROM NAMED WINDOW <http://ex.org/w> ON <{iri}> [RANGE 10s STEP 10s] "
        "WHERE { WINDOW <http://ex.org/w> { ?s ?p ?o } }"
    )


def slug(problem: dict[str, Any]) -> str:
    return str(problem["type"]).rpartition(":")[2]


@contextlib.contextmanager
def session(server: ServerProcess, token: str | None = None) -> Iterator[ClientConnection]:
    url, headers = server.url.replace("http", "ws", 1), {"Authorization": f"Bearer {token or server.token}"}
    protocol = [Subprotocol("rsp.v1.json")]
    with connect(f"{url}/ws", additional_headers=headers, subprotocols=protocol, proxy=None) as socket:
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv(30))["type"] == "connection_ack"
        yield socket
