"""`whorl serve`: the server. Its options are the fields of `Settings`, read from the model."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from whorl.cli.faults import CommandError, UsageError
from whorl.server.settings import Settings

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.fields import FieldInfo

_FIRST_QUERY = "average-temperature"


def command(*, demo: bool, **options: Any) -> None:  # noqa: ANN401 - one per field of Settings
    """Start the server.

    Every option can also be set in the environment: WHORL_PORT is --port. The first line that is printed is a ready
    URL. The admin token is made at the first start and kept in the data directory; on a terminal, the URL has it.

    Examples:
      whorl serve --demo
      whorl serve --data-dir /var/lib/whorl --port 9000
      whorl serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allowed-hosts streams.example.org
      WHORL_TOKEN=secret whorl serve --behind-proxy --host 0.0.0.0 --log-format json

    """
    settings = settings_of(options)
    from whorl.server.serve import StartError, serve

    try:
        serve(settings, on_ready=lambda address: _say_ready(address, settings, demo=demo))
    except StartError as error:
        raise CommandError(f"the server cannot start: {error}") from None


def _say_ready(address: str, settings: Settings, *, demo: bool) -> None:
    """The one line that is printed, when everything answers; then the demo may begin."""
    typer.echo(f"whorl is ready: {address}")
    if demo:
        from whorl.demo.player import start

        typer.echo(f"the demo plays; follow it with: whorl query {_FIRST_QUERY} --follow", err=True)
        start(address, _token(settings))


def _token(settings: Settings) -> str | None:
    """The admin token of the server that has just started, which has made one if it had none."""
    if settings.anonymous:
        return None
    if settings.token is not None:
        return settings.token.get_secret_value()
    from whorl.server.security import token_path

    return token_path(settings).read_text(encoding="utf-8").strip()


def settings_of(options: dict[str, Any]) -> Settings:
    """The settings: options that were given, then the environment, then defaults."""
    from pydantic import ValidationError

    # An option that may be repeated is an empty list when it was not given at all.
    given = {name: value for name, value in options.items() if value is not None and value != []}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise _usage_fault(error, given) from None


def _usage_fault(error: ValidationError, given: dict[str, Any]) -> UsageError:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    spelled = f"--{name.replace('_', '-')}" if name in given else f"WHORL_{name.upper()}"
    message = str(first["msg"])
    return UsageError(f"{spelled}: {message[:1].lower()}{message[1:]}")


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    """A field as an option of the same name; None means that it was not given."""
    flag = f"--{name.replace('_', '-')}"
    kind, metavar = _kind(field.annotation)
    names = [f"{flag}/--no-{flag.removeprefix('--')}"] if kind is bool else [flag]
    option = typer.Option(*names, help=_help(name, field), metavar=metavar, show_default=False)
    optional: Any = Annotated[kind | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=optional)


def _kind(annotation: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - a type as pydantic has it
    """What the command line reads, and how it is called; the model checks it once more."""
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
        annotation=Annotated[bool, typer.Option("--demo", help="play the demo: two streams and a gallery of queries")],
    )
    return inspect.Signature([demo, *(_option(name, field) for name, field in Settings.model_fields.items())])


command.__signature__ = _signature()  # type: ignore[attr-defined]
command.__annotations__ = {}
