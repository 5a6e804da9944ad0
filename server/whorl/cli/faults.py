"""What a command says when it fails, and the exit code it leaves with.

A fault is told on standard error in three parts: what is wrong, where (with the line and a caret, when the place is
known), and what to do about it.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
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
    """Where in which text; lines and columns start at 1."""

    source: str
    text: str
    line: int
    column: int | None = None


class CommandError(Exception):
    """A command cannot do what it was told."""

    def __init__(
        self, message: str, *, hint: str | None = None, place: Place | None = None, exit_code: int = REFUSED
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place
        self.exit_code = exit_code


class Ended(KeyboardInterrupt):
    """A signal other than SIGINT ends the command; what it has to put away, it puts away first."""

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.exit_code = 128 + signal_number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does.

    SIGINT is ignored in the background of a script, and stays so; SIGTERM is then how the command is ended. A signal
    that is ignored stays ignored (`nohup`), and a second one ends the process at once.
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
    """Options that do not go together, or values that mean nothing."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, exit_code=USAGE)


def fault_of(error: Any, source: str | None = None, text: str | None = None) -> CommandError:  # noqa: ANN401
    """The fault that an error with `message`, `hint`, `line` and `column` is: of the engine, or told by a server."""
    line: int | None = getattr(error, "line", None)
    known = source is not None and text is not None and line is not None
    place = Place(source, text, line, getattr(error, "column", None)) if known else None  # type: ignore[arg-type]
    message = getattr(error, "message", None) or str(error)
    if place is None and line is not None:
        message = f"{message} at line {line}, column {getattr(error, 'column', None)}"
    return CommandError(message, hint=getattr(error, "hint", None), place=place)


def describe(fault: CommandError) -> str:
    """The lines that are shown; the caret stands under the column."""
    lines = [f"error: {fault.message}"]
    if fault.place is not None:
        lines += _pointer(fault.place)
    if fault.hint is not None:
        lines.append(f"hint: {fault.hint}")
    return "\n".join(lines)


def _pointer(place: Place) -> list[str]:
    where = f"{place.source}:{place.line}" + ("" if place.column is None else f":{place.column}")
    source_lines = place.text.splitlines()
    if not 0 < place.line <= len(source_lines):
        return [f"  --> {where}"]
    shown = source_lines[place.line - 1]
    margin = " " * len(str(place.line))
    pointer = [f"  --> {where}", f"{place.line} | {shown}"]
    if place.column is not None:
        # Tabs stay tabs, so that the caret stands under its character whatever their width is.
        before = "".join("\t" if character == "\t" else " " for character in shown[: place.column - 1])
        pointer.append(f"{margin} | {before}^")
    return pointer


def reports_faults(command: Command) -> Command:
    """The command, whose faults become messages and exit codes."""

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:  # noqa: ANN401
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
            # The reader of our output has enough (`| head`). Python would complain once more when it flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return guarded  # type: ignore[return-value]
