"""The checks of `whorl doctor`: each returns one sentence and, for a fault, what to do about it.

They change nothing and read no secret: for a token they only report whether it is set and who can read its file.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from whorl.cli.counts import size
from whorl.server.config import config_path, read_config
from whorl.server.security import check_exposure, is_loopback, token_path
from whorl.server.settings import Settings, unknown_names

if TYPE_CHECKING:
    from whorl_client import Client

State = Literal["ok", "warning", "fault"]
_FREE_BYTES_MIN = 1024**3
_FREE_SHARE_MIN = 0.05
_PACKAGES = ("whorl", "whorl-client", "fastapi", "uvicorn", "pyspark", "pyarrow", "pandas")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    state: State
    says: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that differs from its default, and its origin; the value of a secret is left out."""

    name: str
    value: str
    source: str


@dataclass(slots=True)
class Subjects:
    """The subjects of the checks: the settings that a server would start with, and the running server, if any."""

    settings: Settings
    config: Path | None
    client: Client | None
    settings_set: list[Setting] = field(default_factory=list)


def checks(subjects: Subjects) -> Iterator[Check]:
    """All checks, in the order in which they would affect a start."""
    for look in _LOOKS:
        yield from look(subjects)


def settings_set(settings: Settings, config: Path | None) -> list[Setting]:
    """The settings that differ from their defaults."""
    path = config_path(config)
    said = {} if path is None else read_config(path)
    variables = {name.upper() for name in os.environ}
    found = []
    for name in Settings.model_fields:
        in_environment = f"WHORL_{name.upper()}" in variables
        if in_environment or name in said:
            source = f"WHORL_{name.upper()}" if in_environment else str(path)
            found.append(Setting(name, _shown(getattr(settings, name)), source))
    return found


def _shown(value: object) -> str:
    return "(set, not shown)" if isinstance(value, SecretStr) else str(value)


def versions() -> dict[str, str]:
    """Versions of Python, the system, and the installed packages."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


# ---- checks ----


def _versions(subjects: Subjects) -> Iterator[Check]:
    del subjects
    found = versions()
    shown = ", ".join(f"{name} {found[name]}" for name in ("whorl", "whorl-client", "python") if name in found)
    same = found.get("whorl") == found.get("whorl-client")
    hint = None if same else "install whorl and whorl-client of one version"
    yield Check("versions", "ok" if same else "warning", f"{shown}, {platform.system()} {platform.machine()}", hint)


def _settings(subjects: Subjects) -> Iterator[Check]:
    chosen = ", ".join(f"{one.name} ({one.source})" for one in subjects.settings_set)
    yield Check("settings", "ok", f"set: {chosen}" if chosen else "all are defaults")
    for name in unknown_names(os.environ):
        yield Check("settings", "warning", f"{name} is not a setting and has no effect", "docs/reference/settings.md")
    try:
        check_exposure(subjects.settings)
    except ValueError as error:
        yield Check("exposure", "fault", str(error))
        return
    where = "loopback only" if is_loopback(subjects.settings.host) else f"reachable from outside, {_tls(subjects)}"
    yield Check("exposure", "ok", f"{subjects.settings.host} port {subjects.settings.port}: {where}")


def _tls(subjects: Subjects) -> str:
    return "TLS" if subjects.settings.tls_cert is not None else "TLS by a proxy"


def _config_file(subjects: Subjects) -> Iterator[Check]:
    path = config_path(subjects.config)
    if path is None or "token" not in read_config(path) or not _is_open(path):
        return
    hint = f"chmod 600 {path}, or use token_file"
    yield Check("config file", "warning", f"{path} has the admin token, and others can read it", hint)


def _data_directory(subjects: Subjects) -> Iterator[Check]:
    path = subjects.settings.data_dir
    if not path.exists():
        yield _missing_directory(path)
    elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Check("data directory", "fault", f"{path} cannot be written", f"its owner must be {_user()}")
    elif _is_open(path):
        yield Check("data directory", "warning", f"{path} can be read by others", "a start makes it private")
    else:
        yield Check("data directory", "ok", f"{path.resolve()} is writable and private")


def _missing_directory(path: Path) -> Check:
    parent = next(one for one in path.absolute().parents if one.exists())
    if os.access(parent, os.W_OK):
        return Check("data directory", "ok", f"{path} is created at the first start")
    return Check(
        "data directory", "fault", f"{path} is missing and {parent} cannot be written", "create it, or set data_dir"
    )


def _token(subjects: Subjects) -> Iterator[Check]:
    settings = subjects.settings
    path = token_path(settings)
    if settings.anonymous or settings.token is not None:
        yield Check("admin token", "ok", "none is needed" if settings.anonymous else "is set")
    elif not path.exists():
        is_named = settings.token_file is not None
        state: State = "fault" if is_named else "ok"
        hint = f"create {path}" if is_named else None
        yield Check("admin token", state, f"{path} is missing" if is_named else "is created at the first start", hint)
    elif not os.access(path, os.R_OK):
        yield Check("admin token", "fault", f"{path} cannot be read", f"its owner must be {_user()}")
    elif _is_open(path):
        yield Check("admin token", "warning", f"{path} can be read by others", f"chmod 600 {path}")
    else:
        yield Check("admin token", "ok", f"{path} is readable by its owner alone")


def _disk(subjects: Subjects) -> Iterator[Check]:
    path = subjects.settings.data_dir.absolute()
    there = path if path.exists() else next(one for one in path.parents if one.exists())
    usage = shutil.disk_usage(there)
    shown = f"{size(usage.free)} of {size(usage.total)} are free"
    is_low = usage.free < _FREE_BYTES_MIN or usage.free < _FREE_SHARE_MIN * usage.total
    hint = "a full disk refuses events: make room, or set data_dir" if is_low else None
    yield Check("disk", "warning" if is_low else "ok", shown, hint)


def _server(subjects: Subjects) -> Iterator[Check]:
    if subjects.client is not None:
        yield _answering(subjects.client)
        return
    settings = subjects.settings
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((settings.host.strip("[]"), settings.port))
        except OSError as error:
            hint = "stop what listens there, or choose another port"
            yield Check("server", "fault", f"port {settings.port} cannot be used: {error.strerror}", hint)
            return
    yield Check("server", "ok", f"none runs; port {settings.port} is free")


def _answering(client: Client) -> Check:
    from whorl_client import WhorlError

    try:
        failed = [query.name for query in client.queries.list() if query.status == "failed"]
    except WhorlError as error:
        return Check("server", "warning", f"{client.url} answers: {error}", "give --token")
    if failed:
        return Check("server", "warning", f"{client.url} runs; failed: {', '.join(failed)}", "whorl why NAME says why")
    return Check("server", "ok", f"{client.url} runs")


def _spark(subjects: Subjects) -> Iterator[Check]:
    del subjects
    if "pyspark" not in versions():
        return
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    hint = None if java else "install Java 17, or set JAVA_HOME"
    yield Check(
        "Spark", "ok" if java else "warning", f"pyspark {version('pyspark')}, Java {java or 'is missing'}", hint
    )


_LOOKS: tuple[Callable[[Subjects], Iterator[Check]], ...] = (
    _versions,
    _settings,
    _config_file,
    _data_directory,
    _token,
    _disk,
    _server,
    _spark,
)


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def _user() -> str:
    return f"user {os.getuid()}" if sys.platform != "win32" else "the user of the server"
