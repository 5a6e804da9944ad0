"""A warning about times in the wrong unit, before events miss their windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import typer

from whorl.cli.events import seconds_warning
from whorl.cli.faults import CommandError, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")


def seen_units(items: Iterable[Item], time_of: Callable[[Item], int | None]) -> Iterator[Item]:
    """The items unchanged; warns once about a time that looks like seconds."""
    has_warned = False
    for item in items:
        warning = None if has_warned else seconds_warning(time_of(item))
        if warning is not None:
            has_warned = True
            hint = "add --time-unit s for rows, or write milliseconds or dateTimes"
            typer.echo(describe(CommandError(warning, hint=hint), "warning"), err=True)
        yield item
