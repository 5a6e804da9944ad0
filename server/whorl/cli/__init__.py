"""The `whorl` command.

One file per command. Importing this package is quick: each command is loaded when it is asked for, and what is heavy
(the engine, the server, Arrow) is imported by the command that needs it, when it runs.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point."""
    try:
        from whorl.cli.app import app
    except ModuleNotFoundError as error:
        # The engine can be installed without what the command is made of.
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(f"error: the command needs {error.name}\nhint: pip install 'whorl[server]'\n")
        sys.exit(1)
    app(prog_name="whorl")
