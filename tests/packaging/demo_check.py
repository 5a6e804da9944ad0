"""`docker compose --profile spark up` without Docker: its services, as docker-compose.yml has them, run by podman.

Of the file: images, commands, variables, volumes, what may be written, limits, and who waits for whom. Not of the file:
the network. The containers share one that has nothing but a loopback address, and find `whorl` there.

    python tests/packaging/demo_check.py      with images that are built already
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml
from containers import OPTIONS, attempt, check_confinement, logs, podman, wait_until_healthy
from images import BUILD, IMAGES, ROOT, require_tools

_PROJECT = "whorl-demo"
_RESULTS_SECONDS = 120
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_CHOSEN = {"WHORL_IMAGE": IMAGES["server"], "WHORL_SPARK_IMAGE": IMAGES["spark"]}


def check_demo() -> None:
    """The demo comes up in the order of the file and answers what Spark writes; a second time, all of it goes on."""
    check_producers()
    services = demo_services()
    with volumes(services):
        began, newest, first_s = up(services)
        if began:
            raise SystemExit(f"there were answers before there were trips: {began}")
        print(f"demo: the newest trip of an answer ended at {newest}, {first_s:.0f} s after the start")
        began, newest, again_s = up(services)
        if not began:
            raise SystemExit("nothing was left after another start")
        print(f"demo: another start found trips until {began}, and {again_s:.0f} s later had those until {newest}")


def check_producers() -> None:
    """The output of the Spark image without arguments."""
    listed = podman("run", "--rm", "--network", "none", "--read-only", *OPTIONS, IMAGES["spark"])
    if "taxi-trips" not in listed:
        raise SystemExit(f"the image of Spark lists no producers:\n{listed}")


def demo_services() -> dict[str, dict[str, Any]]:
    """What `docker compose --profile spark up` starts, those that others wait for first."""
    text = (ROOT / "docker-compose.yml").read_text()
    filled = _VARIABLE.sub(lambda found: _CHOSEN.get(found.group(1), found.group(2) or ""), text)
    found = yaml.safe_load(filled)["services"].items()
    services = {name: one for name, one in found if one.get("profiles", ["spark"]) == ["spark"]}
    order = TopologicalSorter({name: one.get("depends_on", {}) for name, one in services.items()}).static_order()
    return {name: services[name] for name in order}


@contextmanager
def volumes(services: dict[str, dict[str, Any]]) -> Iterator[None]:
    """The volumes of the services, removed at the end."""
    named = {place.split(":")[0] for one in services.values() for place in one["volumes"] if place[0] != "."}
    try:
        yield
    finally:
        podman("volume", "rm", "--force", *(f"{_PROJECT}-{name}" for name in sorted(named)))


def up(services: dict[str, dict[str, Any]]) -> tuple[str, str, float]:
    """Start all, wait for answers, take all down.

    The newest trip in the answer before Spark began, the one afterwards, and how long all took, in seconds.
    """
    began, before = time.monotonic(), ""
    try:
        for name, service in services.items():
            for other, wanted in service.get("depends_on", {}).items():
                wait_for(container(other), wanted["condition"])
            if name == "producer":
                before = newest_trip()
            podman("run", "--detach", *arguments(name, service))
        after = wait_for_trips(before)
        for name in ("whorl", "producer"):
            check_confinement(container(name))
        return before, after, time.monotonic() - began
    finally:
        # Those that use the network of another are removed before it.
        for name in reversed(services):
            attempt("rm", "--force", "--time", "15", container(name))


def container(service: str) -> str:
    """The name of the container of a service."""
    return f"{_PROJECT}-{service}"


def arguments(name: str, service: dict[str, Any]) -> list[str]:
    """A service as words for `podman run`."""
    words = ["--network", "none" if name == "whorl" else f"container:{container('whorl')}"]
    words += [
        "--volume",
        f"{hosts_file()}:/etc/hosts:ro",
        "--name",
        container(name),
        *OPTIONS,
        "--cap-drop",
        *service["cap_drop"],
    ]
    words += [f"--read-only={str(service['read_only']).lower()}", "--read-only-tmpfs=false"]
    words += [word for option in service["security_opt"] for word in ("--security-opt", option.removesuffix(":true"))]
    words += [word for place in service.get("tmpfs", []) for word in ("--tmpfs", place)]
    words += [word for place in service["volumes"] for word in ("--volume", volume(place))]
    words += [word for setting in service["environment"].items() for word in ("--env", "=".join(setting))]
    if "mem_limit" in service:
        words += ["--memory", service["mem_limit"], "--pids-limit", str(service["pids_limit"])]
    return [*words, service["image"], *service["command"]]


def hosts_file() -> Path:
    """The names of the network: it has one address."""
    path = BUILD / "hosts"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("127.0.0.1 localhost whorl\n")
    return path


def volume(place: str) -> str:
    """A volume in the compose file: one for this check, or a path of the repository."""
    return str(ROOT / place) if place.startswith(".") else f"{_PROJECT}-{place}"


def wait_for(name: str, condition: str) -> None:
    """What `depends_on` says."""
    if condition == "service_healthy":
        wait_until_healthy(name)
    elif podman("wait", name) != "0":
        raise SystemExit(f"{name} did not end well:\n{logs(name)}")


def wait_for_trips(before: str) -> str:
    """The newest trip of the answer, when it is newer than that."""
    deadline = time.monotonic() + _RESULTS_SECONDS
    while (newest := newest_trip()) <= before:
        if time.monotonic() > deadline:
            raise SystemExit(f"no answers:\n{logs(container('producer'))}\n{logs(container('whorl'))}")
        time.sleep(1)
    return newest


def newest_trip() -> str:
    """The newest trip in the current answer, asked for as docs/how-to/deploy.md does; nothing if there is none."""
    asked = podman("exec", container("whorl"), "whorl", "query", "frequent-routes", "--format", "json")
    return max((row["latest"]["value"] for row in json.loads(asked)["results"]["bindings"]), default="")


if __name__ == "__main__":
    require_tools()
    check_demo()
