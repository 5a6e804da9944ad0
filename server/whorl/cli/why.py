"""`whorl why`: why a running query has no solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.counts import counted
from whorl.cli.listing import AsJson, instant, show_json
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected

if TYPE_CHECKING:
    from collections.abc import Iterator

QueryName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a query on the server.")]


def command(name: QueryName, as_json: AsJson = False, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Show why a query has no solutions.

    The first reason that holds is shown: the query has failed or is paused, no event has arrived, all were late, no
    window has closed, a pattern has never matched (with the predicates that do occur), a filter rejects everything.

    Examples:
      whorl why fire-alert
      whorl why fire-alert --url https://streams.example.org --json

    """
    with connected(url, token) as client:
        found = client.queries.why(name)
    if as_json:
        show_json(found.document)
        return
    document = found.document
    typer.echo(f"{name}: {document['summary']}")
    if document.get("advice") is not None:
        typer.echo(f"hint: {document['advice']}")
    for line in _lines(document):
        typer.echo(line)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    for window in document.get("windows", ()):
        closes = f" · closes at {instant(window['close'])}" if window.get("close") is not None else ""
        events = f"{counted(window['events'], 'event')}, {window['late']} late"
        reached = instant(window.get("watermark")) or "none"
        yield f"window   {window['short']} on <{window['stream']}> · {events} · watermark {reached}{closes}"
    for pattern in document.get("patterns", ()):
        condition = f" if {pattern['condition']}" if pattern.get("condition") else ""
        yield f"pattern  {pattern['pattern']}{condition} · {pattern['matched']} matched · {pattern['live']} live"
