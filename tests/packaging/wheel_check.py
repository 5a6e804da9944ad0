"""`make wheel-test`: the wheels in a directory, installed into an empty environment without Rust and Node, and used.

    python tests/packaging/wheel_check.py dist

Checked: that the package is whole, portable and stripped, has its extras, and names no path of the machine that built
it; that the console is in it, with every file that its pages name; that it installs from wheels alone, with nothing but
the environment's own programs on PATH; that `whorl serve` serves the console, takes events and pushes a result to a
client of the same environment, and ends on SIGTERM.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_READY = re.compile(r"whorl is ready: (\S+)")
_READY_SECONDS = 60
# The console is built into the package; git ignores it.
CONSOLE = "whorl/server/web-dist/"
CONSOLE_PAGES = ("index.html", "docs.html")
_ASSET = re.compile(r"""(?:src|href)="\./(assets/[^"]+)\"""")
EXTRAS = {"arrow", "dev", "pandas", "spark"}
# What a user does first, by the client that came with the package.
_USE = """
import sys
from whorl_client import Client, Event

with Client(sys.argv[1], token=sys.argv[2]) as client:
    client.streams.create("http://ex.org/s")
    query = client.register('''SELECT ?room ?t
        FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> [RANGE 1s STEP 1s]
        WHERE { WINDOW <http://ex.org/w> { ?room <http://ex.org/t> ?t FILTER(?t > 25) } }''', name="hot")
    triple = "<http://ex.org/{}> <http://ex.org/t> {} ."
    events = [Event(triple.format("lab", 31), t=100), Event(triple.format("hall", 20), t=200), Event("", t=1200)]
    with query.subscribe("earliest", limit=1) as results:
        print(client.stream("http://ex.org/s").send(events).accepted)
        for result in results:
            print([(str(row["room"]), str(row["t"])) for row in result.rows])
"""


def main() -> int:
    """Check the wheels of the directory that is named; 1 if something is wrong."""
    dist = Path(sys.argv[1]).resolve()
    wheel, client = the_one(dist, "whorl-*.whl"), the_one(dist, "whorl_client-*.whl")
    faults = [*contents_faults(wheel), *portability_faults(wheel), *client_faults(client)]
    faults += [fault for one in (wheel, client) for fault in path_faults(one)]
    for fault in faults:
        print(f"wrong: {fault}", file=sys.stderr)
    if faults:
        return 1
    with tempfile.TemporaryDirectory() as directory:
        use(wheel, client, Path(directory))
    for one in (wheel, client):
        print(f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}")
    return 0


def the_one(dist: Path, pattern: str) -> Path:
    """The wheel of that name; `make wheels` leaves one of each."""
    found = sorted(dist.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{dist} has {len(found)} files {pattern}, not one: run make wheels")
    return found[0]


def package_files() -> set[str]:
    """Every file of the package that is in the repository: all of them are in the wheel."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "server/whorl"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.removeprefix("server/") for name in listed.stdout.split("\0") if name}


def contents_faults(wheel: Path) -> list[str]:
    """What is missing from the package, and what should not be in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    packed = {name for name in names if ".dist-info/" not in name and not name.startswith(CONSOLE)}
    wanted = package_files() | {"whorl/_engine.abi3.so"}
    faults = [f"{name} is not in the wheel" for name in sorted(wanted - packed)]
    faults += [f"{name} is in the wheel and not in the repository" for name in sorted(packed - wanted)]
    if not any(name.endswith("LICENSE") for name in names):
        faults.append("the licence is not in the wheel")
    faults += console_faults(wheel)
    return faults + [f"there is no extra {name}" for name in sorted(EXTRAS - extras(wheel))]


def console_faults(wheel: Path) -> list[str]:
    """What is missing from the console: a page, or a file that a page names. Nothing but pages and assets is in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith(CONSOLE) and not name.endswith("/")}
        pages = {page: archive.read(CONSOLE + page).decode() for page in CONSOLE_PAGES if CONSOLE + page in names}
    faults = [f"{CONSOLE}{page} is not in the wheel" for page in CONSOLE_PAGES if page not in pages]
    for page, text in pages.items():
        assets = _ASSET.findall(text)
        if not any(asset.endswith(".js") for asset in assets):
            faults.append(f"{page} of the console names no script")
        faults += [
            f"{page} names {asset}, which is not in the wheel" for asset in assets if CONSOLE + asset not in names
        ]
    known = re.compile(rf"{re.escape(CONSOLE)}({'|'.join(map(re.escape, CONSOLE_PAGES))}|assets/[^/]+)")
    return faults + [f"{name} is no part of the console" for name in sorted(names) if not known.fullmatch(name)]


