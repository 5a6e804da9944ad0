"""The command line reference, generated from the help of each command: `python -m whorl.cli.reference`.

A test compares it with docs/reference/cli.md.
"""

from __future__ import annotations

import sys

from typer.testing import CliRunner

from whorl.cli.app import COMMANDS, app, load

_HEAD = """# Command line

The output of `--help` for each command; see also [how to use them](../how-to/command-line.md). This page is generated
by `python -m whorl.cli.reference > docs/reference/cli.md`.

Standard output carries data only; summaries, progress and errors go to standard error. Without a terminal there are no
colours and no animations; `NO_COLOR` disables colours.

## whorl
"""


def reference() -> str:
    """The whole page."""
    parts = [_HEAD, _help()]
    for command in COMMANDS:
        parts += [f"\n## whorl {command}\n", _help(command)]
        for inner in getattr(load(command), "commands", ()):
            parts += [f"\n### whorl {command} {inner}\n", _help(command, inner)]
    return "".join(parts)


def _help(*command: str) -> str:
    # The width of the page, whatever the terminal has.
    shown = CliRunner().invoke(app, [*command, "--help"], prog_name="whorl", terminal_width=100, max_content_width=100)
    return f"\n```text\n{shown.stdout.rstrip()}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
