"""`whorl serve`: the server. Its options are the fields of `Settings`, read from the model."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from whorl.cli.faults import CommandError, UsageError
from whorl.server.config import ConfigError, load_settings
from whorl.server.settings import SettingNameError, Settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from whorl.demo.pace import Pace

_FIRST_QUERY = "average-temperature"


def command(*, demo: bool, config: Path | None, **options: Any) -> None:  # noqa: ANN401 - one per field of Settings
    """Start the server.

    Options override the environment (WHORL_PORT is --port), which overrides a TOML file (port = 9000). Standard output
    has one line, the address, once the server is ready. The first start creates the admin token in the data directory;
    on a terminal the address includes it, and `whorl token` prints it again.

    Examples:
      whorl serve --demo
      whorl serve --data-dir /var/lib/whorl --port 9000
      whorl serve --config /etc/whorl/whorl.toml
      whorl serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allowed-hosts streams.example.org
      WHORL_TOKEN=secret whorl serve --behind-proxy --host 0.0.0.0 --log-format json

    """
    settings = settings_of(options, config)
    from whorl.demo.pace import Pace
    from whorl.server.serve import StartError, serve

    pace = Pace() if demo else None
    try:
        serve(settings, on_ready=lambda address: _say_ready(address, settings, pace), pace=pace)
    except StartError as error:
        raise CommandError(f"the server cannot start: {error}") from None


def _say_ready(address: str, settings: Settings, pace: Pace | None) -> None:
    """Print one line once the server is ready; then the demo may begin."""
    token = _token(settings)
    if pace is not None:
        # On a terminal, the demo prints its token again at each start. It must not reach a file or a log.
        if token is not None and "#" not in address and sys.stdout.isatty():
            address = f"{address}#token={token}"
        typer.echo(f"the demo is running; follow it with: whorl query {_FIRST_QUERY} --follow", err=True)
    if token is not None and "#" not in address:
        typer.echo("open the console, signed in, with: whorl open", err=True)
    typer.echo(f"whorl is ready: {address}")
    if pace is not None:
        from whorl.demo.player import start

        start(address, token, pace)


def _token(settings: Settings) -> str | None:
    """The admin token of the server that has just started."""
    if settings.anonymous:
        return None
    if settings.token is not None:
        return settings.token.get_secret_value()
    from whorl.server.security import token_path

    return token_path(settings).read_text(encoding="utf-8").strip()


def settings_of(options: dict[str, Any], config: Path | None = None) -> Settings:
    """The settings: command line options, then the environment, then the file, then defaults."""
    # A repeatable option that was not given is an empty list.
    given = {name: value for name, value in options.items() if value is not None and value != []}
    try:
        return load_settings(given, config)
    except (ConfigError, SettingNameError) as error:
        raise UsageError(str(error)) from None


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    """A field as an option of the same name; None means not given."""
    flag = f"--{name.replace('_', '-')}"
    kind, metavar = _kind(field.annotation)
    names = [f"{flag}/--no-{flag.removeprefix('--')}"] if kind is bool else [flag]
    option = typer.Option(*names, help=_help(name, field), metavar=metavar, show_default=False)
    optional: Any = Annotated[kind | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=optional)


def _kind(annotation: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - a type as pydantic has it
    """The type of the option and its metavar; the model validates the value again."""
    if get_origin(annotation) is Literal:
        return str, "|".join(get_args(annotation))
    if get_origin(annotation) is tuple:
        return list[str], "TEXT"
    inner = next((part for part in get_args(annotation) if part is not type(None)), annotation)
    plain = inner if inner in (bool, int, float, Path) else str
    return plain, {int: "N", float: "N", Path: "PATH", str: "TEXT"}.get(plain)


def _help(name: str, field: FieldInfo) -> str:
    described = field.description or name.replace("_", " ")
    default = field.default
    shown = "" if default in (None, (), False) else f"; default {default}"
    return f"{described} [WHORL_{name.upper()}{shown}]"


def _signature() -> inspect.Signature:
    demo = inspect.Parameter(
        "demo",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[
            bool, typer.Option("--demo", help="run the demo: a building, taxis, and a gallery of queries")
        ],
    )
    config = inspect.Parameter(
        "config",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            Path | None, typer.Option("--config", metavar="FILE.toml", help="settings in a file [WHORL_CONFIG]")
        ],
    )
    return inspect.Signature([demo, config, *(_option(name, field) for name, field in Settings.model_fields.items())])


command.__signature__ = _signature()  # type: ignore[attr-defined]  # inspect reads it, mypy does not know it
command.__annotations__ = {}