def extras(wheel: Path) -> set[str]:
    """What can be installed besides, as the wheel says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return set(Parser().parsestr(archive.read(name).decode()).get_all("Provides-Extra", []))


def portability_faults(wheel: Path) -> list[str]:
    """One wheel for all Pythons and many systems, without symbols."""
    faults = []
    if not re.search(r"-cp311-abi3-(manylinux_\d+_\d+|manylinux2014)_", wheel.name):
        faults.append(f"{wheel.name} is not for all Pythons from 3.11 on and a named glibc")
    with zipfile.ZipFile(wheel) as archive:
        module = archive.read("whorl/_engine.abi3.so")
    return faults + [
        f"the module has {name}" for name in section_names(module) if name.startswith((".debug_", ".symtab"))
    ]


def path_faults(wheel: Path) -> list[str]:
    """Files that tell where they were made: a wheel is the same from every directory of every machine."""
    machine = {str(ROOT), *(str(home) for home in (Path.home(), Path(sys.prefix)) if len(home.parts) > 1)}
    with zipfile.ZipFile(wheel) as archive:
        return [
            f"{name} of {wheel.name} names {place}"
            for name in archive.namelist()
            for place in sorted(machine)
            if f"{place}/".encode() in archive.read(name)
        ]


def section_names(module: bytes) -> list[str]:
    """The names of the sections of an ELF file of 64 bits."""
    (table_at,) = struct.unpack_from("<Q", module, 0x28)
    size, count, names_idx = struct.unpack_from("<HHH", module, 0x3A)
    heads = [struct.unpack_from("<IIQQQ", module, table_at + number * size) for number in range(count)]
    names_at = heads[names_idx][4]
    return [module[names_at + head[0] : module.index(b"\0", names_at + head[0])].decode() for head in heads]


def client_faults(client: Path) -> list[str]:
    """The client is pure Python and typed."""
    with zipfile.ZipFile(client) as archive:
        names = set(archive.namelist())
    faults = [] if client.name.endswith("-py3-none-any.whl") else [f"{client.name} is not pure Python"]
    return faults if "whorl_client/py.typed" in names else [*faults, "whorl_client/py.typed is not in the wheel"]


def use(wheel: Path, client: Path, directory: Path) -> None:
    """Install the wheels as a user would, and use them."""
    environment = directory / "environment"
    venv.create(environment, with_pip=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHORL_", "PYTHON"))}
    settings = {**kept, "PATH": str(environment / "bin"), "HOME": str(directory)}
    for program in ("cargo", "rustc", "node", "cc"):
        assert shutil.which(program, path=settings["PATH"]) is None, f"{program} is not hidden"
    python = str(environment / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel), str(client)]
    began = time.monotonic()
    subprocess.run(install, env=settings, cwd=directory, check=True)
    installed_s = time.monotonic() - began
    started_s = serve_and_ask(environment, settings, directory)
    size_mb = sum(path.stat().st_size for path in environment.rglob("whorl/**/*") if path.is_file()) / 1e6
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, installed {size_mb:.1f} MB in {installed_s:.0f} s")
    print(f"whorl serve was ready after {started_s:.2f} s, took events and pushed a result; no Rust, no Node on PATH")


def serve_and_ask(environment: Path, settings: dict[str, str], directory: Path) -> float:
    """Start the server, use it and stop it; how long the start took, in seconds."""
    began = time.monotonic()
    server = subprocess.Popen(
        [environment / "bin" / "whorl", "serve", "--port", "0"],
        env=settings,
        cwd=directory,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        ready = _READY.match(server.stdout.readline())
        started_s = time.monotonic() - began
        if ready is None or started_s > _READY_SECONDS:
            raise SystemExit("whorl serve did not become ready")
        check_console(ready[1])
        asked = subprocess.run(
            [
                environment / "bin" / "python",
                "-c",
                _USE,
                ready[1],
                (directory / "whorl-data/token").read_text().strip(),
            ],
            env=settings,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if asked.stdout.splitlines() != ["3", "[('http://ex.org/lab', '31')]"]:
            raise SystemExit(f"the client did not get the result:\n{asked.stdout}{asked.stderr}")
        server.send_signal(signal.SIGTERM)
        if server.wait(15) != 0:
            raise SystemExit(f"whorl serve ended with {server.returncode}")
    finally:
        server.kill()
        server.wait()
    return started_s


def check_console(url: str) -> None:
    """The installed server answers a browser with the console, and serves every file that its pages name."""
    for path in ("", "docs"):
        page = fetched(url.rstrip("/") + "/" + path)
        assets = _ASSET.findall(page.decode())
        if not any(asset.endswith(".js") for asset in assets):
            raise SystemExit(f"the page at /{path} is not the console:\n{page.decode()[:500]}")
        for asset in assets:
            if not fetched(f"{url.rstrip('/')}/{asset}"):
                raise SystemExit(f"{asset} is empty")


def fetched(url: str) -> bytes:
    """What a browser gets at an address; an answer other than 200 is an error."""
    request = urllib.request.Request(url, headers={"Accept": "text/html,*/*;q=0.8"})  # noqa: S310 - our own server
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own server
        content: bytes = answer.read()
        return content


if __name__ == "__main__":
    sys.exit(main())
