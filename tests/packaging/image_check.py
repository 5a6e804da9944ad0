"""`make image-test`: the image of the server, built by buildah on base images that are made here, and used.

    python tests/packaging/image_check.py [--wheels DIR]

Nothing comes from a registry of images: the base images are a Debian by debootstrap, with the Rust of this machine
mounted into the build. `--wheels` takes wheels that are built already in place of the build stage. Needs root,
buildah, debootstrap, podman and an OCI runtime.

Checked: the container runs as a user that is not root, with a read-only root file system, without capabilities; becomes
healthy by its own check; refuses to start where tokens would cross a network in plain text; takes events; pushes
results to a client outside; ends on SIGTERM; comes back with its state, for a subscriber that resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "image"
IMAGE = "localhost/whorl:test"
BASES = {"python": "localhost/whorl-base-python", "rust": "localhost/whorl-base-rust"}
PACKAGES = {"python": "python3,python3-venv,python3-pip,ca-certificates", "rust": "gcc,libc6-dev"}
_HEALTHY_SECONDS = 60
_TERM_SECONDS = 10
_RUST = "/usr/local/rust"
_TMPFS = "/tmp:size=64m,mode=1777,noexec"  # noqa: S108 - of the container


def main() -> int:
    """Build, run, check, and tell sizes and times."""
    options = argparse.ArgumentParser()
    options.add_argument("--wheels", type=Path, help="take these wheels, and build none")
    chosen = options.parse_args()
    require_tools()
    BUILD.mkdir(parents=True, exist_ok=True)
    make_bases(with_rust=chosen.wheels is None)
    build(chosen.wheels)
    with tempfile.TemporaryDirectory() as data:
        use(Path(data))
    return 0


# ---- build ----


def require_tools() -> None:
    """Say what is missing before anything is begun."""
    missing = [tool for tool in ("buildah", "debootstrap", "podman") if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        raise SystemExit(f"this needs root, and: {', '.join(missing) or 'nothing else'} (Debian has packages of them)")


def run(*command: object, **options: Any) -> str:
    """Run a program; what it wrote."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, text=True, stdout=subprocess.PIPE, check=False, **options)
    if ended.returncode:
        raise SystemExit(f"{' '.join(words[:3])} … ended with {ended.returncode}")
    return ended.stdout.strip()


def has_image(name: str) -> bool:
    """Whether there is such an image already."""
    return (
        subprocess.run(["buildah", "inspect", "--type", "image", name], capture_output=True, check=False).returncode
        == 0
    )


def make_bases(*, with_rust: bool) -> None:
    """The base images: a small Debian with Python, and the same with a linker and a place for Rust."""
    wanted = ["python", *(["rust"] if with_rust else [])]
    for kind in wanted:
        if has_image(BASES[kind]):
            continue
        packages = ",".join(PACKAGES[name] for name in ("python", "rust")[: wanted.index(kind) + 1])
        with tempfile.TemporaryDirectory() as place:
            run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", place)
            for waste in ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man"):
                shutil.rmtree(Path(place, waste), ignore_errors=True)
            container = run("buildah", "from", "scratch")
            run("buildah", "copy", "--quiet", container, place, "/")
            path = f"{_RUST}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
            run("buildah", "config", "--env", f"PATH={path}", "--env", "CARGO_HOME=/usr/local/cargo", container)
            run("buildah", "commit", "--quiet", "--format", "docker", "--rm", container, BASES[kind])


