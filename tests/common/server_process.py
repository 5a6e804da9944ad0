"""A real server process for tests: started on a free port with its own data directory, spoken to over sockets."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import httpx
from reaper import watch

_SERVER = Path(__file__).resolve().parents[2] / "server"
_READY = re.compile(r"whorl is ready: (\S+?)(?:#token=(\S+))?$")
# On a busy machine with two cores, a start can take a minute.
_START_SECONDS = 180
# The proxy for all requests that servers might send; they should send none.
proxy_url: str | None = None


class Process(Protocol):
    """What is needed of a process; `subprocess.Popen` is one."""

    pid: int
    stdout: IO[str] | None

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal, unless it has ended."""

    def terminate(self) -> None:
        """Stop as an operator would."""

    def kill(self) -> None:
        """Stop without warning."""


def spawn(data_dir: Path, settings: Mapping[str, Any], further: Mapping[str, str]) -> subprocess.Popen[str]:
    """A new process with a server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "whorl.server"],
        env=environment_of(data_dir, settings, further),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watch(process)
    return process


@dataclass
class ServerProcess:
    """One server. Settings are those of `whorl.server.settings`, in lower case."""

    data_dir: Path
    settings: dict[str, Any] = field(default_factory=dict)
    # Further variables, for the next start.
    environment: dict[str, str] = field(default_factory=dict)
    url: str = ""
    token: str = ""
    lines: list[str] = field(default_factory=list)
    process: Process | None = None
    # How a process is made; `kill/warmed.py` has another way.
    spawn: Callable[[Path, Mapping[str, Any], Mapping[str, str]], Process] = spawn

    def start(self) -> ServerProcess:
        """Start, and wait until it is ready."""
        self.process = self.spawn(self.data_dir, self.settings, self.environment)
        found = threading.Event()
        threading.Thread(target=self._read, args=(self.process, found), daemon=True).start()
        if not found.wait(_START_SECONDS):
            self.kill()
            raise TimeoutError("the server did not become ready:\n" + self.log)
        if not self.url:
            self.kill()
            raise RuntimeError("the server did not start:\n" + self.log)
        self.token = self.token or self.settings.get("token") or (self.data_dir / "token").read_text().strip()
        self._wait_until_ready()
        return self

    def stop(self) -> int:
        """Stop as an operator would; returns the exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def kill(self) -> None:
        """Stop without warning."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """An HTTP client with a token, by default the admin token."""
        headers = {"Authorization": f"Bearer {token or self.token}", **options.pop("headers", {})}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, **options)

    def anonymous(self) -> httpx.Client:
        """An HTTP client without a token; it takes any certificate."""
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False, verify=False)  # noqa: S501 - a certificate made for the test

    @property
    def log(self) -> str:
        """The output of the process so far."""
        return "\n".join(self.lines)

    def _read(self, process: Process, found: threading.Event) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line.rstrip("\n"))
            ready = _READY.match(self.lines[-1])
            if ready is not None:
                self.url, self.token = ready.group(1).rstrip("/"), ready.group(2) or self.token
                found.set()
        process.stdout.close()
        found.set()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        with self.anonymous() as client:
            while client.get("/readyz").status_code != 200:
                if time.monotonic() > deadline:
                    raise TimeoutError("the server is not ready:\n" + self.log)
                time.sleep(0.01)


def run_to_exit(data_dir: Path, settings: dict[str, Any]) -> tuple[int, str]:
    """Start a server that must refuse; its exit code and what it wrote."""
    process = spawn(data_dir, settings, {})
    try:
        output, _ = process.communicate(timeout=_START_SECONDS)
    finally:
        process.kill()
    return process.returncode, output


def environment_of(data_dir: Path, settings: Mapping[str, Any], further: Mapping[str, str]) -> dict[str, str]:
    """The variables of a server."""
    chosen = {"port": 0, "data_dir": data_dir, **settings}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")} | dict(further)
    environment |= {f"WHORL_{name.upper()}": str(value) for name, value in chosen.items()}
    if proxy_url is not None:
        environment |= dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy_url)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_SERVER), os.environ.get("PYTHONPATH", "")]))
    return environment
