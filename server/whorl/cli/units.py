"""A warning about times in the wrong unit, before events miss their windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import typer

from whorl.cli.events import seconds_warning
from whorl.cli.faults import CommandError, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")


_HINT = "add --time-unit s for rows, or write milliseconds or dateTimes"


class Units:
    """Warns once about a time that looks like seconds, whether this process or the server noticed it."""

    def __init__(self) -> None:
        self._has_warned = False

    def seen(self, items: Iterable[Item], time_of: Callable[[Item], int | None]) -> Iterator[Item]:
        """The items unchanged, after checking their times."""
        for item in items:
            if not self._has_warned:
                self.warn(seconds_warning(time_of(item)))
            yield item

    def warn(self, warning: str | None) -> None:
        """Show a warning from here or from the server, unless one was shown already; None means no warning."""
        if warning is None or self._has_warned:
            return
        self._has_warned = True
        typer.echo(describe(CommandError(warning, hint=_HINT), "warning"), err=True)
