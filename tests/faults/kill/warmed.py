"""Servers that are forked from a process which has imported everything, so that kills and starts cost no imports."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from reaper import watch
from server_process import environment_of

_HERE = Path(__file__).parent
_POLL_S = 0.002


class Warmed:
    """The parent of all servers that it starts; they end with it."""

    def __init__(self, shim: Path | None) -> None:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = here
        self._lock = threading.Lock()
        paths = [str(_HERE), str(_HERE.parent / "disk"), environment_of(Path(), {}, {})["PYTHONPATH"]]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        if shim is not None:
            environment["LD_PRELOAD"] = str(shim)
        command = [sys.executable, str(_HERE / "warmed_parent.py"), str(there.fileno())]
        with there:
            self._parent = subprocess.Popen(command, env=environment, pass_fds=[there.fileno()])
        watch(self._parent)

    def __enter__(self) -> Self:
        """For `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """The parent ends when nobody can ask it any more, and its children with it."""
        self._control.close()
        self._parent.wait(30)

    def spawn(self, data_dir: Path, settings: Mapping[str, Any], further: Mapping[str, str]) -> Forked:
        """Start a server; the arguments are those of `server_process.spawn`."""
        environment = environment_of(data_dir, settings, further)
        reading, writing = os.pipe()
        try:
            pid = self.ask({"do": "start", "environment": environment}, writing)
        finally:
            os.close(writing)
        assert isinstance(pid, int)
        return Forked(self, pid, open(reading, encoding="utf-8"))  # noqa: PTH123 - a pipe, closed by its reader

    def ask(self, wanted: Mapping[str, Any], *handles: int) -> Any:
        """One message to the parent, and its reply."""
        with self._lock:
            socket.send_fds(self._control, [json.dumps(wanted).encode()], handles)
            return json.loads(self._control.recv(65536))


class Forked:
    """A server as `subprocess` would show it."""

    def __init__(self, parent: Warmed, pid: int, stdout: IO[str]) -> None:
        self.pid = pid
        self.stdout: IO[str] | None = stdout
        self._parent = parent
        self._code: int | None = None
        self._waiting = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        with self._waiting:
            if self._code is None:
                self._code = self._parent.ask({"do": "wait", "pid": self.pid})
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        ends_at = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if ends_at is not None and time.monotonic() > ends_at:
                raise subprocess.TimeoutExpired(["whorl"], timeout or 0)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            self._parent.ask({"do": "signal", "pid": self.pid, "signal": int(number)})

    def terminate(self) -> None:
        """As an operator would."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Without warning."""
        self.send_signal(signal.SIGKILL)
