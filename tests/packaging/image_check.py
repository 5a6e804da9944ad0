"""`make image-test`: the images, built by buildah on base images that are made here (`images.py`), and used.

    python tests/packaging/image_check.py [--wheels DIR]

`--wheels` takes wheels that are built already in place of the build stage.

Checked of the server: the container runs as a user that is not root, with a read-only root file system, without
capabilities; becomes healthy by its own check; refuses to start where tokens would cross a network in plain text; takes
events; pushes results to a client outside; ends on SIGTERM; comes back with its state, for a subscriber that resumes.
Checked of both images: what `docker compose up` starts does what it is for (`demo_check.py`).
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path

from containers import OPTIONS, attempt, check_confinement, logs, podman, wait_until_healthy
from demo_check import check_demo
from images import IMAGES, build, make_bases, require_tools

_TERM_SECONDS = 10
_TMPFS = "/tmp:size=64m,mode=1777,noexec"  # noqa: S108 - of the container


def main() -> int:
    """Build, run, check, and tell sizes and times."""
    options = argparse.ArgumentParser()
    options.add_argument("--wheels", type=Path, help="take these wheels, and build none")
    chosen = options.parse_args()
    require_tools()
    make_bases(with_rust=chosen.wheels is None)
    for target in IMAGES:
        print(build(target, chosen.wheels))
    with tempfile.TemporaryDirectory() as data:
        use(Path(data))
    check_demo()
    return 0


def start(data: Path, port: int) -> tuple[str, float]:
    """A container as an operator starts it: nothing to write to but the volume and a small /tmp.

    Also how long it took to be healthy, in seconds.
    """
    began = time.monotonic()
    container = podman(
        *("run", "--detach", "--network", "host", "--read-only", "--read-only-tmpfs=false"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", _TMPFS),
        *OPTIONS,
        *("--volume", f"{data}:/data", "--env", f"WHORL_PORT={port}"),
        *("--env", "WHORL_BEHIND_PROXY=true", "--env", "WHORL_HOST=127.0.0.1", IMAGES["server"]),
    )
    wait_until_healthy(container)
    return container, time.monotonic() - began


def stop(container: str) -> float:
    """SIGTERM; how long the container took to end by itself."""
    began = time.monotonic()
    podman("kill", "--signal", "TERM", container)
    code = podman("wait", container)
    took_s = time.monotonic() - began
    if code != "0" or took_s > _TERM_SECONDS:
        raise SystemExit(f"SIGTERM: the container ended with {code} after {took_s:.1f} s\n{logs(container)}")
    return took_s


def use(data: Path) -> None:
    """Start, push, stop, start again."""
    os.chown(data, 10001, 10001)
    port = free_port()
    refuses_plain_text()
    container, healthy_s = start(data, port)
    try:
        check_confinement(container)
        check_file_system(container)
        token = (data / "token").read_text().strip()
        place = push_and_follow(port, token)
        ended_s = stop(container)
    finally:
        podman("rm", "--force", container)
    again, back_s = start(data, port)
    try:
        resume(port, token, place)
        stop(again)
    finally:
        podman("rm", "--force", again)
    print(f"healthy after {healthy_s:.1f} s, ended {ended_s:.1f} s after SIGTERM, healthy again after {back_s:.1f} s")
    print("non-root, read-only root, no capabilities; took events, pushed results outside, came back with its state")


def refuses_plain_text() -> None:
    """Without TLS and without a proxy, an address that others reach is refused in a sentence."""
    ended = attempt("run", "--rm", "--network", "host", *OPTIONS, IMAGES["server"])
    if ended.returncode == 0 or "behind_proxy" not in ended.stderr + ended.stdout:
        raise SystemExit(f"the image starts without TLS: {ended.stdout}{ended.stderr}")


def check_file_system(container: str) -> None:
    """What can be written, tried: even root of the container cannot write beside the volume."""
    podman("exec", container, "touch", "/data/tried")
    for place in ("/tried", "/opt/whorl/tried", "/etc/passwd"):
        ended = attempt("exec", "--user", "0", container, "touch", place)
        if ended.returncode == 0 or "Read-only file system" not in ended.stderr:
            raise SystemExit(f"root of the container could touch {place}: {ended.stderr}")


def push_and_follow(port: int, token: str) -> str:
    """Events in, results out, by the client of this environment; the place of the result."""
    from whorl_client import Client, Event

    with Client(f"http://127.0.0.1:{port}", token=token) as client:
        client.streams.create("http://ex.org/s")
        query = client.register(
            "SELECT ?s ?t FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> [RANGE 2s STEP 1s] "
            "WHERE { WINDOW <http://ex.org/w> { ?s <http://ex.org/t> ?t } }",
            name="all",
        )
        with query.subscribe("earliest", limit=1) as results:
            client.stream("http://ex.org/s").send([Event("<a:one> <http://ex.org/t> 1 .", t=100), Event("", t=2500)])
            (result,) = list(results)
        client.stream("http://ex.org/s").send("<a:two> <http://ex.org/t> 2 .", t=2600)
        rows = [str(row["s"]) for row in result.rows]
        if rows != ["a:one"]:
            raise SystemExit(f"the result is wrong: {rows}")
        return str(result.token)


def resume(port: int, token: str, place: str) -> None:
    """After the restart a subscriber goes on after its place, with what was in the window before."""
    from whorl_client import Client

    with Client(f"http://127.0.0.1:{port}", token=token) as client:
        client.stream("http://ex.org/s").send("<a:three> <http://ex.org/t> 3 .", t=6000)
        with client.query("all").subscribe(place, limit=3) as results:
            rows = {str(row["s"]) for result in results for row in result.rows}
        if "a:two" not in rows or re.search("a:one", str(rows)):
            raise SystemExit(f"the state is not what it was: {rows}")


def free_port() -> int:
    """An unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    os.environ.setdefault("STORAGE_DRIVER", "vfs")
    sys.exit(main())
