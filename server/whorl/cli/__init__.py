"""The `whorl` command.

One file per command. Importing this package is fast: each command is loaded when it is called, and heavy modules (the
engine, the server, Arrow) are imported by the command that needs them, when it runs.
"""

from __future__ import annotations


def main() -> None:
    """The entry point."""
    from whorl.cli.app import app

    app(prog_name="whorl")
