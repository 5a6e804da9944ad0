"""A table that follows a query on a terminal: the newest rows on top, as many as fit."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TextIO

from whorl.cli.results import Envelope, cells, rows, variables
from whorl.cli.terminal import console
from whorl.cli.times import show_time

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from whorl.cli.names import Names

# Rows of the terminal that are not rows of the table: title, header, rules, caption.
_FRAME_ROWS = 7
_ROWS_MIN = 5


class LiveTable:
    """Answers in place of each other; at the end the last state stays on the screen."""

    def __init__(self, name: str, names: Names, out: TextIO) -> None:
        from rich.live import Live

        self._name = name
        self._names = names
        self._console = console(out)
        self._rows: deque[list[Any]] = deque(maxlen=max(_ROWS_MIN, self._console.height - _FRAME_ROWS))
        self._columns: list[str] = []
        self._n_answers = 0
        self._n_rows = 0
        self._watermark: int | None = None
        self._live = Live(self._view(), console=self._console, auto_refresh=False)
        self._live.start()

    def write(self, envelope: Envelope) -> None:
        """An answer: its rows on top, in their order."""
        from rich.text import Text

        signed = envelope["type"] == "changes"
        self._columns = (["±"] if signed else []) + variables(envelope)
        at = Text(show_time(envelope["t"]))
        found = [[at, *cells(row, variables(envelope), self._names, signed=signed)] for row in rows(envelope)]
        self._rows.extendleft(reversed(found))
        self._n_answers += 1
        self._n_rows += len(found)
        self._live.update(self._view(), refresh=True)

    def progress(self, progress: Any) -> None:  # noqa: ANN401 - whorl_client is imported late
        """Nothing happened up to here: silence and standstill look different."""
        self._watermark = progress.watermark
        self._live.update(self._view(), refresh=True)

    def close(self) -> None:
        """Let the terminal go."""
        self._live.stop()

    def _view(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        reached = "" if self._watermark is None else f" · watermark {show_time(self._watermark)}"
        caption = f"{self._n_answers} answers · {self._n_rows} rows{reached} · Ctrl-C ends"
        return Group(Text(self._name, style="bold"), self._table(), Text(caption, style="dim"))

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for column in ["t", *self._columns]:
            table.add_column(column, overflow="ellipsis", no_wrap=True)
        for row in self._rows:
            table.add_row(*row)
        return table
