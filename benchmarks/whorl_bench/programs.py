"""Contestants that are separate programs: Rust on encoded ids, the calibration kernel, Esper and others.

A program takes its parameters as `key=value` arguments and prints one line of JSON with `events`, `cpu_ns`, `wall_ns`,
`checksum`, and optionally `results` and `rss_bytes`. Programs generate the same events from the same seed, and the
checksum depends on every result.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whorl_bench.case import AbsentError
from whorl_bench.figures import Figures
from whorl_bench.isolate import RunError

BENCHMARKS = Path(__file__).resolve().parents[1]
ROOT = BENCHMARKS.parent


class Program:
    """A built program and its arguments."""

    def __init__(self, program: str, words: Sequence[str] = (), build: str = "") -> None:
        self._program = program
        self._words = list(words)
        self._build = build

    def run(self, parameters: Mapping[str, Any], timeout_s: float) -> Figures:
        """Run it once, and stop it at its time limit."""
        said = self.said(parameters, timeout_s, needed=("events", "cpu_ns", "wall_ns", "checksum"))
        known = {key: said[key] for key in ("results", "checksum", "rss_bytes") if key in said}
        return Figures(
            events=said["events"], triples=said["events"], cpu_ns=said["cpu_ns"], wall_ns=said["wall_ns"], **known
        )

    def said(self, parameters: Mapping[str, Any], timeout_s: float, needed: Sequence[str]) -> dict[str, Any]:
        """Start it once; what it says, which must have what is needed."""
        said = _said([*self._command(), *(f"{key}={value}" for key, value in parameters.items())], timeout_s)
        if missing := sorted(set(needed) - said.keys()):
            raise RunError(f"{self._program} said nothing of {', '.join(missing)}")
        return said

    def _command(self) -> list[str]:
        found = self._found()
        if found is None:
            hint = f"; build it with: {self._build}" if self._build else ""
            raise AbsentError(f"{self._program} is absent{hint}")
        return [found, *(word.format(benchmarks=BENCHMARKS) for word in self._words)]

    def _found(self) -> str | None:
        """A program on the path, a file below `benchmarks`, or the newest bench of the engine with this name."""
        if self._program.startswith("bench:"):
            target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
            pattern = f"release/deps/{self._program.removeprefix('bench:')}-*"
            built = [path for path in target.glob(pattern) if path.suffix == "" and os.access(path, os.X_OK)]
            return str(max(built, key=lambda path: path.stat().st_mtime)) if built else None
        if "/" in self._program:
            path = BENCHMARKS / self._program
            return str(path) if path.exists() else None
        needed = [BENCHMARKS / word.format(benchmarks=BENCHMARKS) for word in self._words if word.endswith(".jar")]
        return shutil.which(self._program) if all(path.exists() for path in needed) else None


def _said(command: Sequence[str], timeout_s: float) -> dict[str, Any]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise RunError(f"stopped after {timeout_s:g} s") from None
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        raise RunError(done.stderr.strip() or f"{command[0]} ended with {done.returncode} and said nothing")
    try:
        said: dict[str, Any] = json.loads(lines[-1])
    except json.JSONDecodeError:
        raise RunError(f"{command[0]} said no JSON: {lines[-1][:200]}") from None
    return said
