"""The commands as one application.

A command is a module of this package with a function `command`, a group of commands one with functions `COMMANDS` and
`group`. Its name here is all that is known of it until it is asked for.
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

# In the order of `whorl --help`: from the first minute to the rare.
COMMANDS = (
    "serve",
    "push",
    "query",
    "queries",
    "streams",
    "explain",
    "run",
    "spark",
    "status",
    "backup",
    "restore",
    "version",
)

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer does not publish its context class
        """The names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
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
    """The docstring; examples and tables are shown line by line, which typer is told by a backspace before them."""
    return re.sub(r"\n\n(?=\w[^\n]*:\n)", "\n\n\b\n", inspect.getdoc(function) or "")


def _show_version(wanted: bool) -> None:
    if wanted:
        importlib.import_module("whorl.cli.version").command()
        raise typer.Exit


def whorl(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Continuous SPARQL over RDF streams.

    First steps:
      whorl serve --demo
      whorl query average-temperature --follow
      whorl run query.rspql --input events.nq

    Exit codes:
      0    done
      1    refused: a wrong query, wrong data, a problem the server told
      2    wrong use of the command
      3    no connection to the server
      130  interrupted (Ctrl-C)
      143  ended by SIGTERM, which works in the background too
    """


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)
app.callback(help=_help(whorl))(whorl)
