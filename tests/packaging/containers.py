"""Containers of podman, for the checks of the images."""

from __future__ import annotations

import shutil
import subprocess
import time

from images import run

_HEALTHY_SECONDS = 60
# Limits are said, and not taken from this machine: its own may be higher than a container may have. Health is asked for
# here and not every few seconds by podman, which needs systemd for that.
OPTIONS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024", "--health-interval", "disable")


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


def logs(container: str) -> str:
    """What the container wrote."""
    ended = attempt("logs", container)
    return ended.stdout + ended.stderr


def _podman() -> list[str]:
    """Of the OCI runtimes, runc runs under old and mixed control groups, too."""
    return ["podman", "--runtime", "runc" if shutil.which("runc") else "crun"]
