"""The commands as one application.

A command is a module of this package with a function `command`; a group of commands is a module with `COMMANDS` and
`group`. Only its name is known here until it is called.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from whorl.cli.faults import reports_faults

# In the order of `whorl --help`: the most common first.
COMMANDS = (
    "serve",
    "open",
    "push",
    "query",
    "queries",
    "streams",
    "explain",
    "why",
    "run",
    "spark",
    "status",
    "demo",
    "token",
    "tokens",
    "doctor",
    "backup",
    "restore",
    "bench",
    "version",
)

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer does not publish its context class
        """The names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - typer does not publish its context class
        """One command, imported now; None if there is no such command."""
        return load(cmd_name) if cmd_name in COMMANDS else None


def load(name: str) -> Any:  # noqa: ANN401 - as above
    """The command or the group of that name."""
    module = importlib.import_module(f"whorl.cli.{name}")
    if not hasattr(module, "COMMANDS"):
        return typer.main.get_command(_with(_typer(), name, module.command))
    group = _typer(name=name, no_args_is_help=True)
    group.callback(help=_help(module.group), context_settings=_SETTINGS)(module.group)
    for inner, function in module.COMMANDS.items():
        _with(group, inner, function)
    return typer.main.get_command(group)


def _typer(**options: Any) -> typer.Typer:  # noqa: ANN401 - as above
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **options)


def _with(commands: typer.Typer, name: str, function: Callable[..., Any]) -> typer.Typer:
    commands.command(name, help=_help(function), context_settings=_SETTINGS)(reports_faults(function))
    return commands


def _help(function: Callable[..., Any]) -> str:
    """The docstring, with a backspace before examples and tables, which makes typer keep their lines."""
    return re.sub(r"\n\n(?=\w[^\n]*:\n)", "\n\n\b\n", inspect.getdoc(function) or "")


def _show_version(wanted: bool) -> None:
    if wanted:
        importlib.import_module("whorl.cli.version").command()
        raise typer.Exit


def whorl(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Continuous SPARQL over RDF streams.

    First steps:
      whorl serve --demo
      whorl query average-temperature --follow
      whorl run query.rspql --input events.nq

    Exit codes:
      0    success
      1    refused: an invalid query, invalid data, or a problem reported by the server
      2    wrong usage
      3    cannot connect to the server
      130  interrupted (Ctrl-C)
      143  terminated (SIGTERM); works in background jobs, too
    """


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)
app.callback(help=_help(whorl))(whorl)
