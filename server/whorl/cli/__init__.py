"""The `whorl` command.

One file per command. Importing this package is quick: each command is loaded when it is asked for, and what is heavy
(the engine, the server, Arrow) is imported by the command that needs it, when it runs.
"""

from __future__ import annotations


def main() -> None:
    """The entry point."""
    from whorl.cli.app import app

    app(prog_name="whorl")
