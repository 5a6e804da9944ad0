"""The origin of figures: processor, load, versions, commit, and the speed of this machine at fixed work."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("pyoxigraph", "rdflib", "pyarrow")


def description() -> dict[str, object]:
    """The facts about the machine that a reader needs."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "libraries": {"Python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}},
        "java": _java(),
        "commit": _git("rev-parse", "--short=12", "HEAD") + ("+" if _git("status", "--porcelain", "-uno") else ""),
        "engine": _engine_profile(),
    }


def load() -> float:
    """The load of the last minute."""
    return os.getloadavg()[0]


def calibration_ns() -> int:
    """Processor time of a fixed workload, the unit in which figures of two runs are compared."""
    began = time.thread_time_ns()
    table: dict[int, bytes] = {}
    digest = b"whorl"
    for _ in range(60_000):
        digest = hashlib.sha256(digest).digest()
        table[int.from_bytes(digest[:4], "big") % 8192] = digest
    return time.thread_time_ns() - began


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "absent"


def _engine_profile() -> str:
    """The profile of the engine's build; tests use one with internal checks, which is several times slower."""
    stamps = sorted(path.name.removeprefix(".stamp-engine-") for path in Path(sys.prefix).glob(".stamp-engine-*"))
    return ", ".join(stamps) or "unknown"


def _java() -> str:
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)  # noqa: S607 - from PATH
    except FileNotFoundError:
        return "absent"
    lines = done.stderr.splitlines() or ["unknown"]
    return lines[0]


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)  # noqa: S607 - from PATH
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
