"""Containers of podman, for the checks of the images."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from images import run

_HEALTHY_SECONDS = 60
# Limits are said, and not taken from this machine: its own may be higher than a container may have.
OPTIONS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024")
# Health is asked for here, and not every few seconds by podman, which needs systemd for that.
os.environ["DISABLE_HC_SYSTEMD"] = "true"


def podman(*words: object) -> str:
    """podman; what it wrote."""
    return run(*_podman(), *words)


def attempt(*words: object) -> subprocess.CompletedProcess[str]:
    """podman, with a command that may fail."""
    command = [*_podman(), *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def wait_until_healthy(container: str) -> None:
    """Ask the container's own check until it says yes."""
    deadline = time.monotonic() + _HEALTHY_SECONDS
    while attempt("healthcheck", "run", container).returncode:
        running = podman("inspect", "--format", "{{.State.Running}}", container)
        if running != "true" or time.monotonic() > deadline:
            raise SystemExit("the container did not become healthy:\n" + logs(container))
        time.sleep(0.05)


def check_confinement(container: str) -> None:
    """Who the program of a container is and what it may do, as the kernel has it."""
    pid = podman("inspect", "--format", "{{.State.Pid}}", container)
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    mounts = [line.split() for line in Path(f"/proc/{pid}/mounts").read_text().splitlines()]
    (root,) = [mount for mount in mounts if mount[1] == "/"]
    facts = {
        "user": status["Uid"].split() == ["10001"] * 4,
        "group": status["Gid"].split() == ["10001"] * 4,
        "no capabilities": int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0,
        "no new privileges": status["NoNewPrivs"].strip() == "1",
        "read-only root": "ro" in root[3].split(","),
        "process 1, which signals reach": status["NSpid"].split()[-1] == "1",
    }
    wrong = [name for name, holds in facts.items() if not holds]
    if wrong:
        raise SystemExit(f"the container is not confined: {', '.join(wrong)}")


def logs(container: str) -> str:
    """What the container wrote."""
    ended = attempt("logs", container)
    return ended.stdout + ended.stderr


def _podman() -> list[str]:
    """Of the OCI runtimes, runc runs under old and mixed control groups, too."""
    return ["podman", "--runtime", "runc" if shutil.which("runc") else "crun"]
