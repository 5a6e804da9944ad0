"""Clients that come in crowds, talk much before they say who they are, or send frames that mean nothing."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import socket
import struct
from collections.abc import Callable

import httpx
import pytest
from server_process import ServerProcess
from websockets.sync.client import connect
from websockets.typing import Subprotocol
from whorl.server.connections import SPARE_CONNECTIONS
from whorl.server.services.session import PINGS_BURST
from whorl.server.sockets import EARLY_BYTES_MAX, FRAGMENTS_MAX

_TEXT, _CONTINUATION, _PING_CODE, _PONG_CODE, _FIN = 0x1, 0x0, 0x9, 0xA, 0x80


def frame(code: int, payload: bytes = b"", fin: int = _FIN) -> bytes:
    """A frame of a client, under a mask of zeros."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack("!H", len(payload))
    return bytes([code | fin]) + size + bytes(4) + payload


_PING = frame(_PING_CODE)


def raw_connection(server: ServerProcess) -> socket.socket:
    address = httpx.URL(server.url)
    assert address.port is not None
    return socket.create_connection((address.host, address.port), timeout=20)


def raw_socket(server: ServerProcess) -> socket.socket:
    """A connection after its handshake, for frames that no library would send."""
    opened = raw_connection(server)
    key = base64.b64encode(os.urandom(16)).decode()
    head = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    opened.sendall(f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n".encode())
    opened.sendall(b"Sec-WebSocket-Protocol: rsp.v1.json\r\n\r\n")
    received = b""
    while b"\r\n\r\n" not in received:
        received += opened.recv(4096)
    assert received.startswith(b"HTTP/1.1 101"), received
    return opened


def known_socket(server: ServerProcess) -> socket.socket:
    """The same, by a caller with a token."""
    opened = raw_socket(server)
    opened.sendall(frame(_TEXT, json.dumps({"type": "connection_init", "payload": {"token": server.token}}).encode()))
    assert b"connection_ack" in opened.recv(4096)
    return opened


def last_close(opened: socket.socket) -> int | None:
    """The code of the frame that ends what the server sends."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := opened.recv(65536):
            received += piece
    at = received.rfind(b"\x88")
    return None if at < 0 else struct.unpack("!H", received[at + 2 : at + 4])[0]


def test_too_much_before_the_first_message_is_told(server: ServerProcess) -> None:
    with raw_socket(server) as opened:
        opened.sendall(_PING * (EARLY_BYTES_MAX // len(_PING)))
        opened.sendall(_PING)
        assert last_close(opened) == 4429


def test_a_text_that_is_not_utf_8_is_1007_and_leaves_no_stack_trace(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    for opened in (raw_socket(server), known_socket(server)):
        with opened:
            opened.sendall(frame(_TEXT, b"\xff\xfe"))
            assert last_close(opened) == 1007
    assert "Traceback" not in server.log


@pytest.mark.parametrize("code", [_PING_CODE, _PONG_CODE])
@pytest.mark.parametrize("opening", [raw_socket, known_socket])
def test_pings_without_end_are_refused_whoever_sends_them(
    server: ServerProcess, opening: Callable[[ServerProcess], socket.socket], code: int
) -> None:
    with opening(server) as opened:
        # Some are on their way back to the allowance while the others come.
        opened.sendall(frame(code) * (2 * PINGS_BURST))
        assert last_close(opened) == 4429


def test_a_message_has_only_so_many_fragments(server: ServerProcess) -> None:
    with known_socket(server) as opened:
        opened.sendall(frame(_TEXT, b"{", fin=0) + frame(_CONTINUATION, fin=0) * FRAGMENTS_MAX)
        assert last_close(opened) == 4429


def test_a_piece_of_many_small_messages_is_read_to_its_end(server: ServerProcess) -> None:
    with known_socket(server) as opened:
        unknown = b'{"type":"credit","id":"none","payload":{"n":1}}'
        opened.sendall(frame(_TEXT, unknown) * 5000)
        opened.sendall(frame(_TEXT, b'{"type":"ping","payload":"the last"}'))
        received = b""
        while b"the last" not in received:
            received += opened.recv(4096)
        assert b"pong" in received


def test_who_is_known_may_send_more(server: ServerProcess) -> None:
    url = server.url.replace("http", "ws", 1) + "/ws"
    with connect(url, subprotocols=[Subprotocol("rsp.v1.json")]) as opened:
        opened.send(f'{{"type":"connection_init","payload":{{"token":"{server.token}"}}}}')
        assert "connection_ack" in str(opened.recv(timeout=20))
        for _ in range(EARLY_BYTES_MAX // 1000):
            opened.send('{"type":"ping","payload":{"filler":"' + "x" * 1200 + '"}}')
        assert '"pong"' in str(opened.recv(timeout=20))


def test_a_crowd_of_idle_connections_keeps_no_request_out(start_server: Callable[..., ServerProcess]) -> None:
    """Without a token, anybody could keep all producers out; half a head is idle, too."""
    server = start_server(connections_max=20)
    with contextlib.ExitStack() as held:
        for number in range(30):
            opened = held.enter_context(raw_connection(server))
            opened.sendall(b"GET / HT" if number % 2 else b"")
        with server.client() as client:
            for path in ("/healthz", "/streams", "/readyz", "/streams"):
                assert client.get(path).status_code == 200


def test_a_crowd_of_unfinished_requests_does_not_hide_that_the_server_is_well(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server(connections_max=20)
    head = f"POST /queries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
    with contextlib.ExitStack() as held:
        for _ in range(25):
            held.enter_context(raw_connection(server)).sendall(f"{head}Content-Length: 10\r\n\r\n".encode())
        with server.client() as client:
            while client.get("/streams").status_code != 503:
                # The others are on their way.
                pass
            for path in ("/healthz", "/readyz", "/v1/healthz?full=1"):
                assert client.get(path).status_code == 200
            assert client.get("/streams").status_code == 503
    with server.client() as client:
        while client.get("/streams").status_code != 200:
            # Those that were cut off are noticed by and by.
            pass


def test_a_crowd_takes_no_handle_that_health_needs(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(connections_max=20)
    assert server.process is not None
    handles = len(os.listdir(f"/proc/{server.process.pid}/fd"))  # noqa: PTH208 - only their number matters
    room = handles + 20 + SPARE_CONNECTIONS + 16
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (room, room))
    with contextlib.ExitStack() as held:
        for _ in range(2 * room):
            held.enter_context(raw_connection(server))
        with server.anonymous() as client:
            assert client.get("/healthz").status_code == 200
    assert "Traceback" not in server.log
