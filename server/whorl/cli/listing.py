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


def show_table(columns: Iterable[str], rows: Iterable[Iterable[object]], *, empty: str = "nothing to list") -> None:
    """Print rows under their column headers; without rows, say so on standard error."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = [list(row) for row in rows]
    if not shown:
        typer.echo(empty, err=True)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, column in enumerate(columns):
        numeric = all(isinstance(row[at], int | float) for row in shown)
        table.add_column(column, overflow="fold", justify="right" if numeric else "left")
    for row in shown:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    console(sys.stdout).print(table)


def instant(at: object) -> str:
    """A watermark, if there is one."""
    return show_time(at) if isinstance(at, int) else ""
