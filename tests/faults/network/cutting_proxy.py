"""A TCP proxy between clients and a server, which cuts connections where it hurts.

That is inside a WebSocket frame or an HTTP message; or it blocks everything for a while. It knows where the
frames of a WebSocket begin: the receiver of a cut one has a head without its content, or half of a head. Connections
are reset, not closed.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time

_CHUNK_BYTES = 65536
_HEAD_END = b"\r\n\r\n"
_RESET = struct.pack("ii", 1, 0)


class Frames:
    """Where the frames of one direction of a WebSocket begin, as its bytes pass."""

    def __init__(self) -> None:
        self._is_open = False
        self._head = b""
        self._left = 0

    def inside(self, data: bytes) -> int | None:
        """A length of the data that ends inside of a frame, if there is one; all of the data is taken note of."""
        found, at = None, 0
        if not self._is_open:
            self._head += data
            if _HEAD_END not in self._head:
                return None
            at = len(data) - (len(self._head) - self._head.index(_HEAD_END) - len(_HEAD_END))
            self._is_open, self._head = True, b""
        while at < len(data):
            if self._left == 0:
                start = at - len(self._head)
                self._head += data[at : start + 10]
                size = frame_size(self._head)
                if size is None:
                    return found
                at, self._left, self._head = start, size, b""
            step = min(self._left, len(data) - at)
            if step > 1:
                found = max(at, 0) + step // 2 if found is None else found
            at += step
            self._left -= step
        return found


def frame_size(head: bytes) -> int | None:
    """The size of a frame with its head; None if more of the head is needed."""
    if len(head) < 2:
        return None
    mask, length = 4 * (head[1] >> 7), head[1] & 0x7F
    if length < 126:
        return 2 + mask + length
    wide = 2 if length == 126 else 8
    return 2 + wide + mask + int.from_bytes(head[2 : 2 + wide]) if len(head) >= 2 + wide else None


class CuttingProxy:
    """Listens on a separate port, and forwards everything until it is made to cut."""

    def __init__(self, port: int, seed: int) -> None:
        self._to = ("127.0.0.1", port)
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._wanted = 0
        self._passes = threading.Event()
        self._passes.set()
        self._held: set[socket.socket] = set()
        # Connections cut inside of a frame, and inside of something else.
        self.in_frames = 0
        self.elsewhere = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut_one(self, within_s: float) -> None:
        """Cut the next connection that is in the middle of something, whichever direction."""
        before = self.in_frames + self.elsewhere
        with self._lock:
            self._wanted += 1
        ends_at = time.monotonic() + within_s
        while self.in_frames + self.elsewhere == before and time.monotonic() < ends_at:
            time.sleep(0.01)
        with self._lock:
            self._wanted = 0

    def let_nothing_pass(self, seconds: float) -> None:
        """Hold everything back for a while; then reset half of the connections, and hand on what the others sent."""
        self._passes.clear()
        time.sleep(seconds)
        for held in list(self._held):
            if self._chance.random() < 0.5:
                reset(held)
        self._passes.set()

    def close(self) -> None:
        self._listener.close()
        self._passes.set()
        for held in list(self._held):
            reset(held)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(self._to, timeout=10)
                except OSError:
                    near.close()
                    continue
                far.settimeout(None)
                self._held |= {near, far}
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        frames: Frames | None = None
        is_first = True
        try:
            while data := source.recv(_CHUNK_BYTES):
                self._passes.wait()
                if is_first and b"upgrade: websocket" in data[:4096].lower():
                    frames = Frames()
                is_first = False
                inside = len(data) // 2 if frames is None else frames.inside(data)
                if inside and self._takes(is_frame=frames is not None):
                    target.sendall(data[:inside])
                    # What was sent arrives before the reset.
                    time.sleep(0.02)
                    break
                target.sendall(data)
            else:
                # One side has ended, so the other will end, too.
                target.shutdown(socket.SHUT_WR)
                return
        except OSError:
            pass
        self._drop(source, target)

    def _takes(self, *, is_frame: bool) -> bool:
        """Whether a cut is wanted, and is this one. Two of three are for frames."""
        with self._lock:
            if self._wanted == 0 or (not is_frame and self._chance.random() < 0.95):
                return False
            self._wanted -= 1
            self.in_frames += is_frame
            self.elsewhere += not is_frame
            return True

    def _drop(self, *ends: socket.socket) -> None:
        for end in ends:
            reset(end)
            self._held.discard(end)


def reset(end: socket.socket) -> None:
    """Break a connection without a closing handshake, like a broken network."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        end.shutdown(socket.SHUT_RD)
    with contextlib.suppress(OSError):
        end.close()
