"""A scripted server on real sockets: HTTP responses from a list, WebSockets played by a function, and no engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

Script = Callable[["Player"], None]
# Status, headers, document; None hangs up without an answer.
HttpAnswer = tuple[int, dict[str, str], Any] | None


class Player:
    """One connection as the script of a test sees it."""

    def __init__(self, socket: ServerConnection, number: int) -> None:
        self.socket = socket
        self.number = number
        self.id: str | None = None

    def say(self, kind: str, payload: dict[str, Any] | None = None) -> None:
        message = {"type": kind, "id": self.id, "payload": payload}
        self.socket.send(json.dumps({name: value for name, value in message.items() if value is not None}))

    def hear(self, kind: str) -> dict[str, Any]:
        """The payload of the next message of a kind; only credit may come before it."""
        while True:
            heard = json.loads(self.socket.recv(10))
            if heard["type"] == kind:
                self.id = heard.get("id", self.id)
                payload: dict[str, Any] = heard.get("payload") or {}
                return payload
            assert heard["type"] == "credit", heard

    def greet(self, start_seq: int = 1, incarnation: str = "a1") -> dict[str, Any]:
        """Receive init and subscribe; returns the request."""
        self.hear("connection_init")
        self.say("connection_ack", {"session": "s", "heartbeat": 20_000})
        asked = self.hear("subscribe")
        self.say("subscribed", {"incarnation": incarnation, "vars": ["n"], "startSeq": start_seq})
        return asked

    def hang_up(self) -> None:
        """Drop the connection without a closing handshake, like a cut cable."""
        self.socket.socket.shutdown(2)


class ScriptedSockets:
    """What happened on the WebSockets of a scripted server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections = 0
        self.asked: list[dict[str, Any]] = []
        self.closed = threading.Semaphore(0)
        self.faults: list[BaseException] = []


@contextmanager
def scripted_sockets(script: Callable[[Player, ScriptedSockets], None]) -> Iterator[ScriptedSockets]:
    """A WebSocket server that plays a script on every connection."""

    def play(socket: ServerConnection) -> None:
        seen.connections += 1
        try:
            script(Player(socket, seen.connections), seen)
        except ConnectionClosed:
            pass
        except BaseException as error:  # noqa: BLE001 - told to the test, whose thread this is not
            seen.faults.append(error)
        finally:
            seen.closed.release()

    with serve(play, "127.0.0.1", 0, subprotocols=["rsp.v1.json"], close_timeout=1) as server:  # type: ignore[list-item]  # a NewType of str
        seen = ScriptedSockets(f"http://127.0.0.1:{server.socket.getsockname()[1]}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()
    assert seen.faults == []


class ScriptedHttp:
    """The requests to a scripted HTTP server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []


@contextmanager
def scripted_http(*answers: HttpAnswer) -> Iterator[ScriptedHttp]:
    """An HTTP server that sends one response after the other."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.requests.append((self.command, self.path, headers, body))
            answer = left.pop(0)
            self.close_connection = answer is None
            if answer is None:
                return
            status, headers, document = answer
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            for name, value in {
                "content-type": "application/json",
                **headers,
                "content-length": str(len(content)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen = ScriptedHttp(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
