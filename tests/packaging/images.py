"""Images of docker/Dockerfile, built by buildah on base images that are made here: no registry of images is needed.

The base images are a Debian by debootstrap, with Python, and the same with a linker; the Rust of this machine is
mounted into the build. Needs root, buildah, debootstrap, podman and an OCI runtime.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "image"
IMAGES = {"server": "localhost/whorl:test", "spark": "localhost/whorl-spark:test"}
PYTHON_BASE = "localhost/whorl-base-python"
RUST_BASE = "localhost/whorl-base-rust"
_RUST = "/usr/local/rust"
_CARGO = "/usr/local/cargo"
# How this machine trusts the package index. Single files: what is installed writes beside them.
_TRUSTED = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")


def require_tools() -> None:
    """Say what is missing before anything is begun."""
    missing = [tool for tool in ("buildah", "debootstrap", "podman") if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        raise SystemExit(f"this needs root, and: {', '.join(missing) or 'nothing else'} (Debian has packages of them)")
    # Works on every file system; another driver can be named.
    os.environ.setdefault("STORAGE_DRIVER", "vfs")


def run(*command: object, **options: Any) -> str:
    """Run a program; what it wrote."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, text=True, stdout=subprocess.PIPE, check=False, **options)
    if ended.returncode:
        raise SystemExit(f"{' '.join(words[:3])} … ended with {ended.returncode}\n{ended.stdout}")
    return str(ended.stdout).strip()


def make_bases(*, with_rust: bool) -> None:
    """The base images that are not there yet."""
    if not _has_image(PYTHON_BASE):
        _make_python_base()
    if with_rust and not _has_image(RUST_BASE):
        _make_rust_base()


def build(target: str, wheels: Path | None) -> str:
    """An image, as the Dockerfile says, in a chroot and not in a container: that needs fewer rights. Its size in words.

    With wheels, they take the place of what the build stage makes.
    """
    began = time.monotonic()
    command: list[object] = ["buildah", "bud", "--quiet", "--isolation", "chroot", "--format", "docker", "--layers"]
    command += ["--file", ROOT / "docker/Dockerfile", "--target", target, "--tag", IMAGES[target]]
    command += ["--build-arg", f"PYTHON_IMAGE={PYTHON_BASE}", "--build-arg", f"RUST_IMAGE={RUST_BASE}"]
    command += [word for path in _TRUSTED if Path(path).exists() for word in ("--volume", f"{path}:{path}:ro")]
    command += _rust_mounts() if wheels is None else _in_place_of_the_build(wheels)
    run(*command, ROOT)
    size, base = (image_bytes(name) / 1e6 for name in (IMAGES[target], PYTHON_BASE))
    took_s = time.monotonic() - began
    return f"image {target}: {size:.0f} MB, of which {base:.0f} MB are its base; built in {took_s:.0f} s"


def image_bytes(name: str) -> int:
    """The size of an image, as podman has it."""
    return int(run("podman", "image", "inspect", "--format", "{{.Size}}", name))


def _has_image(name: str) -> bool:
    command = ["buildah", "inspect", "--type", "image", name]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _make_python_base() -> None:
    packages = "python3,python3-venv,python3-pip,ca-certificates"
    with tempfile.TemporaryDirectory() as place, _container("scratch") as container:
        run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", place)
        for waste in ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man"):
            shutil.rmtree(Path(place, waste))
        run("buildah", "copy", "--quiet", container, place, "/")
        run("buildah", "commit", "--quiet", "--format", "docker", container, PYTHON_BASE)


def _make_rust_base() -> None:
    install = "apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev"
    with _container(PYTHON_BASE) as container:
        run("buildah", "run", "--isolation", "chroot", container, "--", "sh", "-c", install)
        path = f"{_RUST}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        run("buildah", "config", "--env", f"PATH={path}", "--env", f"CARGO_HOME={_CARGO}", container)
        run("buildah", "commit", "--quiet", "--format", "docker", container, RUST_BASE)


@contextmanager
def _container(image: str) -> Iterator[str]:
    """A container to make an image of."""
    name = run("buildah", "from", image)
    try:
        yield name
    finally:
        run("buildah", "rm", name)


def _rust_mounts() -> list[str]:
    """The Rust of this machine, and the crates that it has fetched already."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    toolchain = f"{run('rustc', '--print', 'sysroot')}:{_RUST}:ro"
    return ["--volume", toolchain, "--volume", f"{home / 'registry'}:{_CARGO}/registry"]


def _in_place_of_the_build(wheels: Path) -> list[str]:
    context = BUILD / "wheels"
    shutil.rmtree(context, ignore_errors=True)
    (context / "dist").mkdir(parents=True)
    for wheel in wheels.glob("*.whl"):
        shutil.copy(wheel, context / "dist")
    return ["--build-context", f"build={context}"]
