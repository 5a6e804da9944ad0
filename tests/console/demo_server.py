"""`whorl serve --demo` on a terminal, where it prints a link with a token; it can be killed and started again."""

from __future__ import annotations

import os
import pty
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from reaper import watch

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SCRIPT = "from whorl.cli import main; main()"
_READY = re.compile(r"whorl is ready: (\S+)")


@dataclass
class DemoServer:
    """A server with the demo, always at the same address and with the same data."""

    data_dir: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    link: str = ""

    def start(self) -> None:
        """Start it, and wait for the link that it prints."""
        master, slave = pty.openpty()
        command = [sys.executable, "-c", _SCRIPT, "serve", "--demo", "--port", str(self.port)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")}
        settings = {"WHORL_DATA_DIR": str(self.data_dir), "PYTHONUNBUFFERED": "1"}
        log = (self.data_dir.parent / "server.log").open("ab")
        self.process = subprocess.Popen(command, stdout=slave, stderr=log, env=environment | settings)
        log.close()
        os.close(slave)
        watch(self.process)
        with os.fdopen(master, errors="replace") as terminal:
            found = next((ready for line in terminal if (ready := _READY.search(line)) is not None), None)
        assert found is not None, "the server printed no link"
        self.link = found[1]

    def kill(self) -> None:
        """Kill it without warning, like a power cut."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)


def free_port() -> int:
    """An unused port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
