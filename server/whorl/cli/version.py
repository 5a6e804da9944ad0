"""`whorl version`."""

from __future__ import annotations

import typer


def command() -> None:
    """Show the version.

    Example:
      whorl version

    """
    from whorl import __version__

    typer.echo(f"whorl {__version__}")
