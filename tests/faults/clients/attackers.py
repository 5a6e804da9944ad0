"""Hostile clients, in a separate process: their actions, and how often they were refused.

    python attackers.py HOST PORT TOKEN KIND SECONDS

TOKEN is valid and has the scope `subscribe`, for clients that abuse their permissions. The last line of the output is
JSON: how often each thing happened.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable

_TEXT, _FIN, _MASKED = 0x1, 0x80, 0x80
_CROWD = 60
_PATIENCE_S = 5


class Attacker:
    """Knows the address of the server; opens connections and counts their outcomes."""

    def __init__(self, address: tuple[str, int], token: str, ends_at: float) -> None:
        self.address, self.token, self.ends_at = address, token, ends_at
        self.counts: Counter[str] = Counter()
        self.chance = random.Random(14)

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.ends_at

    def opened(self) -> socket.socket:
        self.counts["connections"] += 1
        return socket.create_connection(self.address, timeout=_PATIENCE_S)

    def request(self, head: str, body: bytes = b"") -> None:
        """One request on a separate connection; counts its status."""
        with contextlib.suppress(OSError), self.opened() as connection:
            size = f"Content-Length: {len(body)}\r\n" if body else ""
            connection.sendall(f"{head}\r\nHost: 127.0.0.1\r\nConnection: close\r\n{size}\r\n".encode() + body)
            self.counts[f"status {connection.recv(4096)[9:12].decode('ascii', 'replace')}"] += 1

    def web_socket(self) -> socket.socket:
        connection = self.opened()
        key = base64.b64encode(os.urandom(16)).decode()
        head = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        rest = f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: rsp.v1.json\r\n\r\n"
        connection.sendall((head + rest).encode())
        connection.recv(4096)
        return connection

    def session(self) -> socket.socket:
        connection = self.web_socket()
        connection.sendall(message({"type": "connection_init", "payload": {"token": self.token}}))
        connection.recv(4096)
        return connection

    def await_end(self, connection: socket.socket) -> None:
        """Count whether the server ends the connection within the patience."""
        try:
            while connection.recv(65536):
                pass
            self.counts["ended by the server"] += 1
        except TimeoutError:
            self.counts["still open"] += 1
        except OSError:
            self.counts["ended by the server"] += 1
        finally:
            connection.close()


def frame(code: int, payload: bytes) -> bytes:
    size = bytes([_MASKED | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack("!H", len(payload))
    return bytes([code]) + size + bytes(4) + payload


def message(value: object) -> bytes:
    return frame(_TEXT | _FIN, json.dumps(value).encode())


def slow(attacker: Attacker) -> None:
    """Heads and bodies sent a byte at a time, and responses left unread."""
    head = "POST /streams/http://ex.org/canary?t=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += f"Authorization: Bearer {attacker.token}\r\nContent-Type: text/turtle\r\nContent-Length: 100000\r\n\r\n"
    crowd = [attacker.opened() for _ in range(_CROWD)]
    for at in range(len(head) + 1000):
        for number, connection in enumerate(crowd):
            start = at if number % 2 else 0
            with contextlib.suppress(OSError):
                connection.sendall(head[start : start + 1].encode() or b" ")
                attacker.counts["bytes"] += 1
        if not attacker.goes_on:
            break
        time.sleep(0.05)
    for connection in crowd:
        connection.close()


def idle(attacker: Attacker) -> None:
    """Silent connections and sockets, reopened when they end."""
    crowd: list[socket.socket] = []
    while attacker.goes_on:
        with contextlib.suppress(OSError):
            crowd.append(attacker.opened() if len(crowd) % 2 else attacker.web_socket())
        if len(crowd) >= 10 * _CROWD:
            crowd.pop(0).close()
    for connection in crowd:
        connection.close()


def clinging(attacker: Attacker) -> None:
    """Trailers without end, bodies that go on after their refusal, and empty lines between requests."""
    chunked = b"POST /queries HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    ways = [(chunked + b"0\r\n", b"X-Y: " + b"z" * 4000 + b"\r\n"), (chunked, b"4000\r\n" + b"z" * 0x4000 + b"\r\n")]
    ways.append((request, b"\r\n"))
    crowd: list[tuple[socket.socket, bytes]] = []
    while attacker.goes_on:
        if len(crowd) < _CROWD:
            first, further = ways[attacker.counts["connections"] % len(ways)]
            connection = attacker.opened()
            connection.sendall(first)
            crowd.append((connection, further))
        for one in list(crowd):
            try:
                one[0].sendall(one[1])
                attacker.counts["bytes"] += len(one[1])
            except OSError:
                attacker.counts["ended by the server"] += 1
                one[0].close()
                crowd.remove(one)
        time.sleep(0.01)
    for connection, _ in crowd:
        connection.close()


def flooding(attacker: Attacker) -> None:
    """Requests without a token at full speed, and endless pings."""
    while attacker.goes_on:
        attacker.request("GET /queries HTTP/1.1")
        attacker.request("POST /streams/http://ex.org/canary?t=1 HTTP/1.1", b"x" * 10_000)
        with contextlib.suppress(OSError):
            connection = attacker.web_socket()
            with contextlib.suppress(OSError):
                connection.sendall(frame(0x89, b"") * 20_000)
            attacker.await_end(connection)


def malformed(attacker: Attacker) -> None:
    """Malformed frames and requests."""
    good = message({"type": "connection_init", "payload": {"token": "x"}})
    frames: list[Callable[[], bytes]] = [
        lambda: frame(0x83, b"reserved"),
        lambda: frame(0xF1, b"reserved bits"),
        lambda: bytes([0x81, 5]) + b"hello",
        lambda: frame(0x80, b"a continuation of nothing"),
        lambda: bytes([0x81, 0xFF]) + struct.pack("!Q", 1 << 62) + bytes(4),
        lambda: frame(0x89, b"x" * 126),
        lambda: frame(0x88, b"\x00"),
        lambda: frame(0x81, b"\xff\xfe"),
        lambda: frame(0x81, b"[" * 5000),
        lambda: message({"type": "subscribe"}),
        lambda: attacker.chance.randbytes(200),
        lambda: good[: attacker.chance.randrange(2, len(good))],
    ]
    requests = ["GET", "GET / HTTP/9.9", "\x00\x01\x02", "GET /%zz HTTP/1.1", "POST / HTTP/1.1\r\nContent-Length: -1"]
    while attacker.goes_on:
        for make in frames:
            with contextlib.suppress(OSError):
                connection = attacker.web_socket()
                connection.settimeout(0.5)
                with contextlib.suppress(OSError):
                    connection.sendall(make())
                    connection.shutdown(socket.SHUT_WR)
                attacker.await_end(connection)
        for text in requests:
            attacker.request(text)


def credit(attacker: Attacker) -> None:
    """Subscribers with a token that grant no credit, unlimited or negative credit, and never read."""
    wanted = [0, 1, 2**31, 2**53, -1, "x", None]
    readers: list[socket.socket] = []
    while attacker.goes_on:
        with contextlib.suppress(OSError):
            connection = attacker.session()
            for number, value in enumerate(wanted):
                payload = {"query": "canary", "credit": value}
                connection.sendall(message({"type": "subscribe", "id": f"s{number}", "payload": payload}))
                connection.sendall(message({"type": "credit", "id": f"s{number}", "payload": {"n": value}}) * 50)
                attacker.counts["subscriptions"] += 1
            readers.append(connection)
        if len(readers) >= _CROWD:
            attacker.await_end(readers.pop(0))
    for connection in readers:
        connection.close()


def forged(attacker: Attacker) -> None:
    """Forged tokens and tickets."""
    while attacker.goes_on:
        token = base64.urlsafe_b64encode(os.urandom(32)).decode()
        attacker.request(f"GET /queries HTTP/1.1\r\nAuthorization: Bearer {token}")
        attacker.request(f"GET /queries HTTP/1.1\r\nAuthorization: Bearer {attacker.token[:-1]}x")
        attacker.request(f"GET /queries?token={attacker.token} HTTP/1.1")
        with contextlib.suppress(OSError):
            connection = attacker.web_socket()
            connection.sendall(message({"type": "connection_init", "payload": {"token": token}}))
            attacker.await_end(connection)


KINDS = {
    "slow": slow,
    "idle": idle,
    "clinging": clinging,
    "flooding": flooding,
    "malformed": malformed,
    "credit": credit,
    "forged": forged,
}


if __name__ == "__main__":
    host, port, token, kind, seconds = sys.argv[1:]
    one = Attacker((host, int(port)), token, time.monotonic() + float(seconds))
    KINDS[kind](one)
    print(json.dumps(one.counts))  # noqa: T201 - a program
