"""Results as they arrive: one output of a notebook cell that is redrawn, or a line for each in a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ._display import answer_html, cells, gap_text
from ._models import Gap, Result

if TYPE_CHECKING:
    from typing import Protocol

    class _Handle(Protocol):
        def update(self, obj: object) -> None: ...


class LiveView:
    """Where results are shown. What the last result did not have is marked."""

    def __init__(self) -> None:
        self._handle: _Handle | None = None
        self._known: frozenset[tuple[str, ...]] | None = None

    def show(self, item: object) -> None:
        """Show a result, or a gap, in the place of the one before."""
        if _is_notebook():
            self._draw(self._html(item))
        else:
            sys.stdout.write(f"{_line(item)}\n")

    def _html(self, item: object) -> str:
        if not isinstance(item, Result):
            return f"<p>{_line(item)}</p>"
        known, self._known = self._known, frozenset(cells(item))
        return answer_html(item, known=known)

    def _draw(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))


def _is_notebook() -> bool:
    """Whether there is a shell that can show HTML; without IPython loaded there is none."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def _line(item: object) -> str:
    if isinstance(item, Gap):
        return gap_text(item)
    if not isinstance(item, Result):
        return str(item)
    shown = item.boolean if item.kind == "boolean" else item.rows
    return f"{item.time:%Y-%m-%d %H:%M:%S} {shown}"
