"""Progress of a producer on standard error: a live table on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from whorl.cli.terminal import console, is_terminal
from whorl.cli.times import show_time

if TYPE_CHECKING:
    from rich.live import Live

    from whorl.spark.produce import Production

_LINE_EVERY_S = 10.0


class Display:
    """Shows the streams of one producer."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        self._name = name
        self._quiet = quiet
        self._live: Live | None = None
        self._began = self._told = time.monotonic()

    def say(self, text: str) -> None:
        """Print a separate line."""
        if not self._quiet:
            typer.echo(f"{self._name}: {text}", err=True)

    def __enter__(self) -> Self:
        self._began = self._told = time.monotonic()
        if not self._quiet and is_terminal(sys.stderr):
            from rich.live import Live

            self._live = Live(console=console(sys.stderr), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, productions: list[Production]) -> None:
        """Show what has been written so far."""
        if self._live is not None:
            from rich.table import Table

            table = Table(box=None, pad_edge=False, show_header=False)
            for one in productions:
                table.add_row(one.output.name, *self._figures(one))
            self._live.update(table)
        elif time.monotonic() - self._told >= _LINE_EVERY_S:
            self._told = time.monotonic()
            self._lines(productions)

    def sum_up(self, productions: list[Production]) -> None:
        """Show the totals."""
        self._lines(productions, otherwise="nothing new")

    def _lines(self, productions: list[Production], otherwise: str = "nothing yet") -> None:
        for one in productions:
            figures = self._figures(one) if one.batches else (otherwise,)
            self.say(f"{one.output.name}: {' · '.join(figures)}")

    def _figures(self, one: Production) -> tuple[str, ...]:
        seconds = max(1e-3, time.monotonic() - self._began)
        figures = (f"{one.rows:,} rows", f"{one.batches:,} batches", f"{one.rows / seconds:,.0f} rows/s")
        return figures if one.position is None else (*figures, f"up to {show_time(one.position)}")
