"""Lists: a table for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any, TypeAlias

import typer

from whorl.cli.terminal import console
from whorl.cli.times import show_time

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the server's JSON documents.")]


def show_json(document: Any) -> None:  # noqa: ANN401 - JSON
    """Print the server's documents."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def show_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print rows under their column headers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    console(sys.stdout).print(table)


def instant(at: object) -> str:
    """A watermark, if there is one."""
    return show_time(at) if isinstance(at, int) else ""


def bytes_text(count: float) -> str:
    """A size for people: `512 MB`, `1.5 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
