"""The terminal, if there is one: colours and animations appear only there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Wide enough that no line wraps when a table goes to a file or a pipe.
_PIPE_WIDTH = 240


def console(out: TextIO) -> Console:
    """A console on a stream, without colour or markup if it is not a terminal; rich respects NO_COLOR."""
    from rich.console import Console

    terminal = is_terminal(out)
    return Console(
        file=out, width=None if terminal else _PIPE_WIDTH, force_terminal=terminal, highlight=False, markup=False
    )


def is_terminal(out: TextIO) -> bool:
    """Whether the stream is a terminal."""
    return bool(getattr(out, "isatty", lambda: False)())
