"""A listener on the loopback interface that should receive no connection."""

from __future__ import annotations

import socket
import threading
from typing import Any


class Listener:
    """Accepts and records every connection, and sends nothing."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            connection, address = self._socket.accept()
            with connection:
                if connection.recv(4096) == b"that is all":
                    return
                self.calls.append(address)

    def close(self) -> list[Any]:
        """All connections so far."""
        with socket.create_connection(self._socket.getsockname()) as last:
            last.sendall(b"that is all")
        self._thread.join()
        self._socket.close()
        return self.calls
