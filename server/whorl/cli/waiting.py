"""Explains why no result arrives, in the words of `whorl why`, on standard error or in the live table.

A separate thread looks for the reason, because the command itself waits for the network or for its input.
It is shown after a few seconds and again whenever it changes, at growing intervals, and never after the first row.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import typer

from whorl.cli.faults import CommandError, describe
from whorl.cli.times import show_time

if TYPE_CHECKING:
    from types import TracebackType

FIRST_S = 2.0
_MOST_S = 60.0

Document = Mapping[str, Any]


class Waiting:
    """Looks for the reason inside `with`, until the first row arrives."""

    def __init__(self, ask: Callable[[], Document], tell: Callable[[str, str | None], None]) -> None:
        self._ask = ask
        self._tell = tell
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="whorl-waiting", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """A row has arrived, or waiting has ended."""
        self._is_over.set()

    def _watch(self) -> None:
        pause_s, shown = FIRST_S, ""
        # The server may stop, or the client be closed, during the request: then there is nothing to show.
        with contextlib.suppress(Exception):
            while not self._is_over.wait(pause_s):
                found = self._ask()
                why = reason(found)
                if found["state"] != "answers" and why != shown and not self._is_over.is_set():
                    self._tell(why, found.get("advice"))
                    shown = why
                pause_s = min(2 * pause_s, _MOST_S)


def tell_reason(why: str, advice: str | None, kind: str = "no result yet") -> None:
    """The reason on standard error, with a remedy."""
    typer.echo(describe(CommandError(why, hint=advice), kind), err=True)


def reason(document: Document) -> str:
    """One sentence, and the watermark of the windows."""
    return "; ".join([document["summary"], *(_window(window) for window in document.get("windows", ()))])


def _window(window: Document) -> str:
    closes, watermark = window.get("close"), window.get("watermark")
    until = "" if closes is None else f" open until {show_time(closes)},"
    reached = "none" if watermark is None else show_time(watermark)
    count = f"{window['events']} event{'' if window['events'] == 1 else 's'}"
    late = f", {window['late']} late" if window["late"] else ""
    return f"window {window['short']}{until} watermark {reached}, {count}{late}"