def build(wheels: Path | None) -> None:
    """The image, as its Dockerfile says, in a chroot and not in a container: that needs fewer rights."""
    began = time.monotonic()
    command: list[object] = ["buildah", "bud", "--quiet", "--isolation", "chroot", "--format", "docker", "--layers"]
    command += ["--file", ROOT / "docker/Dockerfile", "--target", "server", "--tag", IMAGE]
    command += ["--build-arg", f"PYTHON_IMAGE={BASES['python']}", "--build-arg", f"RUST_IMAGE={BASES['rust']}"]
    # How this machine trusts the package index.
    for trusted in (
        "/etc/ssl/certs",
        "/usr/share/ca-certificates",
        "/usr/local/share/ca-certificates",
        "/etc/pip.conf",
    ):
        if Path(trusted).exists():
            command += ["--volume", f"{trusted}:{trusted}:ro"]
    if wheels is None:
        command += ["--volume", f"{run('rustc', '--print', 'sysroot')}:{_RUST}:ro"]
        home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        command += ["--volume", f"{home / 'registry'}:/usr/local/cargo/registry"]
    else:
        context = BUILD / "wheels"
        shutil.rmtree(context, ignore_errors=True)
        shutil.copytree(wheels, context / "dist")
        command += ["--build-context", f"build={context}"]
    run(*command, ROOT)
    size, base = image_bytes(IMAGE), image_bytes(BASES["python"])
    took_s = time.monotonic() - began
    print(f"image: {size / 1e6:.0f} MB, of which {base / 1e6:.0f} MB are its base; built in {took_s:.0f} s")


def image_bytes(name: str) -> int:
    """The size of an image, as podman has it."""
    return int(run("podman", "image", "inspect", "--format", "{{.Size}}", name))


# ---- use ----


def runtime() -> str:
    """The OCI runtime: runc, where it is, runs under old and mixed control groups, too."""
    return "runc" if shutil.which("runc") else "crun"


def podman(*words: object) -> str:
    """podman, with that runtime."""
    return run("podman", "--runtime", runtime(), *words)


def start(data: Path, port: int) -> str:
    """A container as an operator starts it: nothing to write to but the volume and a small /tmp."""
    return podman(
        *("run", "--detach", "--network", "host", "--read-only", "--read-only-tmpfs=false"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", _TMPFS),
        *("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024"),
        *("--volume", f"{data}:/data", "--env", f"WHORL_PORT={port}"),
        *("--env", "WHORL_BEHIND_PROXY=true", "--env", "WHORL_HOST=127.0.0.1", IMAGE),
    )


def wait_until_healthy(container: str) -> float:
    """Ask the container's own check until it says yes; how long that took."""
    began = time.monotonic()
    while subprocess.run(["podman", "healthcheck", "run", container], capture_output=True, check=False).returncode:
        state = json.loads(run("podman", "inspect", "--format", "{{json .State}}", container))
        if not state["Running"] or time.monotonic() - began > _HEALTHY_SECONDS:
            raise SystemExit("the container did not become healthy:\n" + logs(container))
        time.sleep(0.05)
    return time.monotonic() - began


def logs(container: str) -> str:
    """What the container wrote."""
    ended = subprocess.run(["podman", "logs", container], capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


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
    container = start(data, port)
    try:
        healthy_s = wait_until_healthy(container)
        check_confinement(container)
        token = (data / "token").read_text().strip()
        place = push_and_follow(port, token)
        ended_s = stop(container)
    finally:
        podman("rm", "--force", container)
    again = start(data, port)
    try:
        back_s = wait_until_healthy(again)
        resume(port, token, place)
        stop(again)
    finally:
        podman("rm", "--force", again)
    print(f"healthy after {healthy_s:.1f} s, ended {ended_s:.1f} s after SIGTERM, healthy again after {back_s:.1f} s")
    print("non-root, read-only root, no capabilities; took events, pushed results outside, came back with its state")


def refuses_plain_text() -> None:
    """Without TLS and without a proxy, an address that others reach is refused in a sentence."""
    limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024"]
    command = ["podman", "--runtime", runtime(), "run", "--rm", "--network", "host", *limits, IMAGE]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode == 0 or "behind_proxy" not in ended.stderr + ended.stdout:
        raise SystemExit(f"the image starts without TLS: {ended.stdout}{ended.stderr}")


def check_confinement(container: str) -> None:
    """Who the server is and what it may do, as the kernel has it."""
    pid = run("podman", "inspect", "--format", "{{.State.Pid}}", container)
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
        "the server is process 1": status["NSpid"].split()[-1] == "1",
    }
    wrong = [name for name, holds in facts.items() if not holds]
    if wrong:
        raise SystemExit(f"the container is not confined: {', '.join(wrong)}")


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
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    os.environ.setdefault("STORAGE_DRIVER", "vfs")
    sys.exit(main())
