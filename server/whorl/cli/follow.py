"""A live table of results on a terminal: the newest rows on top, as many as fit."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TextIO

from whorl.cli.counts import counted
from whorl.cli.results import Envelope, cells, rows, variables
from whorl.cli.terminal import console
from whorl.cli.times import show_time

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from whorl.cli.names import Names

# Lines of the terminal that are not rows: title, header, rules, caption.
_FRAME_ROWS = 7
_ROWS_MIN = 5


class LiveTable:
    """Shows the newest results; the last state stays on the screen at the end."""

    def __init__(self, name: str, names: Names, out: TextIO) -> None:
        from rich.live import Live

        self._name = name
        self._names = names
        self._console = console(out)
        self._rows: deque[list[Any]] = deque(maxlen=max(_ROWS_MIN, self._console.height - _FRAME_ROWS))
        self._columns: list[str] = []
        self._n_results = 0
        self._n_rows = 0
        self._watermark: int | None = None
        self._reason = ""
        self._live = Live(self._view(), console=self._console, auto_refresh=False)
        self._live.start()

    def write(self, envelope: Envelope) -> None:
        """Add a result: its rows on top, in order."""
        from rich.text import Text

        signed = envelope["type"] == "changes"
        self._columns = (["±"] if signed else []) + variables(envelope)
        at = Text(show_time(envelope["t"]))
        found = [[at, *cells(row, variables(envelope), self._names, signed=signed)] for row in rows(envelope)]
        self._rows.extendleft(reversed(found))
        self._n_results += 1
        self._n_rows += len(found)
        self._reason = "" if self._n_rows else self._reason
        self._live.update(self._view(), refresh=True)

    def progress(self, progress: Any) -> None:  # noqa: ANN401 - whorl_client is imported late
        """Show the watermark, so that a quiet query looks different from a stalled one."""
        self._watermark = progress.watermark
        self._live.update(self._view(), refresh=True)

    def waits(self, why: str, advice: str | None) -> None:
        """Show why no row has arrived yet."""
        self._reason = f"no result yet: {why}" + ("" if advice is None else f"\nhint: {advice}")
        self._live.update(self._view(), refresh=True)

    def close(self) -> None:
        """Release the terminal."""
        self._live.stop()

    def _view(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        reached = "" if self._watermark is None else f" · watermark {show_time(self._watermark)}"
        caption = f"{counted(self._n_results, 'result')} · {counted(self._n_rows, 'row')}{reached} · Ctrl-C ends"
        reason = [Text(self._reason)] if self._reason else []
        return Group(Text(self._name, style="bold"), self._table(), *reason, Text(caption, style="dim"))

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for column in ["t", *self._columns]:
            table.add_column(column, overflow="ellipsis", no_wrap=True)
        for row in self._rows:
            table.add_row(*row)
        return table
