"""`make compose-check`: the compose files by Docker's own reader, with every profile; the Dockerfile by hadolint.

Needs `docker compose` or `docker-compose`. promtool says more when it is there.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ("demo", "spark", "monitoring", "kafka")
FILES = (("docker-compose.yml",), ("docker-compose.yml", "docker-compose.tls.yml"))


def main() -> int:
    """Run every check that this machine can; 1 if one of them found something."""
    compose = compose_command()
    checks = [
        [*compose, *files_of(files), *chosen, "config", "--quiet"] for files in FILES for chosen in combinations()
    ]
    for tool, arguments in (
        ("hadolint", ["--config", ".hadolint.yaml", "docker/Dockerfile"]),
        ("promtool", ["check", "config", "--syntax-only", "docker/prometheus/prometheus.yml"]),
        ("promtool", ["check", "rules", "docker/prometheus/alerts.yml"]),
    ):
        found = shutil.which(tool)
        if found is None:
            print(f"skipped: {tool} is not on this machine")
        else:
            checks.append([found, *arguments])
    return int(sum(failed(check) for check in checks) > 0)


def compose_command() -> list[str]:
    """How compose is called here."""
    plugin = ["docker", "compose"]
    if (
        shutil.which("docker")
        and subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode == 0
    ):
        return plugin
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise SystemExit("neither docker compose nor docker-compose is on this machine: install one of them")


def files_of(files: tuple[str, ...]) -> list[str]:
    """The files as options."""
    return [word for name in files for word in ("--file", name)]


def combinations() -> list[list[str]]:
    """Every choice of profiles, as options."""
    chosen = (some for count in range(len(PROFILES) + 1) for some in itertools.combinations(PROFILES, count))
    return [[word for profile in profiles for word in ("--profile", profile)] for profiles in chosen]


def failed(command: list[str]) -> bool:
    """Run a check and tell how it went."""
    settings = {**os.environ, "WHORL_PUBLIC_HOST": "streams.example.org"}
    ended = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    shown = " ".join([Path(command[0]).name, *command[1:]])
    print(f"{'wrong' if ended.returncode else 'ok'}: {shown}")
    if ended.returncode:
        print(ended.stdout + ended.stderr, file=sys.stderr)
    return ended.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
