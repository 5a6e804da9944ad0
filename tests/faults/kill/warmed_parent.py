"""A process that has imported the server, and forks one whenever it is asked to: a start costs no imports.

It is spoken to over a socket of messages, the handle of which is its argument. Nothing has begun before a fork but
imports: no thread, no event loop, no store.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from typing import Any, NoReturn

from shim import Call, Shim

# All that a server imports before it is ready.
from whorl.server.__main__ import main

_PR_SET_PDEATHSIG = 1


def serve(control: socket.socket) -> None:
    """Do what is asked until nobody asks any more."""
    while True:
        data, handles, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not data:
            return
        wanted = json.loads(data)
        if wanted["do"] == "start":
            control.send(json.dumps(_forked(wanted["environment"], handles[0], control)).encode())
        elif wanted["do"] == "signal":
            os.kill(wanted["pid"], wanted["signal"])
            control.send(b"null")
        else:
            control.send(json.dumps(_exit_code(wanted["pid"])).encode())


def _exit_code(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _forked(environment: dict[str, str], output: int, control: socket.socket) -> int:
    pid = os.fork()
    if pid == 0:
        control.close()
        _be_server(environment, output)
    os.close(output)
    return pid


def _be_server(environment: dict[str, str], output: int) -> NoReturn:
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        os.environ.clear()
        os.environ.update(environment)
        _arm(environment)
        code = main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _arm(environment: dict[str, Any]) -> None:
    """What the shim does by itself when it is loaded with these variables."""
    if "SHIM_ARM" not in environment:
        return
    kind, after, times, error = map(int, environment["SHIM_ARM"].split(","))
    shim = Shim()
    shim.watch(environment["SHIM_DIR"])
    shim.arm(Call(kind), after, times, error, environment["SHIM_NAME"])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve(asked)
