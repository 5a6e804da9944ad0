"""The terminal, if there is one: colours and moving parts only where somebody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Wide enough that nothing is folded when a table goes to a file or a pipe.
_PIPE_WIDTH = 240


def console(out: TextIO) -> Console:
    """A console on a stream. Without a terminal there is no colour and no markup; NO_COLOR is respected by rich."""
    from rich.console import Console

    terminal = is_terminal(out)
    return Console(
        file=out, width=None if terminal else _PIPE_WIDTH, force_terminal=terminal, highlight=False, markup=False
    )


def is_terminal(out: TextIO) -> bool:
    """Whether somebody looks."""
    return bool(getattr(out, "isatty", lambda: False)())
