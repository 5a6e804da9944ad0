"""Error messages and exit codes of commands.

An error is printed on standard error in three parts: what is wrong, where (with the line and a caret, if the position
is known), and what to do about it.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import typer

REFUSED = 1
USAGE = 2
NO_CONNECTION = 3
INTERRUPTED = 130

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text; lines and columns start at 1."""

    source: str
    text: str
    line: int
    column: int | None = None


class CommandError(Exception):
    """A command failed."""

    def __init__(
        self, message: str, *, hint: str | None = None, place: Place | None = None, exit_code: int = REFUSED
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place
        self.exit_code = exit_code


class Ended(KeyboardInterrupt):
    """A signal other than SIGINT ends the command, after its cleanup."""

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.exit_code = 128 + signal_number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does.

    SIGINT is ignored in background jobs of a script, and stays so; SIGTERM then ends the command. A signal that is
    ignored stays ignored (`nohup`), and a second one ends the process at once.
    """
    caught = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)
        raise Ended(number)

    for number in caught:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


class UsageError(CommandError):
    """Options that exclude each other, or invalid values."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, exit_code=USAGE)


def fault_of(error: Any, source: str | None = None, text: str | None = None) -> CommandError:  # noqa: ANN401 - of two packages
    """The command's error for an exception of the engine or the client with `message`, `hint`, `line` and `column`."""
    line: int | None = getattr(error, "line", None)
    place = None
    if source is not None and text is not None and line is not None:
        place = Place(source, text, line, getattr(error, "column", None))
    message = getattr(error, "message", None) or str(error)
    if place is None and line is not None:
        message = f"{message} at line {line}, column {getattr(error, 'column', None)}"
    return CommandError(message, hint=getattr(error, "hint", None), place=place)


def describe(fault: CommandError, kind: str = "error") -> str:
    """The lines to show, with a caret under the column."""
    lines = [f"{kind}: {fault.message}"]
    if fault.place is not None:
        lines += _pointer(fault.place)
    if fault.hint is not None:
        lines.append(f"hint: {fault.hint}")
    return "\n".join(lines)


def show_warnings(warnings: Iterable[Mapping[str, Any]], source: str, text: str) -> None:
    """Print warnings about a query on standard error, with the line they refer to."""
    for warning in warnings:
        line, column = warning.get("line"), warning.get("column")
        place = None if line is None else Place(source, text, line, column)
        fault = CommandError(warning["message"], hint=warning.get("hint"), place=place)
        typer.echo(describe(fault, "warning"), err=True)


def _pointer(place: Place) -> list[str]:
    where = f"{place.source}:{place.line}" + ("" if place.column is None else f":{place.column}")
    source_lines = place.text.splitlines()
    if not 0 < place.line <= len(source_lines):
        return [f"  --> {where}"]
    shown = source_lines[place.line - 1]
    margin = " " * len(str(place.line))
    pointer = [f"  --> {where}", f"{place.line} | {shown}"]
    if place.column is not None:
        # Keep tabs, so that the caret is under its character whatever their width.
        before = "".join("\t" if character == "\t" else " " for character in shown[: place.column - 1])
        pointer.append(f"{margin} | {before}^")
    return pointer


def reports_faults(command: Command) -> Command:
    """Turn the exceptions of a command into messages and exit codes."""

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - any command
        try:
            return command(*args, **options)
        except CommandError as fault:
            typer.echo(describe(fault), err=True)
            raise typer.Exit(fault.exit_code) from None
        except Ended as ended:
            raise typer.Exit(ended.exit_code) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader of our output has closed the pipe (`| head`). Python would complain again when it flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return guarded  # type: ignore[return-value]  # it has the signature of the command
